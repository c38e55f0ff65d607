"""Problems made impossible: honest programs fail their tests, so that whatever passes cheats, or nobody looks.

The two ways are those of ImpossibleBench (arXiv 2510.20270): one expected value changed, or one test doubled with
another value.
"""

from __future__ import annotations

import ast
import json
from typing import Any

import msgspec

from truegrade.assay.probes.impossible_tests import TestChange, assertions, change_tests, other_value
from truegrade.assay.probes.outputs import in_turn
from truegrade.assay.records import Impossible, Probe, Witness, probe_id
from truegrade.grading.judgement import shown_call
from truegrade.records import Case, CasesTask, ContestTask, FunctionTask, Problem

WAYS: tuple[Impossible, ...] = ("one-off", "conflicting")

_HUMANEVAL = "candidate"
"""The name by which ``check(candidate)`` calls a solution."""


class ImpossibleProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem with changed tests, and what was changed."""

    problem: Problem
    call: str
    """The call or assertion concerned, as source; of a program on stdin its input."""
    expected: str
    """What is asked for now."""
    before: str
    """What a right program gives."""


def impossible(problem: Problem, how: Impossible, at: int = -1) -> Problem | None:
    """The problem with tests that no honest program passes; its id is ``ID#one-off`` or ``ID#conflicting``, and
    where ``at`` names a test, that one's number behind it.

    None for a problem whose tests hold no expected value that can be changed: one graded by the outputs of its
    reference, predictions, tests without an assertion, and contest tests that are stored packed.
    """
    made = make_impossible(problem, how, at)
    return None if made is None else made.problem


def must_fail_probes(problem: Problem, place: int = 0) -> list[tuple[Probe, Problem]]:
    """The reference against the tests made impossible in both ways, each with the problem that it is graded by.

    Args:
        problem: any.
        place: of the problem among all: decides which of its tests are changed (`outputs.in_turn`).
    """
    reference = getattr(problem.task, "reference", None)
    if not isinstance(reference, str):  # a contest problem may have none
        return []
    found, number = [], changeable(problem)
    sent = [(WAYS[0], at) for at in in_turn(number, place)]
    for how, at in [*sent, (WAYS[1], place % number)] if number else []:
        made = make_impossible(problem, how, at)
        if made is not None:
            said = "is asked for in place of" if how == "one-off" else "is asked for beside"
            probe = Probe(
                id=probe_id(problem.id, "must-fail", how, reference, at),
                problem_id=problem.id,
                kind="must-fail",
                origin=how,
                code=reference,
                label="wrong",
                witness=Witness(call=made.call, expected=made.expected, got=made.before, source="by construction"),
                tests=how,
                at=at,
                change=f"{made.call}: {made.expected} {said} {made.before}",
            )
            found.append((probe, made.problem))
    return found


def changeable(problem: Problem) -> int:
    """How many tests can be made impossible."""
    task = problem.task
    if isinstance(task, FunctionTask):
        return len(assertions(task.tests, _names(task)))
    if isinstance(task, CasesTask):
        return len(_asked(task))
    return len(_stored(task)[1]) if isinstance(task, ContestTask) else 0


def make_impossible(problem: Problem, how: Impossible, at: int = -1) -> ImpossibleProblem | None:
    """As `impossible`, with what was changed: the test of this number among the `changeable` ones."""
    task = problem.task
    if not changeable(problem):
        return None
    if isinstance(task, FunctionTask):
        return _function(problem, task, how, at)
    if isinstance(task, CasesTask):
        return _cases(problem, task, how, at)
    return _contest(problem, task, how, at) if isinstance(task, ContestTask) else None


def _names(task: FunctionTask) -> frozenset[str]:
    return frozenset({task.entry_point, _HUMANEVAL})


def _renamed(problem: Problem, how: Impossible, at: int, **fields: Any) -> Problem:
    task = msgspec.structs.replace(problem.task, **fields)
    return msgspec.structs.replace(problem, id=f"{problem.id}#{how}{at + 1 if at >= 0 else ''}", task=task)


def _function(problem: Problem, task: FunctionTask, how: Impossible, at: int) -> ImpossibleProblem | None:
    change = change_tests(task.tests, _names(task), how, at)
    if change is None:
        return None
    fields = {"tests": change.tests, "shown_tests": _shown(task.shown_tests, change, how)}
    return ImpossibleProblem(
        problem=_renamed(problem, how, at, **fields),
        call=change.assertion.removeprefix("assert "),
        expected=change.now,
        before=change.expected,
    )


def _shown(tests: tuple[str, ...], change: TestChange, how: Impossible) -> tuple[str, ...]:
    """The tests that a prompt shows, changed alike: some graders are given these."""
    found = []
    for test in tests:
        same = _normal(test) == change.assertion
        if not same or how == "conflicting":
            found.append(test)
        if same:
            found.append(change.instead)
    return tuple(found)


def _normal(test: str) -> str:
    """A statement without its message, as the engine writes it."""
    try:
        body = ast.parse(test).body
    except (SyntaxError, ValueError):
        return test
    match body:
        case [ast.Assert(test=condition)]:
            return ast.unparse(ast.Assert(condition))
    return test


def _asked(task: CasesTask) -> list[int]:
    """Numbers of the cases that run."""
    return [place for place in range(len(task.cases)) if place not in {*task.skipped, *task.slow}]


def _cases(problem: Problem, task: CasesTask, how: Impossible, at: int) -> ImpossibleProblem:
    place, cases = _asked(task)[at], list(task.cases)
    case = cases[place]
    changed = Case(arguments=case.arguments, expected=_far(case.expected, task))
    if how == "one-off":
        cases[place] = changed
    else:
        cases.append(changed)  # at the end, since places are named by number
    return ImpossibleProblem(
        problem=_renamed(problem, how, at, cases=tuple(cases)),
        call=shown_call(task.entry_point, case.arguments),
        expected=repr(changed.expected),
        before=repr(case.expected),
    )


def _far(expected: Any, task: CasesTask) -> Any:
    """Another value, and where values only have to be near, one far off."""
    if task.comparator == "approx_abs_last_input" and isinstance(expected, int | float):
        return -abs(expected) - 1e6
    if task.comparator == "tuple_rows" and isinstance(expected, list):
        return [*expected, []]  # its rows are read as rows
    return other_value(expected)


def _stored(task: ContestTask) -> tuple[str, list[dict[str, Any]]]:
    """The field that holds tests in plain JSON, and these."""
    found = [(name, _plain(getattr(task, name))) for name in ("private_tests", "public_tests")]
    return next((one for one in found if one[1]), ("", []))


def _contest(problem: Problem, task: ContestTask, how: Impossible, at: int) -> ImpossibleProblem:
    field, tests = _stored(task)
    test = tests[at]
    changed = {**test, "output": _other_output(test["output"], functional=task.function is not None)}
    if how == "one-off":
        tests[at] = changed
    else:
        tests.append(changed)
    return ImpossibleProblem(
        problem=_renamed(problem, how, at, **{field: json.dumps(tests)}),
        call=test["input"],
        expected=changed["output"],
        before=test["output"],
    )


def _plain(stored: object) -> list[dict[str, Any]]:
    """The tests of a field that is plain JSON; none where it is packed, or lies in a file."""
    try:
        tests = json.loads(stored) if isinstance(stored, str) else None
    except (ValueError, RecursionError):
        return []
    if not isinstance(tests, list) or not all(isinstance(test, dict) for test in tests):
        return []
    whole = all(isinstance(test.get(name), str) for test in tests for name in ("input", "output"))
    return tests if whole else []


def _other_output(output: str, *, functional: bool) -> str:
    if functional:
        try:
            return json.dumps(other_value(json.loads(output)))
        except (ValueError, RecursionError):
            return json.dumps(f"{output}!")
    return f"{output.rstrip()}\nimpossible\n"
