"""New tests: which inputs they are made of, and how a problem of each kind has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from typing import Any

import msgspec

from truegrade.assay.written_calls import read_call
from truegrade.errors import UserError
from truegrade.grading import oracles
from truegrade.records import Case, CasesTask, FunctionTask, OracleTask, Problem, sha256_json


class NewTest(msgspec.Struct, frozen=True, kw_only=True):
    """One call and what it is to give."""

    call: str
    """Python source, ``f(1, [2])``."""
    expected: str
    """What the reference returned, twice, as a literal."""
    victims: tuple[str, ...] = ()
    """Ids of the wrong programs that it refuses."""


TOLERANCE = """def _truegrade_close(got, expected):
    if isinstance(expected, (list, tuple)):
        return type(got) is type(expected) and len(got) == len(expected) and all(
            _truegrade_close(*pair) for pair in zip(got, expected)
        )
    if isinstance(expected, dict):
        return got.keys() == expected.keys() and all(_truegrade_close(got[key], expected[key]) for key in expected)
    if isinstance(expected, (float, complex)) and not isinstance(got, (str, list, tuple, dict)):
        return got == expected or abs(got - expected) <= 1e-6 + 1e-7 * abs(expected)
    return got == expected
"""
"""The tolerance of `truegrade.grading.oracles` for outputs with floating-point numbers, as source for a test."""

STATED = {
    "equal": "equal; numbers in floating point within 1e-6 + 1e-7 of the expected size",
    "set_equal": "the same elements, in any order and number",
}
"""Comparisons that can be written as an assertion, in words for the manifest."""


def assertion(test: NewTest, comparator: str) -> str:
    """The test as a statement.

    Args:
        test: with its call.
        comparator: one of `STATED`.
    """
    if comparator == "set_equal":
        return f"assert set({test.call}) == set({test.expected})"
    if oracles.holds_float(value_of(test.expected)):
        return f"assert _truegrade_close({test.call}, {test.expected})"
    return f"assert {test.call} == {test.expected}"


def value_of(literal: str) -> Any:
    """The value of a literal as `written` writes it, infinite numbers included."""
    (value,) = read_call(f"value({literal})")
    return value


def with_tests(problem: Problem, tests: Sequence[NewTest], comparator: str) -> Problem:
    """The problem with tests added; its prompt, which shows none of them, stays.

    Raises:
        UserError: its tests are of a kind that no call can be added to.
    """
    task = problem.task
    if isinstance(task, OracleTask):
        added: Any = msgspec.structs.replace(
            task, plus_inputs=(*task.plus_inputs, *(read_call(test.call) for test in tests))
        )
    elif isinstance(task, CasesTask):
        cases = (Case(arguments=read_call(test.call), expected=value_of(test.expected)) for test in tests)
        added = msgspec.structs.replace(task, cases=(*task.cases, *cases))
    elif isinstance(task, FunctionTask):
        lines = [assertion(test, comparator) for test in tests]
        head = TOLERANCE if any("_truegrade_close" in line for line in lines) else ""
        added = msgspec.structs.replace(task, tests="\n".join((task.tests.rstrip("\n"), head, *lines, "")))
    else:
        raise UserError(f"{problem.id}: tests can be added to functions and repairs, not to {type(task).__name__}")
    calls = [test.call for test in tests]
    return msgspec.structs.replace(
        problem, task=added, dataset_sha256=sha256_json([problem.dataset_sha256, calls])
    )


DETECTIONS = 6
"""Tests that are to refuse each wrong program: a program that only resembles it is then refused more often."""


def choose_inputs(
    kills: Sequence[Set[str]],
    survivors: Set[str],
    sizes: Sequence[int],
    *,
    most: int,
    detections: int = DETECTIONS,
) -> list[int]:
    """Greedy cover: first an input for every survivor of the present tests, then further ones for every program.

    Args:
        kills: of each input, the wrong programs that it refuses.
        survivors: the programs that the present tests accept; they are covered first.
        sizes: length of each input as source; of two that refuse as many, the shorter is taken.
        most: inputs to choose, at most.
        detections: chosen inputs that are to refuse each program.

    Returns:
        Their numbers, in the order in which they were chosen.
    """
    chosen: list[int] = []
    covered: Counter[str] = Counter()
    for goal, wanted in ((survivors, 1), (survivors, detections), (frozenset[str]().union(*kills), detections)):
        open_ = {program for program in goal if covered[program] < wanted}
        while open_ and len(chosen) < most:
            best = _best(kills, open_, sizes, chosen)
            if best is None:
                break
            chosen.append(best)
            covered.update(kills[best])
            open_ = {program for program in open_ if covered[program] < wanted}
    return chosen


def _best(kills: Sequence[Set[str]], wanted: Set[str], sizes: Sequence[int], chosen: Sequence[int]) -> int | None:
    """The input that refuses most of the wanted programs; None if none of those left refuses any."""
    gains = [(len(kills[number] & wanted), -sizes[number], -number) for number in range(len(kills))]
    for number in chosen:
        gains[number] = (0, 0, 0)
    gain, _, place = max(gains, default=(0, 0, 0))
    return -place if gain else None
