"""Everything that evaluating a genome needs, as plain data: what a worker process is sent once."""

from __future__ import annotations

from pathlib import Path

import msgspec

from truegrade.benchmarks import load_benchmark
from truegrade.datasets.learned import past_of
from truegrade.errors import UserError
from truegrade.evolution.quixbugs_roles import quixbugs_roles
from truegrade.evolution.roles import BENCHMARK as MICRO_REPAIR
from truegrade.evolution.roles import MicroSizes, Roles, micro_roles
from truegrade.evolution.settings import EvolutionSettings
from truegrade.evolution.training.lessons import Lesson, coralx_lessons, lessons_of
from truegrade.models.adapters import ARGUMENT
from truegrade.profiles import find_profile, open_profile
from truegrade.records import Problem
from truegrade.sandbox import Sandbox

TESTED = ("selection", "final", "forgetting")
ROLES = ("train", *TESTED, "pool", "replay")
"""What a problem's tag ``role`` may say, in a benchmark file of one's own."""


class Workplace(msgspec.Struct, frozen=True, kw_only=True):
    """Settings, problems and lessons."""

    settings: EvolutionSettings
    roles: Roles
    lessons: tuple[Lesson, ...]
    adapters: Path | None = None
    """Folder of the adapter cache; None for the usual one."""
    allow_unsafe: bool = False


def prepare(
    settings: EvolutionSettings,
    *,
    data: Path | None = None,
    adapters: Path | None = None,
    allow_unsafe: bool = False,
    exclude_seen: bool = False,
) -> Workplace:
    """Draw the roles and word the lessons.

    Args:
        settings: of the evolution.
        data: local data file or folder of quixbugs.
        adapters: folder of the adapter cache.
        allow_unsafe: as for `truegrade.sandbox.Sandbox`.
        exclude_seen: leave out the problems to be tested that the base model learned from; else they are refused.

    Raises:
        Contamination: something is trained on and tested on.
        UserError: data or a profile is missing, or does not fit the task.
    """
    roles = _unseen(_roles(settings, data, allow_unsafe), settings, exclude_seen=exclude_seen)
    _refuse_impossible(settings, pool=bool(roles.pool))
    if settings.training.lessons == "coralx":
        lessons = coralx_lessons(roles.train, json_only=settings.roles.json_only)
    else:
        lessons = lessons_of(roles.train, find_profile(settings.profile), settings.variant)
    return Workplace(settings=settings, roles=roles, lessons=lessons, adapters=adapters, allow_unsafe=allow_unsafe)


def _unseen(roles: Roles, settings: EvolutionSettings, *, exclude_seen: bool) -> Roles:
    """The roles without what the base model learned from, by the record in its folder or its adapter's."""
    adapter = settings.model_args.get(ARGUMENT)
    notes, left = [], {}
    for role in TESTED:
        asked: tuple[Problem, ...] = getattr(roles, role)
        past = past_of(settings.model, adapter, asked, exclude_seen=exclude_seen)
        left[role] = tuple(problem for problem in asked if problem.id not in past.seen)
        if past.seen:
            notes.append(f"left out of {role}, because the base learned from them: {', '.join(past.seen)}")
        if past.training_data == "unknown" and asked:
            notes.append(f"the base wears an adapter whose training data is unknown: {role} may hold what it saw")
    return msgspec.structs.replace(roles, notes=(*roles.notes, *notes), **left)


def _roles(settings: EvolutionSettings, data: Path | None, allow_unsafe: bool) -> Roles:
    sizes = settings.roles
    if settings.task == MICRO_REPAIR:
        wanted = MicroSizes(
            train=sizes.train, selection=sizes.selection, final=sizes.final, forgetting=sizes.forgetting,
            pool=sizes.pool, replay=sizes.replay,
        )  # fmt: skip
        return micro_roles(settings.seed, wanted)
    if settings.task == "quixbugs":
        profile = open_profile("strict")  # mutants must fail and references pass under rules without defects
        with Sandbox(profile.limits, allow_unsafe=allow_unsafe) as sandbox:
            problems = load_benchmark("quixbugs", data).problems
            return quixbugs_roles(
                problems, profile, sandbox, seed=settings.seed, json_only=sizes.json_only, mutants=sizes.mutants
            )
    if settings.task.endswith(".py"):
        loaded = load_benchmark(settings.task, data)
        return _tagged(loaded.name, loaded.problems)
    raise UserError(
        f"task {settings.task!r} cannot be evolved on: name micro-repair, quixbugs or a benchmark file"
    )


def _refuse_impossible(settings: EvolutionSettings, *, pool: bool) -> None:
    """Refuse strategies that the problems do not allow, before anything is trained.

    Expert iteration without problems to answer would train on the lessons twice, and say nothing.
    """
    for search in settings.searches:
        args = search.args
        own = args.get("rounds", search.searcher == "expert-iteration") or args.get("references")
        if not pool and (own or settings.space.rounds[1]):
            raise UserError(
                f"{search.title} learns from problems of the role 'pool', and there is none: set roles.pool of"
                " micro-repair, or give problems of a benchmark file that role"
            )


def _tagged(benchmark: str, problems: tuple[Problem, ...]) -> Roles:
    """Roles as the problems' tags say."""
    by_role: dict[str, list[Problem]] = {role: [] for role in ROLES}
    for problem in problems:
        role = problem.tags.get("role")
        if role not in by_role:
            raise UserError(f"problem {problem.id}: its tag 'role' is {role!r}; give it one of {', '.join(ROLES)}")
        by_role[role].append(problem)
    for role in ROLES[:3]:
        if not by_role[role]:
            raise UserError(f"benchmark {benchmark}: no problem has the role {role!r}; at least one is needed")
    chosen = {role: tuple(found) for role, found in by_role.items()}
    return Roles(benchmark=benchmark, notes=("the roles are those of the benchmark file",), **chosen)
