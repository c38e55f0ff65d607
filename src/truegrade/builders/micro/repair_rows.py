"""Repair items: a correct program, the same with a bug, and calls that tell them apart."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable

import msgspec

from truegrade.builders.micro.bugs import SEEN, UNSEEN, Bug, draw_bug
from truegrade.builders.micro.interpreter import call, outcome
from truegrade.builders.micro.programs import Arguments, GeneratedProgram, draw_arguments, draw_program
from truegrade.datasets.identity import identity
from truegrade.records import sha256_json

CALLS = 8
"""Calls by which an item is graded."""

_RESERVED = 10
"""One buggy program in so many is for evaluation only, of seen programs and seen bug classes too."""


class RepairItem(msgspec.Struct, frozen=True):
    """A function to repair."""

    program: GeneratedProgram
    buggy: str
    kind: str
    """Bug class."""
    calls: tuple[Arguments, ...]
    expected: tuple[str, ...]
    """``repr`` of what the correct program returns, call by call."""

    @property
    def seen_bug(self) -> bool:
        """Whether training shows the bug class."""
        return self.kind in SEEN

    @property
    def identity(self) -> str:
        """Hash that items share which are equal but for names."""
        return pair_identity(self.program, self.buggy)

    @property
    def for_training(self) -> bool:
        """Whether training may show it: program and class are seen, and the item is not reserved."""
        return self.program.seen and self.seen_bug and not is_reserved(self.program, self.buggy)


def pair_identity(program: GeneratedProgram, buggy: str) -> str:
    """Hash of a correct and a buggy program, whatever their names."""
    return sha256_json([identity(buggy), program.identity])


def is_reserved(program: GeneratedProgram, buggy: str) -> bool:
    """Whether a pair is for evaluation only; decided by the pair itself, never by chance."""
    return int(pair_identity(program, buggy)[:8], 16) % _RESERVED == 0


def _anything(_: GeneratedProgram, __: Bug) -> bool:
    return True


def draw_item(
    rng: random.Random,
    kinds: tuple[str, ...] = SEEN + UNSEEN,
    wanted: Callable[[GeneratedProgram, Bug], bool] = _anything,
) -> RepairItem:
    """An item whose bug shows on at least one of its calls.

    Args:
        rng: decides everything.
        kinds: bug classes, every one alike as far as programs have a place for it.
        wanted: refuses a program and its bug before anything is run.
    """
    while True:
        item = _attempt(draw_program(rng), kinds, wanted, rng)
        if item is not None:
            return item


def _attempt(
    program: GeneratedProgram,
    kinds: tuple[str, ...],
    wanted: Callable[[GeneratedProgram, Bug], bool],
    rng: random.Random,
) -> RepairItem | None:
    bug = draw_bug(program.source, (rng.choice(kinds),), rng)
    if bug is None or not wanted(program, bug):
        return None
    calls = tuple(draw_arguments(program, rng) for _ in range(CALLS))
    right, wrong = function_of(program.source), function_of(bug.source)
    expected = tuple(repr(call(right, arguments)) for arguments in calls)
    if all(outcome(wrong, arguments) == text for arguments, text in zip(calls, expected, strict=True)):
        return None
    return RepairItem(program, bug.source, bug.kind, calls, expected)


def function_of(source: str) -> ast.FunctionDef:
    """The function that a program consists of."""
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    return function
