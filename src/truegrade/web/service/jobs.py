"""``/v1/grade`` and ``/v1/reward``: completions in, verdicts or rewards out, in the order they came."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from truegrade.errors import SandboxError
from truegrade.pipeline.verdicts import limits_for, verdict_on
from truegrade.profiles import Profile
from truegrade.records import Completion, Problem, Reason, Verdict
from truegrade.web.http_refusals import stopping, unprocessable
from truegrade.web.service.catalogue import NameCatalogue
from truegrade.web.service.executors import Executors
from truegrade.web.service.messages import GradeRequest, RewardRequest, Submission
from truegrade.web.service.steady import doubtful, steadily, unknown

Job = Callable[[], Verdict]


class JobGrader:
    """Turns requests into jobs; a job never fails for what it was sent.

    Args:
        catalogue: benchmarks and profiles.
        executors: run the programs.
        defaults: profiles in force where a request names none.
    """

    def __init__(self, catalogue: NameCatalogue, executors: Executors, defaults: tuple[str, ...]) -> None:
        self._catalogue, self._executors, self._defaults = catalogue, executors, defaults

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
        return list(self._jobs(request, profiles))

    def reward_jobs(self, request: RewardRequest) -> list[Job]:
        """One job for each completion; raises as `jobs` does."""
        name = request.profile or self._defaults[0]
        return list(self._jobs(request, [(self._catalogue.profile(name, "profile"), "profile")]))

    def job(self, problem: Problem, submission: Submission, profile: Profile) -> Job:
        """The job that grades one completion under one profile."""
        return partial(self._grade, _completion(problem, submission), problem, profile)

    def _jobs(self, request: GradeRequest | RewardRequest, profiles: list[tuple[Profile, str]]) -> Iterator[Job]:
        common = None if request.problem is None else self._catalogue.inline(request.problem, "problem")
        for index, submission in enumerate(request.completions):
            problem = self._problem(request, submission, common, f"completions[{index}]")
            for profile, field in profiles:
                self._catalogue.check_covered(profile, problem, field)
                yield self.job(problem, submission, profile)

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


def _completion(problem: Problem, submission: Submission) -> Completion:
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


def reward(verdict: Verdict) -> float | None:
    """1.0 or 0.0; None where the grader failed, so that no model is trained on it."""
    return None if verdict.reason is Reason.GRADER_ERROR else float(verdict.passed)
