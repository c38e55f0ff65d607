"""What a profile refuses: a benchmark that its harness has no rules for, a prompt that it has no words for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar, overload

from truegrade.errors import UnknownName, UserError
from truegrade.profiles.base import Profile, has_rules, unsupported
from truegrade.records import Completion, FunctionTask, OracleTask, Problem, Task
from truegrade.records.kinds import problem_kind

TaskT = TypeVar("TaskT", bound=Task)
OtherT = TypeVar("OtherT", bound=Task)


@overload
def covered_task(profile: Profile, problem: Problem, kind: type[TaskT], /) -> TaskT: ...
@overload
def covered_task(
    profile: Profile, problem: Problem, kind: type[TaskT], other: type[OtherT], /
) -> TaskT | OtherT: ...
def covered_task(profile: Profile, problem: Problem, *kinds: type[Any]) -> Any:
    """The task of a problem that is covered and of one of these kinds.

    Raises:
        UserError: the profile does not cover the problem.
    """
    task = problem.task
    if not has_rules(profile, problem_kind(problem.task), problem.benchmark) or not isinstance(task, kinds):
        raise unsupported(profile, problem)
    return task


def function_task(profile: Profile, problem: Problem) -> FunctionTask:
    """The task of a problem that is covered and graded by test source; raises as `covered_task` does."""
    return covered_task(profile, problem, FunctionTask)


def code_task(profile: Profile, problem: Problem) -> FunctionTask | OracleTask:
    """As `function_task`, be it graded by test source or by a plus set's inputs."""
    return covered_task(profile, problem, FunctionTask, OracleTask)


def refuse_mbppplus(profile: Profile, problem: Problem) -> None:
    """Refuse MBPP+ where the harness grades MBPP+'s tasks by the asserts of sanitized MBPP.

    Raises:
        UserError: the problem is one of MBPP+, whose file does not hold these asserts.
    """
    if problem.benchmark == "mbppplus":
        raise UserError(
            f"profile {profile.name!r}: its mbpp_plus asks and grades with the asserts of sanitized MBPP, which"
            " MBPP+'s file does not hold; use the benchmark mbpp-sanitized, which has all of MBPP+'s tasks"
        )


def check_variant(profile: Profile, variant: str | None) -> str:
    """The name of the prompt to use; ``default`` where none is asked for.

    Raises:
        UnknownName: the profile has no such prompt.
    """
    if variant is not None and variant not in profile.variants:
        raise UnknownName("prompt variant", variant, profile.variants, f"for {profile.name}")
    return variant or "default"


def refuse_uncovered(profiles: Iterable[Profile], problems: Iterable[Problem]) -> None:
    """See, before anything is asked or imported, that every profile has rules for these problems.

    Each profile reads an empty reply to one problem of each benchmark and kind; nothing is run. One from outside
    need not refuse by itself what it does not cover.

    Raises:
        UserError: a profile does not cover one of them.
    """
    kinds = {(problem.benchmark, problem_kind(problem.task), type(problem.task)): problem for problem in problems}
    for profile in profiles:
        for problem in kinds.values():
            if profile.origin is not None:
                if not has_rules(profile, problem_kind(problem.task), problem.benchmark):
                    raise unsupported(profile, problem)
                continue
            empty = Completion(
                benchmark=problem.benchmark,
                dataset_sha256=problem.dataset_sha256,
                problem_id=problem.id,
                sample=0,
                config_sha256="",
                prompt_sha256="",
                text="",
                model="",
            )
            profile.answer(problem, empty)


def covered_benchmarks(profile: Profile) -> list[str]:
    """Names of the built-in data sets that it has rules for."""
    from truegrade.benchmarks import BENCHMARKS, find_benchmark  # only listings need every data set's module

    specs = map(find_benchmark, BENCHMARKS)
    return [
        spec.name
        for spec in specs
        if any(has_rules(profile, kind, spec.name) for kind in spec.tasks.split(" or "))
    ]
