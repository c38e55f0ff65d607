"""From a completion to its verdict: what a run does for each sample, and the grading service for its clients."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from traceback import extract_tb

from truegrade.errors import TruegradeError
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles import Profile
from truegrade.records import Answer, Completion, Problem, Reason, Verdict
from truegrade.sandbox import Limits


def grade_completion(completion: Completion, problem: Problem, profile: Profile, executor: Executor) -> Verdict:
    """Give one completion its verdict, outside any run.

    Raises:
        SandboxError: the machine failed.
    """
    answer = extract(completion, problem, profile)
    found = answer.value is not None
    judgement = judge(answer, problem, profile, executor) if found else unanswered(answer)
    return verdict_of(completion, answer, judgement, profile, executor)


def limits_for(profile: Profile, problems: Iterable[Problem]) -> Limits:
    """What programs that answer these problems may use: the profile's limits, and packages that problems name."""
    names = {name for problem in problems for name in problem.packages} - {*profile.limits.packages}
    return replace(profile.limits, packages=(*profile.limits.packages, *sorted(names)))


def extract(completion: Completion, problem: Problem, profile: Profile) -> Answer:
    """The answer in a completion. A reply on which the rule itself fails has none: the run goes on.

    Raises:
        TruegradeError: something that concerns more than this sample.
    """
    try:
        return profile.answer(problem, completion)
    except TruegradeError:
        raise
    except Exception as error:
        return Answer(value=None, found=_words(error), reason=Reason.GRADER_ERROR)


def judge(answer: Answer, problem: Problem, profile: Profile, executor: Executor) -> Judgement:
    """The judgement of an answer. One on which grading itself fails is the grader's error: the run goes on.

    Raises:
        TruegradeError: something that concerns more than this sample.
    """
    try:
        return profile.grade(problem, answer, executor)
    except TruegradeError:
        raise
    except Exception as error:
        return Judgement(reason=Reason.GRADER_ERROR, detail=_words(error))


def _words(error: Exception) -> str:
    """What a person needs to report the fault: the exception and where it was raised."""
    place = extract_tb(error.__traceback__)[-1]
    message = " ".join(str(error)[:300].split())
    return f"grading failed: {type(error).__name__}: {message} ({Path(place.filename).name}, line {place.lineno})"


def unanswered(answer: Answer) -> Judgement:
    """The judgement of a reply that holds nothing to grade."""
    return Judgement(reason=answer.reason or Reason.NO_ANSWER, detail=answer.found)


def verdict_of(
    completion: Completion, answer: Answer, judgement: Judgement, profile: Profile, executor: Executor
) -> Verdict:
    """The record of a judgement; the jail is asked for its level only where something ran in it.

    A cut reply that holds no value is ``truncated``, whatever else it lacks.
    """
    lacking = answer.value is None or answer.reason is not None
    return Verdict(
        benchmark=completion.benchmark,
        dataset_sha256=completion.dataset_sha256,
        problem_id=completion.problem_id,
        sample=completion.sample,
        config_sha256=completion.config_sha256,
        completion_sha256=completion.sha256,
        profile=profile.id,
        passed=judgement.passed,
        reason=Reason.TRUNCATED if lacking and completion.truncated else judgement.reason,
        detail=judgement.detail,
        answer=answer.value,
        found=answer.found,
        cpu_s=judgement.cpu_s,
        wall_s=judgement.wall_s,
        time_sensitive=judgement.time_sensitive,
        truncated=completion.truncated,
        marks=judgement.marks,
        level=None if judgement.cpu_s is None else executor.level,
        harness=judgement.harness,
    )
