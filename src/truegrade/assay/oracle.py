"""The stronger oracle of a problem: what decides whether a program is right, whatever the grader says.

It is made of the problem's references and of inputs from its own tests, from its extended benchmark and from
generators, each input valid only if every reference answers it and all of them agree.
"""

from __future__ import annotations

from typing import Any

import msgspec


class OracleInput(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the entry point."""

    arguments: tuple[Any, ...]
    """Plain values."""
    source: str
    """``own``, ``plus`` or ``generated``."""


class ProblemOracle(msgspec.Struct, frozen=True, kw_only=True):
    """What a program for one problem is held against."""

    problem_id: str
    entry_point: str
    """Empty for a program on stdin: its argument is the text that it reads, its value the one that it prints."""
    references: tuple[str, ...]
    """Whole programs, the benchmark's own first."""
    inputs: tuple[OracleInput, ...]
    """Validated."""
    comparator: str = "equal"
    """Of `truegrade.grading.oracles.COMPARATORS`, or of `truegrade.grading.suites.COMPARATORS`, or ``output`` for
    programs on stdin; never one that accepts everything."""
    atol: float = 0.0
    ambiguous: tuple[str, ...] = ()
    """Calls on which references disagree: doubts about the statement, used for nothing."""
    packages: tuple[str, ...] = ()
    prefix: str = ""
    """Trusted code that the benchmark puts before a solution; programs here are whole and have it already."""
    method_call: str = ""
    """Source of the function by which a method is called; put behind every program that is held against this."""
    unanswered: int = 0
    """Calls of its own tests that its reference gives no answer to, so that they are no inputs."""
    notes: tuple[str, ...] = ()
    """What was left aside while it was built, and why: a second reference, inputs without an answer."""
