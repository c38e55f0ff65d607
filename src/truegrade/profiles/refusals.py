"""What a profile refuses: a benchmark that its harness has no rules for, a prompt that it has no words for."""

from __future__ import annotations

from truegrade.errors import UnknownName
from truegrade.profiles.base import Profile, unsupported
from truegrade.records import FunctionTask, Problem


def function_task(profile: Profile, problem: Problem) -> FunctionTask:
    """The task of a problem that is covered and graded by test source.

    Raises:
        UserError: the profile does not cover the benchmark.
    """
    if problem.benchmark not in profile.covers or not isinstance(problem.task, FunctionTask):
        raise unsupported(profile, problem)
    return problem.task


def check_variant(profile: Profile, variant: str | None) -> str:
    """The name of the prompt to use; ``default`` where none is asked for.

    Raises:
        UnknownName: the profile has no such prompt.
    """
    if variant is not None and variant not in profile.variants:
        raise UnknownName("prompt variant", variant, profile.variants, f"for {profile.name}")
    return variant or "default"
