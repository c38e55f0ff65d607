"""The roles of QuixBugs' programs: CORAL-X's lists, and final problems outside both of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from truegrade.errors import UserError
from truegrade.evolution.coralx_split import TEST, TRAINING, WITHOUT_JSON
from truegrade.evolution.problems import fresh_mutants, repair_of
from truegrade.evolution.roles import Roles
from truegrade.grading.executor import Executor
from truegrade.profiles.base import Profile
from truegrade.records import Problem

_TRAINED_WITHOUT_JSON = ", ".join(sorted(TRAINING & WITHOUT_JSON))


def quixbugs_roles(
    problems: Sequence[Problem],
    profile: Profile,
    executor: Executor,
    *,
    seed: int,
    json_only: bool = False,
    mutants: int = 2,
) -> Roles:
    """Train on CORAL-X's 24 programs, select by its 8, report on the graph programs and on new mutants.

    The mutants are of programs that were not trained on: of the 8, with another bug than the one selected by, and
    of the graph programs.

    Args:
        problems: QuixBugs, all 40 programs.
        profile: whose grading verifies the mutants.
        executor: bound to the profile's limits.
        seed: of the draw of mutants.
        json_only: leave out of training what has no JSON tests, as the repository's loader does: 23 programs.
        mutants: new ones of each program; reverse_linked_list has none that ends and fails.

    Raises:
        UserError: a program of the lists is missing; there is no other data to fall back on.
    """
    by_name = {repair_of(problem).name: problem for problem in problems}
    trained = TRAINING - WITHOUT_JSON if json_only else TRAINING
    train = _chosen(by_name, trained)
    final = _chosen(by_name, WITHOUT_JSON - trained)
    selection = _chosen(by_name, TEST)
    fresh = fresh_mutants((*selection, *final), profile, executor, seed=seed, per_program=mutants)
    return Roles(
        benchmark=problems[0].benchmark,
        train=train,
        selection=selection,
        final=(*map(_as_graph, final), *fresh),
        notes=(_about_training(json_only), _about_mutants(len(fresh), seed)),
    )


def _chosen(by_name: Mapping[str, Problem], names: frozenset[str]) -> tuple[Problem, ...]:
    """The problems of these names, in the order of the names."""
    missing = sorted(names - by_name.keys())
    if missing:
        raise UserError(
            f"QuixBugs here lacks {', '.join(missing)}, which the division names; load all 40 programs,"
            " nothing else is put in their place"
        )
    return tuple(by_name[name] for name in sorted(names))


def _as_graph(problem: Problem) -> Problem:
    return msgspec.structs.replace(problem, tags={**problem.tags, "fresh": "program"})


def _about_training(json_only: bool) -> str:
    if json_only:
        return (
            f"{_TRAINED_WITHOUT_JSON} stands in CORAL-X's training list but has no JSON tests: 23 programs are"
            " trained on, and it is in the final report"
        )
    return (
        f"{_TRAINED_WITHOUT_JSON} stands in CORAL-X's training list, so of the 9 graph and list programs 8 are in"
        " the final report"
    )


def _about_mutants(count: int, seed: int) -> str:
    return (
        f"{count} of the final problems are one-token mutants drawn from seed {seed}; those of the selection"
        " programs have a new bug in a program that the search has scored adapters by"
    )
