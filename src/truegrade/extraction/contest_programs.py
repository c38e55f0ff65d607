"""Programs of contest answers: the ``strict`` rule, LiveCodeBench's, and samples of statements."""

from __future__ import annotations

import ast
import re
import textwrap
from functools import cache
from typing import NamedTuple

import msgspec

from truegrade.extraction.blocks import (
    between_markers,
    code_blocks,
    final_channel_of_program,
    longest_start,
    without_stop_token,
)
from truegrade.extraction.json_replies import texts_of_object
from truegrade.extraction.parsing import USED_UP, Parser, as_source
from truegrade.extraction.thinking import Weight
from truegrade.patterns import pattern
from truegrade.records import Answer, Reason

MAX_FENCES = 200
"""Of more fences than this only the last are read."""

_READS = pattern(
    r"\binput\s*\(|\binput\b\s*[,)]|\bstdin\b|\bopen\s*\(\s*0\b|\bos\.read\s*\(|\bfileinput\b|/dev/stdin"
)
READS_AND_PRINTS, _PRINTS, _WHOLE = (
    "the last fence that reads and prints",
    "the last fence that prints",
    "the whole reply",
)
_ANSWERS = frozenset({READS_AND_PRINTS, _PRINTS, _WHOLE})
_CODE = pattern(r"^[ \t]*(?:def|class|import|from|for|while|if|print|return)\b|[^=!<>]=[^=]", re.MULTILINE)
_WRITES = pattern(r"\bprint\b|\bstdout\b|\bos\.write\s*\(")


def extract_contest_program(reply: str) -> Answer:
    """The program in a chat reply. Never raises; runs nothing.

    Of the fenced blocks that parse, the last that reads and writes; else the last that writes; else the last. One
    that nothing closes counts as far as it compiles. Without any: the reply itself, if it is code.
    """
    read = cache(_program_in)
    channel = final_channel_of_program(reply, lambda text: _weight(read(text)))
    if channel.truncated:
        return Answer(value=None, found="cut off while thinking", reason=Reason.TRUNCATED)
    if not channel.text.strip():
        return Answer(value=None, found="empty reply", reason=Reason.NO_ANSWER)
    return read(channel.text)


def _weight(answer: Answer) -> Weight:
    """What a passage holds, by what was found in it."""
    if answer.value is None:
        return Weight.NOTHING if answer.reason is Reason.NO_CODE else Weight.ATTEMPT
    if _is_answer(answer):
        return Weight.ANSWER
    return Weight.ATTEMPT if _CODE.search(answer.value) else Weight.NOTHING


def _is_answer(answer: Answer) -> bool:
    """Whether what was found prints, as an answer does."""
    return answer.found.rpartition(" > ")[2] in _ANSWERS


def _program_in(passage: str) -> Answer:
    """The program in a passage of a reply."""
    held = {name: _program_in(value) for name, value in texts_of_object(passage).items()}
    programs = {name: answer for name, answer in held.items() if _is_answer(answer)}
    if len({answer.value for answer in programs.values()}) > 1:
        found = f"several fields of a JSON object hold programs: {', '.join(programs)}"
        return Answer(value=None, found=found, reason=Reason.NO_CODE)
    if programs:
        name, answer = next(iter(programs.items()))
        return msgspec.structs.replace(answer, found=f"field {name!r} of a JSON object > {answer.found}")
    parser, text = Parser(), as_source(between_markers(passage))
    fences = code_blocks(parser, text)[-MAX_FENCES:]
    codes = [_readable(parser, as_source(fence.code), closed=fence.closed) for fence in reversed(fences)]
    readable = [code for code in codes if code is not None]
    for found, accepted in (
        (READS_AND_PRINTS, lambda code: _READS.search(code) and _WRITES.search(code)),
        (_PRINTS, _WRITES.search),
        ("the last fence that is Python", lambda code: True),
    ):
        program = next((code for code in readable if accepted(code)), None)
        if program is not None:
            return Answer(value=program, found=found)
    if fences and not parser.used_up:
        return Answer(value=fences[-1].code, found="the last fence, which is no Python")
    whole = _readable(parser, text)
    if whole is not None and _WRITES.search(whole):
        return Answer(value=whole, found=_WHOLE)
    found, reason = (USED_UP, Reason.EXTRACTION_LIMIT) if parser.used_up else ("no code", Reason.NO_CODE)
    return Answer(value=None, found=found, reason=reason)


def _readable(parser: Parser, code: str, *, closed: bool = False) -> str | None:
    """The code, less an even indentation; or, where it breaks off, as much of its beginning as is a program that
    prints; None if it is none."""
    for candidate in dict.fromkeys((code, textwrap.dedent(code))):
        tree = parser.module(candidate)
        if isinstance(tree, ast.Module):
            return candidate if tree.body else None
    if closed:
        return None
    start = longest_start(parser, without_stop_token(code))
    return start.source if start is not None and _WRITES.search(start.source) else None


# -------------------------------------------------- The code in a reply as CORAL-X takes it, defects included.
# From CORAL-X's ``extract_code_from_generation`` (skishore23/coralx@93e9490
# docs/archive/QUIXBUGS_USAGE_ANALYSIS.md): the first ```` ```python ```` block; else the first block without a
# language; else everything from each ``def`` to the next unindented line; else the reply. Surrounding space goes
# in every case.


FENCE = "```"
_PYTHON = pattern(r"```python\s*\n")
_PLAIN = pattern(r"```\s*\n")


class Taken(NamedTuple):
    """Code, and the step that found it."""

    code: str
    step: str


def take_code(text: str) -> Taken:
    """The code of a reply; never fails, for the last step takes everything."""
    for opening, step in ((_PYTHON, "first ```python block"), (_PLAIN, "first ``` block")):
        if (block := _first_block(opening, text)) is not None:
            return Taken(block.strip(), step)
    lines = _definitions(text)
    if lines:
        return Taken("\n".join(lines).strip(), "lines from each def")
    return Taken(text.strip(), "whole reply")


def _first_block(opening: re.Pattern[str], text: str) -> str | None:
    """What ``OPENING(.*?)``` `` would find, in linear time: if nothing closes the first opening, nothing
    closes a later one."""
    opened = opening.search(text)
    if opened is None:
        return None
    end = text.find(FENCE, opened.end())
    return None if end < 0 else text[opened.end() : end]


def _definitions(text: str) -> list[str]:
    """Lines from the first one that begins with ``def``, however indented, to the first other unindented one."""
    taken: list[str] = []
    inside = False
    for line in text.split("\n"):
        if line.strip().startswith("def "):
            inside = True
        elif not inside:
            continue
        elif line.strip() and not line.startswith((" ", "\t")):
            break
        taken.append(line)
    return taken


# ----- How LiveCodeBench and the harnesses after it cut a program out of a reply: the lines between two marks.
# A mark is a line, split at newlines only, that *contains* the mark anywhere; fewer than two give the empty
# program. The language tag is free text, tildes are no mark, indentation is kept.
# LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/utils/extraction_utils.py`` extract_code;
# modelscope/evalscope@fde259d2 ``evalscope/benchmarks/live_code_bench/extract_utils.py`` extract_code_generation.


def last_pair(reply: str) -> str:
    """The text between the last two marks.

    Official since 264e841 (2024-12-26), EvalScope since 162ff86c (2026-01-27). Not the last block: of an odd
    number of marks it takes the prose between two blocks.
    """
    return _between(reply.split("\n"), last=True)


def first_pair(reply: str) -> str:
    """The text between the first two marks: official and EvalScope before, the fork af0ac9f7 of lm-eval always."""
    return _between(reply.split("\n"), last=False)


def base_reply(reply: str) -> str:
    """A base model's whole text, stripped (style GenericBase; EvalScope's ``model_type="base"``)."""
    return reply.strip()


def _between(lines: list[str], *, last: bool) -> str:
    marks = [number for number, line in enumerate(lines) if FENCE in line]
    if len(marks) < 2:
        return ""
    begin, end = marks[-2:] if last else marks[:2]
    return "\n".join(lines[begin + 1 : end])


# ---- The public samples that a contest problem's statement shows: ``Sample Input 1 ... Sample Output 1 ...``.
# For files of answers that come without their tests (LiveCodeBench/submissions@4d04b02). A statement that writes
# them otherwise gives none; a few that run prose into a sample give a wrong one, so a sample is evidence and no
# verdict.

_HEADING = pattern(r"^[ \t#*-]*Sample (Input|Output)[ \t]*(\d*)[ \t]*:?[ \t*-]*$", re.IGNORECASE | re.MULTILINE)
_BLANK_LINE = pattern(r"\n[ \t]*\n")

MOST_NEWLINES = 2
"""Between a heading and its output. More of them are the output, empty or begun by empty lines: left out, for no
mark tells it from the prose behind it."""


class Shown(msgspec.Struct, frozen=True):
    """One sample: what the program reads and what it is to print."""

    input: str
    output: str


def shown_samples(statement: str) -> tuple[Shown, ...]:
    """The samples of a statement, in order; an output ends at a blank line, behind which prose may explain it."""
    text = statement.replace("\r\n", "\n")
    headings = list(_HEADING.finditer(text))
    found = []
    for number, heading in enumerate(headings[:-1]):
        output = headings[number + 1]
        if heading[1].lower() != "input" or output[1].lower() != "output" or heading[2] != output[2]:
            continue
        end = headings[number + 2].start() if number + 2 < len(headings) else len(text)
        behind = text[output.end() : end]
        if len(behind) - len(behind.lstrip("\n")) > MOST_NEWLINES:
            continue
        printed = _BLANK_LINE.split(behind.strip("\n"), maxsplit=1)[0]
        read = text[heading.end() : output.start()].strip("\n")
        if printed.strip():
            found.append(Shown(read + "\n", printed + "\n"))
    return tuple(found)
