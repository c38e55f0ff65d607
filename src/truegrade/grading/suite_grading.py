"""Grading a program by a suite of unit tests: in the judge's process where that can be, else in the program's."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE, ReferenceFailed
from truegrade.grading.judgement import Judgement, TestCount, from_outcome
from truegrade.grading.suite_assertions import SuiteSource
from truegrade.grading.suite_controls import UNSTEADY, ControlsKept, SuiteControls, differs, run_control
from truegrade.grading.suite_outside import outside_suite
from truegrade.grading.suite_runs import run_suite
from truegrade.records import Reason, SuiteTask

_SLOWDOWN = 4.0
"""A candidate may take this many times the reference's CPU time, as for `truegrade.grading.functions`."""
_LIMITS = frozenset({Reason.TIME_LIMIT, Reason.MEMORY_LIMIT, Reason.OUTPUT_LIMIT})
_TIMES_RECHECKED = 4
"""How often controls are left out that the reference does not always keep to, before there is no verdict."""
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
    """Run the suite in the judge's process, or in the program's; there, if all passes, run its controls.

    Args:
        task: suite and reference.
        program: the candidate, complete.
        kept: controls of suites.
        executor: runs both programs.
        min_cpu_s: CPU limit of each run, unless the reference's own time asks for more.
        packages: installed packages that the suite's results depend on.

    Returns:
        With the mark ``tests-inside`` where the tests shared the program's process; ``tampering`` where a control
        run shows that their results were forged.
    """
    source = suite_source(task)
    try:
        controls = kept.of(task, source, executor, packages)
    except ReferenceFailed as failure:
        return Judgement(reason=Reason.GRADER_ERROR, detail=str(failure))
    # The wall limit is three times that, and more: a suite that sleeps has it from its own wall time.
    cpu_s = max(min_cpu_s, _SLOWDOWN * controls.cpu_s, controls.wall_s)
    if controls.outside:
        return _outside(task, source, program, executor, cpu_s, controls)
    run = run_suite(task, source, program, executor, tests=task.tests, cpu_s=cpu_s)
    judged = Judgement(
        reason=run.reason,
        detail=run.detail,
        cpu_s=run.outcome.cpu_s,
        wall_s=run.outcome.wall_s,
        time_sensitive=run.outcome.time_sensitive,
        marks=_marks(controls),
        harness=_counts(run.tests),
    )
    judged = _all_run(judged, controls.tests, run.tests)
    if not judged.passed:
        return judged
    candidate = _Candidate(task=task, source=source, program=program, executor=executor, cpu_s=cpu_s)
    return _controlled(judged, candidate, controls, kept, packages)


def _outside(
    task: SuiteTask, source: SuiteSource, program: str, executor: Executor, cpu_s: float, controls: SuiteControls
) -> Judgement:
    """The judgement on a program whose tests run in the judge's process.

    One that passes there has to pass beside the tests as well, as published harnesses run them, where they see
    what it does to its arguments and whether it returns one of them. A forgery gains nothing by passing only that.
    """
    suite = outside_suite(task, source)
    assert suite is not None, "it was one when its reference was run"
    run = suite.run(program, executor, cpu_s, int(controls.origins or "0", 16))
    judged = msgspec.structs.replace(
        from_outcome(run.outcome), reason=run.reason, detail=run.detail, harness=_counts(run.tests)
    )
    if run.reason is Reason.GRADER_ERROR and suite.passed_by(task.reference, executor, cpu_s):
        # The tests run on the reference, so it is what this program did that they cannot go on with.
        return msgspec.structs.replace(judged, reason=Reason.WRONG_ANSWER)
    judged = _all_run(judged, controls.tests, run.tests)
    if not judged.passed:
        return judged
    together = run_suite(task, source, program, executor, tests=suite.beside, cpu_s=cpu_s)
    judged = msgspec.structs.replace(
        judged,
        cpu_s=(judged.cpu_s or 0) + together.outcome.cpu_s,
        wall_s=(judged.wall_s or 0) + together.outcome.wall_s,
        time_sensitive=judged.time_sensitive or together.outcome.time_sensitive,
    )
    if together.reason is not Reason.PASSED:  # what copies of its arguments and of what it returns do not show
        detail = f"in one process with the tests: {together.detail}"
        return msgspec.structs.replace(judged, reason=together.reason, detail=detail)
    return _all_run(judged, controls.tests, together.tests)


def _all_run(judged: Judgement, reference: str, program: str) -> Judgement:
    """The judgement, unless a test did not pass that the reference passes: then it is no pass."""
    if judged.passed and (missing := _not_run(reference, program)):
        return msgspec.structs.replace(
            judged, reason=Reason.WRONG_ANSWER, detail=f"{missing} of the tests were not run to their end"
        )
    return judged


def _controlled(
    judged: Judgement,
    candidate: _Candidate,
    controls: SuiteControls,
    kept: ControlsKept,
    packages: Sequence[str],
) -> Judgement:
    """The judgement on a program that passes, after its control runs."""
    for _ in range(_TIMES_RECHECKED):
        found = candidate.first_difference(controls)
        judged = msgspec.structs.replace(
            judged, cpu_s=(judged.cpu_s or 0) + found.cpu_s, wall_s=(judged.wall_s or 0) + found.wall_s,
            marks=_marks(controls),
        )  # fmt: skip
        if not found.words:
            return judged
        if found.limit is not None:
            return msgspec.structs.replace(judged, reason=found.limit, detail=found.words)
        steady = kept.rechecked(
            candidate.task, candidate.source, controls, found.changed, candidate.executor, packages
        )
        if steady is None:
            return msgspec.structs.replace(judged, reason=Reason.TAMPERING, detail=FORGED + found.words)
        controls = steady
    return msgspec.structs.replace(judged, reason=Reason.GRADER_ERROR, detail=UNSTEADY)


class _Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What the control runs of a candidate came to."""

    cpu_s: float
    wall_s: float
    changed: frozenset[int] = frozenset()
    """Numbers of the controls that were changed in the run that differs."""
    words: str = ""
    """How that run differs; empty where none does."""
    limit: Reason | None = None
    """The limit that it met: that can happen to any program, and every other difference is forged."""


class _Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A program that passes its suite."""

    task: SuiteTask
    source: SuiteSource
    program: str
    executor: Executor
    cpu_s: float

    def first_difference(self, controls: SuiteControls) -> _Difference:
        """Run the controls until a run differs from what a right program makes of it, and differs again."""
        used_s = walls_s = 0.0
        for changed in controls.patterns(self.program):
            for last in (False, True):  # a right program may fail a test by chance, and hardly twice
                run = run_control(
                    self.task, self.source, controls.controls, changed, self.program, self.executor,
                    cpu_s=self.cpu_s,
                )  # fmt: skip
                used_s, walls_s = used_s + run.outcome.cpu_s, walls_s + run.outcome.wall_s
                words = differs(run, controls.tests, controls.controls, changed)
                if not words:
                    break
                if last:
                    met = not run.tests and run.reason in _LIMITS
                    return _Difference(
                        cpu_s=used_s, wall_s=walls_s, changed=changed, words=words,
                        limit=run.reason if met else None,
                    )  # fmt: skip
        return _Difference(cpu_s=used_s, wall_s=walls_s)


def _marks(controls: SuiteControls) -> tuple[str, ...]:
    return () if controls.outside else (TESTS_INSIDE,)


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
