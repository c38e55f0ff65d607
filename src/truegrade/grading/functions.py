"""Grading a function by test source, and by comparison with a reference program."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from typing import Any

import msgspec

from truegrade.grading import oracles
from truegrade.grading.executor import CallResult, Executor
from truegrade.grading.judgement import Judgement, from_outcome, shortened
from truegrade.grading.programs import stub
from truegrade.records import FunctionTask, OracleTask, Reason

TESTS_INSIDE = "tests-inside"
"""Mark of a verdict whose tests shared a process with the candidate."""

REFERENCE_CPU_S = 120.0
"""CPU seconds that a data set's own program may take for all its inputs together."""

_SLOWDOWN = 4.0
"""A candidate may take this many times the reference's CPU time, as in evalplus @26d6d00
(``evalplus/config.py`` DEFAULT_GT_TIME_LIMIT_FACTOR); the profile's own limit is the minimum."""


def grade_by_tests(task: FunctionTask, program: str, executor: Executor) -> Judgement:
    """Run the tests outside the candidate's process; inside only where they need names of the solution.

    Args:
        task: with its tests.
        program: the candidate, complete.
        executor: bound to the profile's limits.
    """
    modules = [name for name in task.tests_use if name in sys.stdlib_module_names]
    if len(modules) < len(task.tests_use) or not task.plain_arguments:
        source = f"{program}\n{task.setup}\n{task.tests}\n"
        return from_outcome(executor.inside(source, cpu_s=task.cpu_s), marks=(TESTS_INSIDE,))
    imports = "".join(f"import {name}\n" for name in modules)
    trusted = f"{imports}{stub(task.prefix)}\n{task.setup}\n"
    return from_outcome(executor.judge(program, task.tests, [task.entry_point], trusted=trusted, cpu_s=task.cpu_s))


class Expected(msgspec.Struct, frozen=True):
    """What the reference program returns, input by input."""

    values: tuple[Any, ...]
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
        self._kept = kept
        self._expected: OrderedDict[str, Expected] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, key: str, task: OracleTask, executor: Executor) -> Expected:
        """The expected outputs of a task; ``key`` identifies the problem.

        Raises:
            ReferenceFailed: the reference itself fails.
        """
        with self._lock:
            if key in self._expected:
                self._expected.move_to_end(key)
                return self._expected[key]
        expected = _run_reference(task, executor)
        with self._lock:
            self._expected[key] = expected
            while len(self._expected) > self._kept:
                self._expected.popitem(last=False)
        return expected


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
        failure = _difference(task, inputs[index], expected.values[index], result)
        if failure is not None:
            failures.append(failure)
        return failure is None

    cpu_s = max(min_cpu_s, _SLOWDOWN * expected.cpu_s)
    adapted = program + oracles.adapter(task.comparator, task.entry_point)
    judgement = from_outcome(executor.call(adapted, task.entry_point, inputs, compare, cpu_s=cpu_s))
    if failures and judgement.passed:
        reason, detail = failures[0]
        return msgspec.structs.replace(judgement, reason=reason, detail=detail)
    return judgement


def _difference(
    task: OracleTask, arguments: tuple[Any, ...], expected: Any, result: CallResult
) -> tuple[Reason, str] | None:
    """Why one result is not right, or None."""
    call = f"{task.entry_point}({shortened(', '.join(map(repr, arguments)))})"
    if result.error is not None:
        return Reason.RUNTIME_ERROR, f"{call} raised {shortened(result.error)}"
    if oracles.compare(task.comparator, arguments, expected, result.value, task.atol):
        return None
    return (
        Reason.WRONG_ANSWER,
        f"{call} gave {shortened(repr(result.value))}, expected {shortened(repr(expected))}",
    )


def _run_reference(task: OracleTask, executor: Executor) -> Expected:
    values: list[Any] = []
    errors: list[str] = []

    def keep(_: int, result: CallResult) -> bool:
        values.append(result.value)
        if result.error is not None:
            errors.append(result.error)
        return not errors

    inputs = task.base_inputs + task.plus_inputs
    program = task.reference + oracles.adapter(task.comparator, task.entry_point)
    outcome = executor.call(program, task.entry_point, inputs, keep, cpu_s=task.cpu_s or REFERENCE_CPU_S)
    if errors or outcome.status != Reason.PASSED:
        cause = errors[0] if errors else f"{outcome.status}: {outcome.detail}"
        raise ReferenceFailed(f"the data set's reference failed on input {len(values)}: {cause}")
    return Expected(tuple(values), outcome.cpu_s)
