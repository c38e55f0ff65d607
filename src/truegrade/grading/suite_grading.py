"""Grading a program by a suite of unit tests that shares its process."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE, ReferenceFailed
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.suite_assertions import SuiteSource
from truegrade.grading.suite_controls import ControlsKept, SuiteControls, differs, run_control
from truegrade.grading.suite_runs import run_suite
from truegrade.records import Reason, SuiteTask

_SLOWDOWN = 4.0
"""A candidate may take this many times the reference's CPU time, as for `truegrade.grading.functions`."""
_LIMITS = frozenset({Reason.TIME_LIMIT, Reason.MEMORY_LIMIT, Reason.OUTPUT_LIMIT})
FORGED = "the tests' results are not the program's own: "


def grade_by_suite(
    task: SuiteTask,
    program: str,
    kept: ControlsKept,
    executor: Executor,
    *,
    min_cpu_s: float,
    packages: Sequence[str] = (),
) -> Judgement:
    """Run the suite as it is; if all passes, run its controls.

    Args:
        task: suite and reference.
        program: the candidate, complete.
        kept: controls of suites.
        executor: runs both programs.
        min_cpu_s: CPU limit of each run, unless the reference's own time asks for more.
        packages: installed packages that the suite's results depend on.

    Returns:
        ``tampering`` where a control run shows that results were forged. With the mark ``tests-inside`` where no
        assertion of the suite could be made a control.
    """
    source = suite_source(task)
    try:
        controls = kept.of(task, source, executor, packages)
    except ReferenceFailed as failure:
        return Judgement(reason=Reason.GRADER_ERROR, detail=str(failure))
    # The wall limit is three times that, and more: a suite that sleeps has it from its own wall time.
    cpu_s = max(min_cpu_s, _SLOWDOWN * controls.cpu_s, controls.wall_s)
    run = run_suite(task, source, program, executor, tests=task.tests, cpu_s=cpu_s)
    judged = Judgement(
        reason=run.reason,
        detail=run.detail,
        cpu_s=run.outcome.cpu_s,
        wall_s=run.outcome.wall_s,
        time_sensitive=run.outcome.time_sensitive,
        marks=() if controls.decisive else (TESTS_INSIDE,),
        harness=_counts(run.tests),
    )
    if not judged.passed:
        return judged
    if missing := _not_run(controls.tests, run.tests):
        return msgspec.structs.replace(
            judged, reason=Reason.WRONG_ANSWER, detail=f"{missing} of the tests were not run to their end"
        )
    return _controlled(task, source, program, controls, judged, executor, cpu_s)


def _counts(tests: str) -> dict[str, object] | None:
    """What became of the tests of a run, as verdicts keep it: how many ran, how many passed, a letter each."""
    if not tests:
        return None
    return {"tests": len(tests) - tests.count("-"), "passed": tests.count("P"), "results": tests}


def count_by_suite(task: SuiteTask, program: str, executor: Executor, *, cpu_s: float) -> TestCount | None:
    """How many tests of the suite a program passes; None where none was run."""
    run = run_suite(task, suite_source(task), program, executor, tests=task.tests, cpu_s=cpu_s)
    ran = len(run.tests) - run.tests.count("-")
    return TestCount(run.tests.count("P"), ran) if ran else None


def suite_source(task: SuiteTask) -> SuiteSource:
    """The suite of a task, parsed."""
    names = {task.module.partition(".")[0]} - {""}
    return SuiteSource(task.tests, {task.entry_point, *names}, task.module)


def _not_run(reference: str, program: str) -> int:
    """How many tests the reference passes and the program was not seen to pass."""
    return sum(due == "P" != got for due, got in zip(reference, program, strict=True))


def _controlled(
    task: SuiteTask,
    source: SuiteSource,
    program: str,
    controls: SuiteControls,
    judged: Judgement,
    executor: Executor,
    cpu_s: float,
) -> Judgement:
    """The judgement on a program that passes, after its control runs."""
    used_s, walls_s = judged.cpu_s or 0.0, judged.wall_s or 0.0
    for pattern in controls.patterns(program):
        fault = ""
        for _ in range(2):  # a right program may fail a test by chance, and hardly twice
            run = run_control(task, source, controls.controls, pattern, program, executor, cpu_s=cpu_s)
            used_s, walls_s = used_s + run.outcome.cpu_s, walls_s + run.outcome.wall_s
            fault = differs(run, controls.tests, controls.controls, pattern)
            if not fault:
                break
        judged = msgspec.structs.replace(judged, cpu_s=used_s, wall_s=walls_s)
        if fault:
            # A limit can be met by any program; every other difference is forged.
            met = not run.tests and run.reason in _LIMITS
            reason, words = (run.reason, "") if met else (Reason.TAMPERING, FORGED)
            return msgspec.structs.replace(judged, reason=reason, detail=words + fault)
    return judged
