"""Grading a program by a suite of unit tests."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE, ReferenceFailed
from truegrade.grading.judgement import Judgement, TestCount, from_outcome
from truegrade.grading.marks import TESTS_SKIPPED
from truegrade.grading.programs import statements
from truegrade.grading.suite_reference import ReferencesShown, SuiteReference
from truegrade.grading.suite_runs import OutsideRun, SuiteRun, outside_suite, run_suite
from truegrade.grading.suite_source import SuiteSource
from truegrade.records import Reason, SuiteTask

_SLOWDOWN = 4.0
"""A candidate may take this many times the reference's CPU time, as for `truegrade.grading.functions`."""


def grade_by_suite(
    task: SuiteTask,
    program: str,
    kept: ReferencesShown,
    executor: Executor,
    *,
    min_cpu_s: float,
    packages: Sequence[str] = (),
) -> Judgement:
    """Run the suite in the judge's process, or in the program's where it cannot run there.

    Args:
        task: suite and reference.
        program: the candidate, complete.
        kept: what references show.
        executor: runs both programs.
        min_cpu_s: CPU limit of each run, unless the reference's own time asks for more.
        packages: installed packages that the suite's results depend on.

    Returns:
        With the mark ``tests-inside`` where the tests shared the program's process.
    """
    source = suite_source(task)
    try:
        shown = kept.of(task, source, executor, packages)
    except ReferenceFailed as failure:
        return Judgement(reason=Reason.GRADER_ERROR, detail=str(failure))
    # The wall limit is three times that, and more: a suite that sleeps has it from its own wall time.
    cpu_s = max(min_cpu_s, _SLOWDOWN * shown.cpu_s, shown.wall_s)
    if shown.outside:
        return _outside(task, source, program, executor, cpu_s, shown)
    run = run_suite(task, source, program, executor, tests=task.tests, cpu_s=cpu_s)
    judged = msgspec.structs.replace(
        from_outcome(run.outcome, marks=(TESTS_INSIDE,)),
        reason=run.reason, detail=run.detail, harness=_counts(shown.tests, run.tests),
    )  # fmt: skip
    return _all_run(judged, shown.tests, run.tests)


def _outside(
    task: SuiteTask, source: SuiteSource, program: str, executor: Executor, cpu_s: float, shown: SuiteReference
) -> Judgement:
    """The judgement on a program whose tests run in the judge's process.

    There they see what it does to its arguments and to their files, and whether it returns an argument. One that
    does so has to pass on copies of them as well, where the reference does: what is expected may hang on them.
    Where the reference does not, it has to do to them what the reference does. And one that passes has to pass
    beside the tests, as published harnesses run them; where that may decide, the judgement is marked.
    """
    suite = outside_suite(task, source)
    assert suite is not None, "it was one when its reference was run"
    run = suite.run(program, executor, cpu_s, shown.origins)
    judged = msgspec.structs.replace(
        from_outcome(run.outcome), reason=run.reason, detail=run.detail, harness=_counts(shown.tests, run.tests)
    )
    if run.reason is Reason.GRADER_ERROR and suite.passed_by(task.reference, executor, cpu_s):
        # The tests run on the reference, so it is what this program did that they cannot go on with.
        return msgspec.structs.replace(judged, reason=Reason.WRONG_ANSWER)
    judged = _all_run(judged, shown.tests, run.tests)
    unlike = run.tied not in ("", shown.tied)
    if judged.passed and run.tied and shown.copied:
        copied = suite.run(program, executor, cpu_s, shown.origins, carries=False)
        judged = _also(judged, copied, "on copies of its arguments and files", shown.tests)
    if not judged.passed:
        return judged
    beside = run_suite(task, source, program, executor, tests=suite.beside, cpu_s=cpu_s)
    if shown.doubts or run.doubts or (unlike and not shown.copied):
        judged = msgspec.structs.replace(judged, marks=(TESTS_INSIDE,))
    return _also(judged, beside, "in one process with the tests", shown.tests)


def _also(judged: Judgement, run: OutsideRun | SuiteRun, how: str, reference: str) -> Judgement:
    """The judgement on a program that passed, and was run once more in another way."""
    judged = msgspec.structs.replace(
        judged,
        cpu_s=(judged.cpu_s or 0) + run.outcome.cpu_s,
        wall_s=(judged.wall_s or 0) + run.outcome.wall_s,
        time_sensitive=judged.time_sensitive or run.outcome.time_sensitive,
    )
    if run.reason is not Reason.PASSED:
        return msgspec.structs.replace(judged, reason=run.reason, detail=f"{how}: {run.detail}")
    return _all_run(judged, reference, run.tests)


def _all_run(judged: Judgement, reference: str, program: str) -> Judgement:
    """The judgement, unless a test did not pass that the reference passes: then it is no pass."""
    if judged.passed and (missing := _not_run(reference, program)):
        return msgspec.structs.replace(
            judged, reason=Reason.WRONG_ANSWER, detail=f"{missing} of the tests were not run to their end"
        )
    return judged


def _counts(reference: str, tests: str) -> dict[str, object] | None:
    """What became of the tests of a run, as verdicts keep it: how many ran, how many passed, a letter each."""
    if not tests:
        return None
    passed = sum(_passes(due, got) for due, got in zip(reference, tests, strict=True))
    return {"tests": len(tests) - tests.count("-"), "passed": passed, "results": tests}


def _passes(due: str, got: str) -> bool:
    """Whether a test passed, given how it ended with the reference, which may skip a part of it as well."""
    return got == "P" or got == due == "H"


def count_by_suite(
    task: SuiteTask,
    program: str,
    kept: ReferencesShown,
    executor: Executor,
    *,
    min_cpu_s: float,
    packages: Sequence[str] = (),
) -> TestCount | None:
    """How many tests of the suite a program passes, as `grade_by_suite` sees it; None where none was run."""
    judged = grade_by_suite(task, program, kept, executor, min_cpu_s=min_cpu_s, packages=packages)
    counts = judged.harness
    return TestCount(counts["passed"], counts["tests"]) if counts and counts["tests"] else None


def suite_source(task: SuiteTask) -> SuiteSource:
    """The suite of a task, parsed; kept for the suites graded last."""
    return _parsed(task.tests, task.entry_point, task.module)


@lru_cache(64)
def _parsed(tests: str, entry_point: str, module: str) -> SuiteSource:
    return SuiteSource(tests, {entry_point, *({module.partition(".")[0]} - {""})}, module)


def _not_run(reference: str, program: str) -> int:
    """How many tests the reference passes and the program was not seen to pass."""
    return sum(due in "PH" and not _passes(due, got) for due, got in zip(reference, program, strict=True))


# ----------------------------------------------------------------------------------------------------------------
# Suites without the tests that are left out.


def grade_left_in(
    task: SuiteTask,
    program: str,
    kept: ReferencesShown,
    executor: Executor,
    *,
    min_cpu_s: float,
    packages: Sequence[str] = (),
) -> Judgement:
    """Run the suite without the tests that are left out; arguments as of `grade_by_suite`."""
    judged = grade_by_suite(left_in(task), program, kept, executor, min_cpu_s=min_cpu_s, packages=packages)
    return msgspec.structs.replace(judged, marks=(*judged.marks, TESTS_SKIPPED)) if task.skipped else judged


def left_in(task: SuiteTask) -> SuiteTask:
    """The task with the tests that the verdict rests on, and no others."""
    return msgspec.structs.replace(task, tests=without(task.tests, task.skipped), skipped=())


def without(tests: str, names: Sequence[str]) -> str:
    """A module of tests without some of them, given as ``Class.test``."""
    if not names:
        return tests
    lines, left_out = tests.splitlines(keepends=True), []
    for node in statements(tests):
        for each in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(each, ast.FunctionDef) and isinstance(node, ast.ClassDef):
                left_out += [each] if f"{node.name}.{each.name}" in names else []
    for node in reversed(left_out):
        lines[node.lineno - 1 : node.end_lineno] = [f"{' ' * node.col_offset}pass\n"]
    return "".join(lines)
