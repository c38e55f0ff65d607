"""Grading a repair test by test; a suite of tests taken apart for it.

All tests share a process as long as it lives. One that ends the process (a limit, a crash) fails, and those behind
it run in a fresh one; if it had shared the CPU time of others before it, it first gets another try of its own.
"""

from __future__ import annotations

import ast
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, shortened, shown, shown_call
from truegrade.grading.marks import TESTS_SKIPPED
from truegrade.grading.problem_tests import CallTests, SourceTests, is_test
from truegrade.grading.programs import arrange, statements
from truegrade.records import Case, FunctionTask, Reason
from truegrade.sandbox.outcome import CallResult, Outcome

# ------------------------- The tests of a program to repair, one by one, so that it can be said how many pass.
# Two kinds. Calls with plain values: the program gets arguments, and outputs are compared outside its process.
# Other statements: each runs in a judge process, which calls the program in its own.


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a program; ``cases`` or ``statements`` are given, never both."""

    entry_point: str
    cases: tuple[Case, ...] = ()
    comparator: str = "eq"
    context: str = ""
    """Definitions that the statements need."""
    statements: tuple[str, ...] = ()
    """Each is a test: it raises unless the program is right."""
    trusted: str = ""
    """What runs ahead of that; where objects cross, in the program's process too."""
    classes: tuple[str, ...] | None = None
    """Given, objects cross, see `truegrade.grading.executor.Executor.judge`."""
    skipped: tuple[int, ...] = ()
    slow: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Number of tests, those skipped included."""
        return len(self.cases) or len(self.statements)


def suite_of_calls(tests: CallTests) -> Suite:
    """Calls with plain values one by one."""
    return Suite(**msgspec.structs.asdict(tests))


def suite_of(task: FunctionTask) -> Suite:
    """The tests of a function one by one.

    Top-level assertions and bare calls are a test each, everything else is context. If all are
    ``assert f(literals) == literal``, they become calls with plain values.
    """
    held = SourceTests(
        entry_point=task.entry_point, source=task.tests, setup=task.setup, plain_arguments=task.plain_arguments
    )
    # Calls are compared outside, several to a process; every other kind of test costs a run of its own.
    if cases := held.cases:
        return Suite(entry_point=task.entry_point, cases=cases)
    body = statements(task.tests)
    context = ast.Module([node for node in body if not is_test(node)], [])
    arranged = arrange(task)
    return Suite(
        entry_point=task.entry_point,
        context=f"{arranged.setup}{ast.unparse(context)}",
        statements=tuple(ast.unparse(node) for node in body if is_test(node)),
        trusted=arranged.trusted,
        classes=arranged.classes,
    )


# ------------------------------------------------------------------------------------------- comparison

Comparator = Callable[[Sequence[Any], Any, Any], bool]


def matches(comparator: str, case: Case, got: Any) -> bool:
    """Whether an output is right for a case; an output of a type that the rule cannot compare is wrong."""
    try:
        return COMPARATORS[comparator](case.arguments, case.expected, got)
    except (TypeError, ValueError, ArithmeticError, RecursionError, RuntimeError):
        return False  # RuntimeError: an iterator with more items than are carried over


def _eq(arguments: Sequence[Any], expected: Any, got: Any) -> bool:
    return bool(got == expected)


def _list(arguments: Sequence[Any], expected: Any, got: Any) -> bool:
    """``list(output) == expected``: generators."""
    if isinstance(got, range) and len(got) != len(expected):  # it may be of any length
        return False
    return bool(list(got) == expected)


def _tuple_rows(arguments: Sequence[Any], expected: Any, got: Any) -> bool:
    """The rows of the expected list, which JSON holds as lists, are tuples."""
    return bool(got == [tuple(row) for row in expected])


def _approx_abs_last_input(arguments: Sequence[Any], expected: Any, got: Any) -> bool:
    """Off by no more than the last argument, as ``pytest.approx(expected, abs=epsilon)``."""
    return bool(got == expected) or bool(abs(got - expected) <= arguments[-1])


COMPARATORS: Mapping[str, Comparator] = MappingProxyType(
    {"eq": _eq, "list": _list, "tuple_rows": _tuple_rows, "approx_abs_last_input": _approx_abs_last_input}
)
"""The rules of jkoppel/QuixBugs@4257f44 ``python_testcases/test_*.py``, by name."""


SKIPPED = "skipped"
NOT_RUN = "not_run"

_NEGLIGIBLE = 0.1
"""Share of a test's CPU seconds; tests that answered within it, by the wall, have taken none from the next."""


class TestResult(msgspec.Struct, frozen=True):
    """What became of a test."""

    __test__ = False  # no test of pytest's

    result: str
    """A `Reason`; or ``skipped``, or ``not_run`` because too many before it overran their time."""
    detail: str = ""


class RepairTrial(msgspec.Struct, kw_only=True):
    """Results, test by test, and what they cost."""

    results: dict[int, TestResult] = {}
    cpu_s: float = 0.0
    wall_s: float = 0.0
    time_sensitive: bool = False

    def add(self, outcome: Outcome) -> None:
        """One more process has ended."""
        self.cpu_s += outcome.cpu_s
        self.wall_s += outcome.wall_s
        self.time_sensitive |= outcome.time_sensitive


def grade_repair(
    suite: Suite,
    program: str,
    executor: Executor,
    *,
    cpu_s: float,
    comparator: str | None = None,
    timeouts: int | None = None,
) -> Judgement:
    """Run all tests of a suite; passed if every test that is not skipped passes.

    `Judgement.harness` says ``tests`` (those that count), ``passed``, and ``results``: a word a test, in order.

    Args:
        suite: the tests.
        program: the candidate, complete.
        executor: bound to the profile's limits.
        cpu_s: CPU limit of a test.
        comparator: rule that decides about outputs, instead of the suite's own.
        timeouts: tests that may overrun their time before the rest is given up; None for any number.
    """
    trial = RepairTrial(results={index: TestResult(SKIPPED) for index in suite.skipped})
    pending = [index for index in range(suite.size) if index not in trial.results]
    if not pending:
        return Judgement(reason=Reason.GRADER_ERROR, detail="the problem has no tests to run")
    if suite.statements:
        _run_apart(suite, program, executor, trial, pending, cpu_s, timeouts)
    else:
        asked = _asked(suite, program, executor, comparator or suite.comparator)
        _run_together(asked, executor, trial, pending, cpu_s, timeouts)
    return _judgement(suite, trial)


class _Asked(msgspec.Struct, frozen=True):
    """The calls that are the tests, and how an answer is judged."""

    program: str
    function: str
    arguments: Sequence[Sequence[Any]]
    judge: Callable[[int, CallResult], TestResult]


def _asked(suite: Suite, program: str, executor: Executor, comparator: str) -> _Asked:
    def judge(index: int, result: CallResult) -> TestResult:
        return _case_result(suite.entry_point, suite.cases[index], result, executor, comparator)

    return _Asked(program, suite.entry_point, [case.arguments for case in suite.cases], judge)


class _Answered(msgspec.Struct, frozen=True):
    """What one process gave."""

    outcome: Outcome
    results: Sequence[TestResult]
    """Of the tests it answered, from the first on."""
    last_s: float
    """Wall seconds until the last of them."""


def _run_together(
    asked: _Asked, executor: Executor, trial: RepairTrial, pending: list[int], cpu_s: float, timeouts: int | None
) -> None:
    """Call on and on, in a new process wherever one ends, until every test has a result."""
    overran = 0
    while pending:
        answered = _one_process(asked, executor, pending, cpu_s)
        outcome = answered.outcome
        trial.add(outcome)
        if outcome.status == Reason.SYNTAX_ERROR:
            trial.results.update((index, TestResult(outcome.status, outcome.detail)) for index in pending)
            return
        ended = outcome.status != Reason.PASSED
        # A process that ended is some test's doing: the last that was pending, if all had answered.
        done = min(len(answered.results), len(pending) - 1) if ended else len(pending)
        trial.results.update(zip(pending[:done], answered.results, strict=False))
        pending = pending[done:]
        # The limit is of the process: a test that came after slow ones had less than its own, and is run alone.
        shared = done > 0 and answered.last_s > _NEGLIGIBLE * cpu_s
        if not ended or (outcome.status == Reason.TIME_LIMIT and shared):
            continue
        trial.results[pending.pop(0)] = TestResult(outcome.status, outcome.detail)
        overran += outcome.status == Reason.TIME_LIMIT
        if timeouts is not None and overran >= timeouts:
            trial.results.update((index, TestResult(NOT_RUN)) for index in pending)
            return


def _one_process(asked: _Asked, executor: Executor, pending: Sequence[int], cpu_s: float) -> _Answered:
    """Ask for the pending tests, in order, until the process ends."""
    results: list[TestResult] = []
    started = answered_at = time.monotonic()

    def keep(position: int, result: CallResult) -> bool:
        nonlocal answered_at
        answered_at = time.monotonic()
        del results[position:]  # a run near its limit is repeated, from the first call
        results.append(asked.judge(pending[position], result))
        return True

    calls = [asked.arguments[index] for index in pending]
    outcome = executor.call(asked.program, asked.function, calls, keep, cpu_s=cpu_s)
    return _Answered(outcome, results, answered_at - started)


def _run_apart(
    suite: Suite,
    program: str,
    executor: Executor,
    trial: RepairTrial,
    pending: list[int],
    cpu_s: float,
    timeouts: int | None,
) -> None:
    """Each statement in a judge process that calls the program in its own."""
    overran = 0
    for index in pending:
        if timeouts is not None and overran >= timeouts:
            trial.results[index] = TestResult(NOT_RUN)
            continue
        outcome = executor.judge(
            program,
            f"{suite.context}\n{suite.statements[index]}",
            [suite.entry_point],
            trusted=suite.trusted,
            classes=suite.classes,
            cpu_s=cpu_s,
        )
        trial.add(outcome)
        trial.results[index] = TestResult(outcome.status, outcome.detail)
        overran += outcome.status == Reason.TIME_LIMIT


def _case_result(function: str, case: Case, result: CallResult, executor: Executor, comparator: str) -> TestResult:
    if result.error is not None:
        call = shown_call(function, case.arguments)
        return TestResult(Reason.RUNTIME_ERROR, f"{call} raised {shortened(result.error)}")
    words = executor.decide(_difference, result, case, function, comparator)
    return TestResult(Reason.PASSED) if words is None else TestResult(Reason.WRONG_ANSWER, words)


def _difference(got: Any, case: Case, function: str, comparator: str) -> str | None:
    """What is wrong with an output, or None."""
    if matches(comparator, case, got):
        return None
    return f"{shown_call(function, case.arguments)} gave {shown(got)}, expected {shown(case.expected)}"


def _judgement(suite: Suite, trial: RepairTrial) -> Judgement:
    """The first test that did not pass gives the reason; one that the grader failed comes before all others."""
    results = [trial.results[index] for index in range(suite.size)]
    counts = Counter(result.result for result in results)
    tests, passed = suite.size - counts[SKIPPED], counts[Reason.PASSED]
    failures = [n for n, result in enumerate(results, 1) if result.result not in {Reason.PASSED, SKIPPED}]
    # A grader's error says nothing of the program, so it must not hide behind a failure that came earlier.
    ours = [n for n in failures if results[n - 1].result == Reason.GRADER_ERROR]
    failed = next(iter(ours or failures), None)
    return Judgement(
        reason=Reason.PASSED if failed is None else Reason(results[failed - 1].result),
        detail="" if failed is None else f"{passed} of {tests} tests; test {failed}: {results[failed - 1].detail}",
        cpu_s=trial.cpu_s,
        wall_s=trial.wall_s,
        time_sensitive=trial.time_sensitive,
        marks=(TESTS_SKIPPED,) if suite.skipped else (),
        harness={"tests": tests, "passed": passed, "results": [str(result.result) for result in results]},
    )
