"""Our own profiles as graders under measurement, and the plainest rule: program and tests in one process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from itertools import chain
from typing import ClassVar

from truegrade.assay.records import DOES_NOT_END, Danger, Dispatch, Probe, Said
from truegrade.errors import UserError
from truegrade.grading.judgement import from_outcome
from truegrade.grading.suites import suite_of
from truegrade.pipeline.grade import LocalGrader
from truegrade.profiles import Profile
from truegrade.records import CasesTask, Completion, FunctionTask, Problem, Reason
from truegrade.sandbox import Limits, Sandbox

TESTS_INSIDE = "tests-inside"
ENDLESS_CPU_S = 1.0
"""CPU seconds of programs that are proven not to end on an input of the problem's own tests: whatever the grader's
limit, they would reach it."""
_CONFIG = "0" * 64


class ProfileTarget:
    """A profile, every program in a process of its own in the jail: whatever is sent is harmless."""

    danger: ClassVar[Danger] = "h2"
    keeps_state: ClassVar[bool] = False
    restarts: ClassVar[bool] = True

    def __init__(self, profile: Profile, *, workers: int, allow_unsafe: bool = False) -> None:
        self.profile, self.name = profile, profile.id
        self._grader = LocalGrader(workers, allow_unsafe=allow_unsafe)
        self.close = self._grader.close

    def grade(self, sent: Sequence[Dispatch]) -> Iterator[Said]:
        """See `truegrade.assay.targets.Target.grade`."""
        problems = {each.problem.id: each.problem for each in sent}
        completions = [_completion(number, each) for number, each in enumerate(sent)]
        endless = [one for one in completions if is_endless(sent[one.sample].probe)]
        rest = [one for one in completions if not is_endless(sent[one.sample].probe)]
        impatient = copy(self.profile)
        impatient.timeout_s = min(ENDLESS_CPU_S, self.profile.timeout_s or ENDLESS_CPU_S)
        for verdict in chain(
            self._grader.verdicts(rest, problems, self.profile),
            self._grader.verdicts(endless, problems, impatient),
        ):
            no_verdict = verdict.reason is Reason.GRADER_ERROR
            yield Said(
                probe=sent[verdict.sample].probe.id,
                grader=self.name,
                passed=None if no_verdict else verdict.passed,
                detail=verdict.explanation,
                cpu_s=verdict.cpu_s,
                wall_s=verdict.wall_s,
            )


def _completion(number: int, sent: Dispatch) -> Completion:
    return Completion(
        benchmark=sent.problem.benchmark,
        dataset_sha256=sent.problem.dataset_sha256,
        problem_id=sent.problem.id,
        sample=number,
        config_sha256=_CONFIG,
        prompt_sha256=_CONFIG,
        text=sent.probe.code,
        form=sent.probe.form,
        model="assay",
    )


class InsideTarget:
    """Program and tests in one process, passing without an exception: the rule of most public harnesses, bare.

    It is here to be compared with: what it accepts and ``strict`` does not was bought.
    """

    name: ClassVar[str] = TESTS_INSIDE
    danger: ClassVar[Danger] = "h2"
    keeps_state: ClassVar[bool] = False
    restarts: ClassVar[bool] = True

    def __init__(self, *, workers: int, allow_unsafe: bool = False) -> None:
        self._sandbox = Sandbox(Limits(), workers=workers, allow_unsafe=allow_unsafe)
        self._workers, self.close = workers, self._sandbox.close

    def grade(self, sent: Sequence[Dispatch]) -> Iterator[Said]:
        """See `truegrade.assay.targets.Target.grade`."""
        with ThreadPoolExecutor(self._workers, thread_name_prefix="assay") as threads:
            yield from threads.map(self._graded, sent)

    def _graded(self, sent: Dispatch) -> Said:
        cpu_s = ENDLESS_CPU_S if is_endless(sent.probe) else None
        program = f"{sent.probe.code}\n{inside_tests(sent.problem)}\n"
        judged = from_outcome(self._sandbox.inside(program, cpu_s=cpu_s))
        return Said(
            probe=sent.probe.id,
            grader=self.name,
            passed=judged.passed,
            detail=f"{judged.reason}: {judged.detail}" if judged.detail else str(judged.reason),
            cpu_s=judged.cpu_s,
            wall_s=judged.wall_s,
        )


def is_endless(probe: Probe) -> bool:
    """Whether a program is proven not to end on an input of the tests that it is graded by."""
    witness = probe.witness
    return witness is not None and witness.source == "own" and witness.got.startswith(DOES_NOT_END)


def inside_tests(problem: Problem) -> str:
    """The tests of a problem as source to stand behind a program.

    Raises:
        UserError: its tests are no source.
    """
    task = problem.task
    if isinstance(task, FunctionTask):
        return f"{task.setup}\n{task.tests}"
    if isinstance(task, CasesTask):
        cases = [case for number, case in enumerate(suite_of(task).cases) if number not in task.skipped]
        calls = [f"{task.entry_point}({', '.join(map(repr, case.arguments))})" for case in cases]
        return "\n".join(f"assert {call} == {case.expected!r}" for call, case in zip(calls, cases, strict=True))
    raise UserError(f"{problem.id}: its tests are no source that could stand behind a program")
