"""Grading a function by test source, and by comparison with a reference program."""

from __future__ import annotations

from typing import Any

import msgspec

from truegrade.grading import oracles
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, TestCount, from_outcome, shortened, shown, shown_call
from truegrade.grading.kept import LastKept
from truegrade.grading.programs import arrange
from truegrade.records import FunctionTask, OracleTask, Reason
from truegrade.sandbox.outcome import CallResult

TESTS_INSIDE = "tests-inside"
"""Mark of a verdict whose tests shared a process with the candidate."""

REFERENCE_CPU_S = 120.0
"""CPU seconds that a data set's own program may take for all its inputs together."""

_SLOWDOWN = 4.0
"""A candidate may take this many times the reference's CPU time, as in evalplus @26d6d00
(``evalplus/config.py`` DEFAULT_GT_TIME_LIMIT_FACTOR); the profile's own limit is the minimum."""


def grade_by_tests(task: FunctionTask, program: str, executor: Executor) -> Judgement:
    """Run the tests outside the candidate's process.

    Args:
        task: with its tests.
        program: the candidate, complete.
        executor: bound to the profile's limits.
    """
    a = arrange(task)
    return from_outcome(
        executor.judge(
            program,
            a.setup + task.tests,
            [task.entry_point],
            trusted=a.trusted,
            classes=a.classes,
            cpu_s=task.cpu_s,
        )
    )


class Expected(msgspec.Struct, frozen=True):
    """What the reference program returns, input by input."""

    results: tuple[CallResult, ...]
    cpu_s: float
    """CPU seconds the reference took for all inputs together."""


class ReferenceFailed(Exception):
    """The data set's own program did not answer one of its inputs: nothing can be graded against it."""


class References:
    """Outputs of reference programs, computed once and kept for the problems graded last.

    Args:
        kept: problems whose outputs stay in memory.
    """

    def __init__(self, kept: int = 32) -> None:
        self._expected = LastKept[Expected](kept)

    def of(self, key: str, task: OracleTask, executor: Executor) -> Expected:
        """The expected outputs of a task; ``key`` identifies the problem.

        Raises:
            ReferenceFailed: the reference itself fails.
        """
        return self._expected.of(key, lambda: _run_reference(task, executor))


def grade_by_oracle(
    key: str, task: OracleTask, program: str, references: References, executor: Executor, *, min_cpu_s: float
) -> Judgement:
    """Call the candidate on every input and compare outside its process; stop at the first difference.

    Args:
        key: identifies the problem among ``references``.
        task: with its inputs and reference.
        program: the candidate, complete.
        references: expected outputs, shared by the samples of a problem.
        executor: runs both programs.
        min_cpu_s: CPU limit, unless the reference's own time asks for more.
    """
    try:
        expected = references.of(key, task, executor)
    except ReferenceFailed as failure:
        return Judgement(reason=Reason.GRADER_ERROR, detail=str(failure))
    inputs = task.base_inputs + task.plus_inputs
    failures: list[tuple[Reason, str]] = []

    def compare(index: int, result: CallResult) -> bool:
        failure = _failure(task, inputs[index], expected.results[index], result, executor)
        if failure is not None:
            failures.append(failure)
        return failure is None

    # One limit for all calls together, of CPU time: what else runs on this machine decides nothing.
    cpu_s = max(min_cpu_s, _SLOWDOWN * expected.cpu_s)
    adapted = program + oracles.adapter(task.comparator, task.entry_point)
    judgement = from_outcome(executor.call(adapted, task.entry_point, inputs, compare, cpu_s=cpu_s))
    if failures and judgement.passed:
        reason, detail = failures[0]
        return msgspec.structs.replace(judgement, reason=reason, detail=detail)
    return judgement


def count_by_oracle(
    key: str, task: OracleTask, program: str, references: References, executor: Executor, *, min_cpu_s: float
) -> TestCount | None:
    """How many inputs the candidate answers as the reference does; arguments as of `grade_by_oracle`.

    All calls share a process, so those behind one that ends it count as failed.

    Returns:
        None where the reference fails, or there are no inputs.
    """
    inputs = task.base_inputs + task.plus_inputs
    try:
        expected = references.of(key, task, executor)
    except ReferenceFailed:
        return None
    right: set[int] = set()

    def compare(index: int, result: CallResult) -> bool:
        if _failure(task, inputs[index], expected.results[index], result, executor) is None:
            right.add(index)
        return True

    cpu_s = max(min_cpu_s, _SLOWDOWN * expected.cpu_s)
    adapted = program + oracles.adapter(task.comparator, task.entry_point)
    executor.call(adapted, task.entry_point, inputs, compare, cpu_s=cpu_s)
    return TestCount(len(right), len(inputs)) if inputs else None


def _failure(
    task: OracleTask, arguments: tuple[Any, ...], expected: CallResult, result: CallResult, executor: Executor
) -> tuple[Reason, str] | None:
    """Why one result is not right, or None."""
    if result.error is not None:
        call = shown_call(task.entry_point, arguments)
        return Reason.RUNTIME_ERROR, f"{call} raised {shortened(result.error)}"
    # Equal bytes need no look at the value: most right answers are never rebuilt.
    if result.same_as(expected):
        return None
    words = executor.decide(_difference, result, expected, arguments, task.entry_point, task.comparator, task.atol)
    return None if words is None else (Reason.WRONG_ANSWER, words)


def _difference(
    got: Any, expected: Any, arguments: tuple[Any, ...], function: str, comparator: str, atol: float
) -> str | None:
    """What is wrong with an output, or None."""
    if oracles.compare(comparator, arguments, expected, got, atol):
        return None
    return f"{shown_call(function, arguments)} gave {shown(got)}, expected {shown(expected)}"


def _run_reference(task: OracleTask, executor: Executor) -> Expected:
    results: list[CallResult] = []
    errors: list[str] = []

    def keep(_: int, result: CallResult) -> bool:
        results.append(result)
        if result.error is not None:
            errors.append(result.error)
        return not errors

    inputs = task.base_inputs + task.plus_inputs
    program = task.reference + oracles.adapter(task.comparator, task.entry_point)
    outcome = executor.call(program, task.entry_point, inputs, keep, cpu_s=task.cpu_s or REFERENCE_CPU_S)
    if errors or outcome.status != Reason.PASSED:
        cause = errors[0] if errors else f"{outcome.status}: {outcome.detail}"
        raise ReferenceFailed(f"the data set's reference failed on input {len(results)}: {cause}")
    return Expected(tuple(results), outcome.cpu_s)
