"""``/v1/grade`` and ``/v1/reward``: completions in, verdicts or rewards out, in the order they came."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import msgspec

from truegrade.errors import SandboxError
from truegrade.grading.attempts import attempts
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.marks import READS_TESTS
from truegrade.grading.tests_forms import first_tests
from truegrade.pipeline.verdicts import answer_of, limits_for, verdict_on
from truegrade.profiles import Profile
from truegrade.records import Completion, Problem, Reason, SuiteTask, Verdict
from truegrade.web.messages import GradeRequest, RewardRequest, Submission, stopping, unprocessable
from truegrade.web.service.catalogue import Executors, NameCatalogue
from truegrade.web.service.workload import doubtful, steadily, unknown

Job = Callable[[], Verdict]


class Rewarded(NamedTuple):
    """What a completion earns, and why."""

    pass_rate: float | None
    """Share of the tests that passed; None where they were not counted."""
    verdict: Verdict

    @property
    def value(self) -> float | None:
        """0.0 to 1.0; None where the grader failed, so that no model is trained on it."""
        if self.verdict.reason is Reason.GRADER_ERROR:
            return None
        return 0.0 if self.pass_rate is None else self.pass_rate


class JobGrader:
    """Turns requests into jobs; a job never fails for what it was sent.

    Args:
        catalogue: benchmarks and profiles.
        executors: run the programs.
        defaults: profiles in force where a request names none.
    """

    def __init__(self, catalogue: NameCatalogue, executors: Executors, defaults: tuple[str, ...]) -> None:
        self._catalogue, self._executors, self._defaults = catalogue, executors, defaults
        self.rewarded: Callable[[Completion, Problem, Profile, Verdict], None] = lambda *seen: None
        """Told of each reward, in the thread that graded it."""

    def jobs(self, request: GradeRequest) -> list[Job]:
        """One job for each completion and profile.

        Raises:
            Refusal: a name or field is at fault.
        """
        names = request.profiles or self._defaults
        field = "profiles" if request.profiles is None else "profiles[{}]"
        profiles = [
            (self._catalogue.profile(name, field.format(i)), field.format(i)) for i, name in enumerate(names)
        ]
        return [self.job(*asked) for asked in self._asked(request, profiles)]

    def reward_jobs(self, request: RewardRequest) -> list[Callable[[], Rewarded]]:
        """One job for each completion; raises as `jobs` does."""
        profile = self._catalogue.profile(request.profile or self._defaults[0], "profile")
        if request.partial and type(profile).tests_passed is Profile.tests_passed:
            raise unprocessable(f"profile {profile.name!r} does not count tests; strict does", "partial")
        profile = self._catalogue.limited(profile, request.cpu_s, request.memory_bytes)
        asked = [
            (completion_of(problem, submission), problem, profile)
            for problem, submission, profile in self._asked(request, [(profile, "profile")])
        ]
        if request.attempts:
            return [partial(self._look, *each) for each in asked]
        share_of = (request.first_tests or math.inf) if request.partial else 0
        return [partial(self._reward, *each, share_of, request.tests_inside) for each in asked]

    def job(self, problem: Problem, submission: Submission, profile: Profile) -> Job:
        """The job that grades one completion under one profile."""
        return partial(self._grade, completion_of(problem, submission), problem, profile)

    def reward_job(self, problem: Problem, submission: Submission, profile: Profile) -> Job:
        """The same where the verdict is a reward."""
        completion = completion_of(problem, submission)

        def graded() -> Verdict:
            verdict = self._grade(completion, problem, profile)
            self.rewarded(completion, problem, profile, verdict)
            return verdict

        return graded

    def _asked(
        self, request: GradeRequest | RewardRequest, profiles: list[tuple[Profile, str]]
    ) -> Iterator[tuple[Problem, Submission, Profile]]:
        """What is to be graded: completions in order, for each the profiles in order."""
        common = None if request.problem is None else self._catalogue.inline(request.problem, "problem")
        several = request.problems if isinstance(request, RewardRequest) else []
        sent = {it.id: self._catalogue.inline(it, f"problems[{index}]") for index, it in enumerate(several)}
        for index, submission in enumerate(request.completions):
            named = None if submission.problem is not None else sent.get(submission.problem_id or "")
            problem = named or self._problem(request, submission, common, f"completions[{index}]")
            for profile, field in profiles:
                self._catalogue.check_covered(profile, problem, field)
                yield problem, submission, profile

    def _problem(
        self, request: GradeRequest | RewardRequest, submission: Submission, common: Problem | None, field: str
    ) -> Problem:
        if submission.problem is not None:
            return self._catalogue.inline(submission.problem, f"{field}.problem")
        if common is not None and submission.problem_id in (None, common.id):
            return common
        own = submission.benchmark
        problems = self._catalogue.problems(
            own or request.benchmark, "benchmark" if own is None else f"{field}.benchmark"
        )
        if submission.problem_id is None:
            raise unprocessable("say which problem of the benchmark this answers", f"{field}.problem_id")
        if submission.problem_id not in problems:
            raise unprocessable(f"the benchmark has no problem {submission.problem_id!r}", f"{field}.problem_id")
        return problems[submission.problem_id]

    def _look(self, completion: Completion, problem: Problem, profile: Profile) -> Rewarded:
        """Whether a completion sets out to be paid for nothing: ``tampering``, its marks the channels."""
        executors = self._executors
        try:
            answer = answer_of(completion, problem, profile)
            with executors.lend(limits_for(profile, [problem])) as sandbox:
                found = attempts(problem, answer, sandbox)
        except Exception as error:  # as in `_grade`
            if executors.closed:
                raise stopping() from error
            return Rewarded(None, _failed(completion, profile, f"{type(error).__name__}: {error}"))
        verdict = refused(completion, profile)
        if found:
            verdict = msgspec.structs.replace(verdict, reason=Reason.TAMPERING, marks=found)
        return Rewarded(None, verdict)

    def _reward(
        self, completion: Completion, problem: Problem, profile: Profile, share_of: float, tests_inside: bool
    ) -> Rewarded:
        """The reward of one completion, which is told to whoever watches."""
        trusting = tests_inside or not profile.judges_outside
        if isinstance(problem.task, SuiteTask) and not trusting:
            share_of = 0  # tests are counted in the program's process
        rewarded = self._rewarded(completion, problem, profile, share_of)
        if rewarded.verdict.passed and (why := _untrusted(rewarded.verdict.marks, trusting)):
            reason = Reason.GRADER_ERROR
            unknown_now = msgspec.structs.replace(rewarded.verdict, passed=False, reason=reason, detail=why)
            rewarded = Rewarded(None, unknown_now)
        self.rewarded(completion, problem, profile, rewarded.verdict)
        return rewarded

    def _rewarded(self, completion: Completion, problem: Problem, profile: Profile, share_of: float) -> Rewarded:
        """The reward of one completion; tests are counted of what failed alone, since that takes further runs.

        Args:
            completion: of the problem.
            problem: with the tests.
            profile: one that counts tests, if any are to be counted.
            share_of: how many, from the first one on: none, some or all.
        """
        verdict = self._grade(completion, problem, profile)
        if verdict.passed or verdict.reason is Reason.GRADER_ERROR or not share_of:
            return Rewarded(1.0 if verdict.passed else None, verdict)
        answer = answer_of(completion, problem, profile)
        if answer.value is None or answer.reason is not None:
            return Rewarded(0.0, verdict)
        executors = self._executors
        try:
            asked = problem if math.isinf(share_of) else first_tests(problem, int(share_of))
            with executors.lend(limits_for(profile, [problem])) as sandbox:
                counted = profile.tests_passed(asked, answer, sandbox)
        except Exception as error:  # as in `_grade`
            if executors.closed:
                raise stopping() from error
            return Rewarded(None, _failed(completion, profile, f"{type(error).__name__}: {error}"))
        if counted is None:
            return Rewarded(None, verdict)
        # The verdict stands: whatever its tests give one by one, what failed does not get what a right one gets,
        # unless the test that it fails is none of those that are asked for.
        most = counted.tests if counted.tests == share_of else counted.tests - 1
        return Rewarded(min(counted.passed, most) / counted.tests, verdict)

    def _grade(self, completion: Completion, problem: Problem, profile: Profile) -> Verdict:
        """A verdict, whatever happens; where the machinery fails for good it is a ``grader_error``.

        Raises:
            Refusal: the service is stopping.
        """
        executors = self._executors
        try:
            with executors.lend(limits_for(profile, [problem])) as sandbox:
                verdict = steadily(
                    lambda: verdict_on(completion, problem, profile, sandbox),
                    lambda verdict: doubtful(verdict.reason, verdict.detail),
                    lambda: executors.closed,
                )
            return _failed(completion, profile, verdict.detail) if unknown(verdict.detail) else verdict
        except SandboxError as error:
            if executors.closed:
                raise stopping() from error
            return _failed(completion, profile, str(error))
        except Exception as error:  # an inline problem can hold anything; its neighbours must get their verdicts
            return _failed(completion, profile, f"{type(error).__name__}: {error}")


def completion_of(problem: Problem, submission: Submission) -> Completion:
    """A completion as a request holds it."""
    return Completion(
        benchmark=problem.benchmark,
        dataset_sha256=problem.dataset_sha256,
        problem_id=problem.id,
        sample=submission.sample,
        config_sha256="",
        prompt_sha256="",
        text=submission.text,
        form=submission.form,
        reasoning=submission.reasoning,
        finish_reason=submission.finish_reason,
        model="",
    )


def refused(completion: Completion, profile: Profile) -> Verdict:
    """A verdict that says no more than that it was wrong."""
    return msgspec.structs.replace(_failed(completion, profile, ""), reason=Reason.WRONG_ANSWER)


def _untrusted(marks: tuple[str, ...], trusting: bool) -> str:
    """Why nothing is known of a program that passes; empty where its pass is paid.

    A chance that control runs leave does not help: a model in training tries without end, and finds what pays.
    """
    if READS_TESTS in marks:
        return "it passes in one process with its tests, and its text reads them or may do so (mark reads-tests)"
    if TESTS_INSIDE in marks and not trusting:
        return (
            "it passes in one process with its tests, where a pass can be forged (mark tests-inside);"
            " `tests_inside` pays such passes"
        )
    return ""


def _failed(completion: Completion, profile: Profile, detail: str) -> Verdict:
    """The verdict where an inline problem cannot be graded, or the machine cannot grade."""
    return Verdict(
        benchmark=completion.benchmark,
        dataset_sha256=completion.dataset_sha256,
        problem_id=completion.problem_id,
        sample=completion.sample,
        config_sha256=completion.config_sha256,
        completion_sha256=completion.sha256,
        profile=profile.id,
        passed=False,
        reason=Reason.GRADER_ERROR,
        detail=detail[:500],
    )
