"""How LiveCodeBench and the harnesses after it cut a program out of a reply: the lines between two marks.

A mark is a line, split at newlines only, that *contains* the mark anywhere; fewer than two give the empty program.
The language tag is free text, tildes are no mark, indentation is kept. LiveCodeBench/LiveCodeBench@28fef95
``lcb_runner/utils/extraction_utils.py`` extract_code; modelscope/evalscope@fde259d2
``evalscope/benchmarks/live_code_bench/extract_utils.py`` extract_code_generation.
"""

from __future__ import annotations

FENCE = "```"


def last_pair(reply: str, mark: str = FENCE) -> str:
    """The text between the last two marks.

    Official since 264e841 (2024-12-26), EvalScope since 162ff86c (2026-01-27). Not the last block: of an odd
    number of marks it takes the prose between two blocks.
    """
    return _between(reply.split("\n"), mark, last=True)


def first_pair(reply: str, mark: str = FENCE) -> str:
    """The text between the first two marks: official and EvalScope before, the fork af0ac9f7 of lm-eval always."""
    return _between(reply.split("\n"), mark, last=False)


def base_reply(reply: str) -> str:
    """A base model's whole text, stripped (style GenericBase; EvalScope's ``model_type="base"``)."""
    return reply.strip()


def _between(lines: list[str], mark: str, *, last: bool) -> str:
    marks = [number for number, line in enumerate(lines) if mark in line]
    if len(marks) < 2:
        return ""
    begin, end = marks[-2:] if last else marks[:2]
    return "\n".join(lines[begin + 1 : end])
