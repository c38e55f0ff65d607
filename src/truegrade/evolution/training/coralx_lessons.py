"""CORAL-X's training set: every training problem under four instructions, 24 x 4 = 96 lessons.

The four instructions are those of CORAL-X's description. The text around them, the loss on all tokens
and the cut at 512 are those of skishore23/coralx@fd75b33 ``core/domain/lora_training.py``. Neither generation
prompt has these words: an adapter trained so is never trained in the format it is tested in. And 40 of the 96
texts were counted longer than 512 tokens (a byte-pair vocabulary of 2048), which cuts the fix off. Train with
`LOSS` and `LONGEST`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from truegrade.evolution.coralx_split import TRAINING, WITHOUT_JSON
from truegrade.evolution.repair_problems import repair_of
from truegrade.evolution.training.base import Lesson
from truegrade.records import Message, Problem, Prompt

INSTRUCTIONS = (
    "Fix the bug in this Python function from {name}:",
    "Debug and correct the following Python code for {name}:",
    "The following function has a bug. Provide the corrected version:",
    "Analyze and fix the error in this {name} implementation:",
)
LOSS: Literal["all"] = "all"
"""Every token is learned, the buggy program's too."""
LONGEST = 512
"""Tokens of a text, its end token included; the rest is cut."""

_SOURCE = (
    "skishore23/coralx@93e9490 docs/archive/QUIXBUGS_USAGE_ANALYSIS.md (instructions);"
    " skishore23/coralx@fd75b33 core/domain/lora_training.py (frame)"
)


def coralx_lessons(problems: Iterable[Problem], *, json_only: bool = False) -> tuple[Lesson, ...]:
    """The set, in the order of the problems; what is not in CORAL-X's training list is skipped, as there.

    Args:
        problems: QuixBugs, or a part of it.
        json_only: skip what has no JSON tests too, as the loader of the repository does: then
            ``reverse_linked_list`` is out, and of 96 lessons 92 are left.

    Raises:
        UserError: a problem is no repair.
    """
    wanted = TRAINING - WITHOUT_JSON if json_only else TRAINING
    repairs = [repair_of(problem) for problem in problems]
    return tuple(
        Lesson(
            problem=repair.problem,
            prompt=_prompt(instruction.format(name=repair.name), repair.buggy.strip()),
            reply=repair.reference.strip(),
        )
        for repair in repairs
        if repair.name in wanted
        for instruction in INSTRUCTIONS
    )


def _prompt(instruction: str, program: str) -> Prompt:
    """Up to where the correct file follows; both files as they stand, notes included, outer white space off."""
    text = f"### Instruction: {instruction}\n### Input: {program}\n### Output: "
    return Prompt(messages=(Message(role="user", content=text),), style="text", source=_SOURCE)
