"""From a completion to its verdict: what a run does for each sample, and the grading service for its clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from traceback import extract_tb

from msgspec import structs

from truegrade.errors import TruegradeError, UserError
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.grading.marks import REVERTED, missing_package
from truegrade.profiles import Profile
from truegrade.records import TOOL_CALLS, Answer, Completion, FunctionTask, Problem, Reason, SuiteTask, Verdict
from truegrade.sandbox import Limits


def verdict_on(
    completion: Completion, problem: Problem, profile: Profile, executor: Executor, answer: Answer | None = None
) -> Verdict:
    """The verdict on one completion. Where grading itself fails, it is the grader's error, and the run goes on.

    A cut reply that holds no value is ``truncated``, whatever else it lacks.

    Args:
        completion: of the problem.
        problem: what was asked.
        profile: the rules.
        executor: runs programs; asked for its level only where something ran.
        answer: what `answer_of` took out of the completion; None has it done here.

    Raises:
        SandboxError: the machine failed.
        TruegradeError: something else that concerns more than this sample.
    """
    answer = answer_of(completion, problem, profile) if answer is None else answer
    if answer.value is None:
        judgement = Judgement(reason=answer.reason or Reason.NO_ANSWER, detail=_why_none(completion, answer))
    else:
        try:
            judgement = profile.judgement(problem, answer, executor)
            other = None if judgement.passed else _other(problem)
            if other is not None and profile.judgement(other, answer, executor).passed:
                judgement = structs.replace(judgement, marks=(*judgement.marks, REVERTED))
        except TruegradeError:
            raise
        except Exception as error:
            judgement = Judgement(reason=Reason.GRADER_ERROR, detail=_words(error))
    lacking = answer.value is None or answer.reason is not None
    missing = None if judgement.passed else missing_package(judgement.detail)
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
        marks=judgement.marks if missing is None else (*judgement.marks, missing),
        level=None if judgement.cpu_s is None else executor.level,
        harness=judgement.harness,
    )


def _why_none(completion: Completion, answer: Answer) -> str:
    """Why a completion has no answer, in words."""
    calls = completion.finish_reason == TOOL_CALLS
    return f"{answer.found}; the reply holds tool_calls, which are not read" if calls else answer.found


def _other(problem: Problem) -> Problem | None:
    """The problem with the tests of the one it is paired with."""
    task = problem.task
    if not isinstance(task, FunctionTask) or task.pairing is None or task.pairing.other is None:
        return None
    return structs.replace(problem, task=structs.replace(task, tests=task.pairing.other, pairing=None))


def answer_of(completion: Completion, problem: Problem, profile: Profile) -> Answer:
    """The answer in a completion. A reply on which the rule itself fails has none: the run goes on.

    Raises:
        TruegradeError: something that concerns more than this sample.
    """
    if completion.text is None:
        return Answer(value=None, found="the request failed", reason=Reason.NO_ANSWER)
    try:
        return profile.answer(problem, completion)
    except TruegradeError:
        raise
    except Exception as error:
        return Answer(value=None, found=_words(error), reason=Reason.GRADER_ERROR)


def _words(error: Exception) -> str:
    """What a person needs to report the fault: the exception and where it was raised."""
    place = extract_tb(error.__traceback__)[-1]
    message = " ".join(str(error)[:300].split())
    return f"grading failed: {type(error).__name__}: {message} ({Path(place.filename).name}, line {place.lineno})"


def limits_for(profile: Profile, problems: Iterable[Problem]) -> Limits:
    """What programs that answer these problems may use: the profile's limits, and what problems ask for.

    Raises:
        UserError: tests are for pytest, which is not installed here.
    """
    limits = profile.limits
    if profile.timeout_s is not None:
        limits = replace(limits, cpu_s=profile.timeout_s, wall_s=None)
    problems = list(problems)
    names = {name for problem in problems for name in problem.packages}
    tasks = (problem.task for problem in problems)
    if any(map(_for_pytest, problems)):
        if find_spec("pytest") is None:
            raise UserError("pytest runs these tests and is not installed: pip install 'truegrade[pytest]'")
        names.add("pytest")
    started = max((task.processes for task in tasks if isinstance(task, SuiteTask)), default=0)
    processes = max(limits.processes, started)
    packages = (*limits.packages, *sorted(names - {*limits.packages}))
    return replace(limits, packages=packages, processes=processes)


def _for_pytest(problem: Problem) -> bool:
    if isinstance(problem.task, SuiteTask):
        return problem.task.framework == "pytest"
    return isinstance(problem.task, FunctionTask) and "import pytest" in problem.task.tests


def package_versions(names: Iterable[str]) -> dict[str, str]:
    """What is installed of packages that programs may import; those that are not are left out."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in names:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def with_packages(problems: Mapping[str, Problem], names: Sequence[str]) -> dict[str, Problem]:
    """The problems, with further packages that programs may import.

    Raises:
        UserError: one is not installed here.
    """
    known = package_versions(names)
    for name in names:
        if name not in known:
            raise UserError(f"`packages` {name}: not installed; pip install {name}, or leave it out")
    return {
        key: structs.replace(problem, packages=(*problem.packages, *names)) for key, problem in problems.items()
    }
