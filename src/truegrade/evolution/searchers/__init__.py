"""Search strategies by name: the one table of what ``evolve`` can search with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from truegrade.errors import UserError
from truegrade.evolution.genomes import Space
from truegrade.evolution.search_order import point
from truegrade.evolution.searchers.base import SearchTask, Strategy
from truegrade.evolution.searchers.bred import CoralX, Nsga2
from truegrade.evolution.searchers.single import ExpertIteration, RandomSearch, Recipe
from truegrade.evolution.searchers.tpe import Tpe
from truegrade.evolution.searching import Searcher
from truegrade.registry import Registry, lacking

__all__ = ["REGISTRY", "SearchTask", "Strategy", "check_searcher", "open_searcher"]

BUILT_IN: dict[str, Callable[[SearchTask, Mapping[str, Any]], Searcher]] = {
    "expert-iteration": ExpertIteration,
    "recipe": Recipe,
    "nsga2": Nsga2,
    "coralx": CoralX,
    "random": RandomSearch,
    "tpe": Tpe,
}


def _fault(thing: Any) -> str | None:
    missing = lacking(thing, ("ask", "tell", "fidelity"))
    if missing is not None:
        return f"{missing}, which every searcher has: truegrade.evolution.searching.Searcher"
    return None if callable(thing) else "is no class: it is called with the task and its arguments"


REGISTRY = Registry[Callable[[SearchTask, Mapping[str, Any]], Searcher]](
    "searcher", BUILT_IN, _fault, named=lambda _: None
)


def check_searcher(given: str) -> None:
    """See that there is a searcher that the user means: see `truegrade.registry.Registry.find`.

    Raises:
        UnknownName: there is none of that name.
        UserError: a file or package is at fault.
    """
    REGISTRY.find(given)


def open_searcher(
    name: str,
    space: Space,
    seed: int,
    population: int,
    objectives: Sequence[str],
    reference_point: Mapping[str, float],
    args: Mapping[str, Any],
) -> Searcher:
    """A strategy with its arguments.

    Args:
        name: of the table, of a package, or a file's.
        space: what may vary.
        seed: of everything drawn.
        population: genomes of a generation.
        objectives: names; more is better.
        reference_point: by objective, what must be exceeded for hypervolume to count.
        args: of the strategy.

    Raises:
        UnknownName: no such strategy or argument.
        UserError: an argument does not fit, or a package is missing.
    """
    strategy = REGISTRY.find(name).value
    if population < 1 or not objectives or len(set(objectives)) < len(objectives):
        raise UserError("a search needs a population of at least 1 and objectives, each named once")
    task = SearchTask(
        space=space,
        seed=seed,
        population=population,
        objectives=tuple(objectives),
        reference_point=point(reference_point, objectives),
    )
    return strategy(task, args)
