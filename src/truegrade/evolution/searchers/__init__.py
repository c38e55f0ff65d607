"""Search strategies by name: the one table of what ``evolve`` can search with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from truegrade.errors import UnknownName, UserError
from truegrade.evolution.searchers import halving, merging
from truegrade.evolution.searchers.base import SearchTask, Strategy, read_settings
from truegrade.evolution.searchers.coralx import CoralX
from truegrade.evolution.searchers.grid import GridSearch
from truegrade.evolution.searchers.nsga2 import Nsga2
from truegrade.evolution.searchers.optuna_nsga2 import OptunaNsga2
from truegrade.evolution.searchers.random_search import RandomSearch
from truegrade.evolution.searchers.recipe import ExpertIteration, Recipe
from truegrade.evolution.searchers.tpe import Tpe
from truegrade.evolution.searching import Searcher
from truegrade.evolution.space import Space
from truegrade.evolution.survival import point
from truegrade.registry import Registry, lacking

__all__ = ["REGISTRY", "SearchTask", "Strategy", "check_searcher", "open_searcher"]

PLAIN: dict[str, Callable[[SearchTask, Mapping[str, Any]], Searcher]] = {
    "expert-iteration": ExpertIteration,
    "recipe": Recipe,
    "nsga2": Nsga2,
    "coralx": CoralX,
    "random": RandomSearch,
    "grid": GridSearch,
    "tpe": Tpe,
    "optuna-nsga2": OptunaNsga2,
}
"""Strategies that propose genomes."""

WRAPPERS: dict[str, tuple[type[Any], Callable[[SearchTask, Searcher, Any], Searcher]]] = {
    "halving": (halving.HalvingSettings, halving.Halving),
    "merging": (merging.MergingSettings, merging.Merging),
}
"""Strategies about another, which their argument ``of`` names."""


def _fault(thing: Any) -> str | None:
    missing = lacking(thing, ("ask", "tell", "fidelity"))
    if missing is not None:
        return f"{missing}, which every searcher has: truegrade.evolution.searching.Searcher"
    return None if callable(thing) else "is no class: it is called with the task and its arguments"


REGISTRY = Registry[Callable[[SearchTask, Mapping[str, Any]], Searcher]](
    "searcher", {**PLAIN, **{name: make for name, (_, make) in WRAPPERS.items()}}, _fault, named=lambda _: None
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
        args: of the strategy; a wrapper hands those that are not its own to the strategy it wraps.

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
    if name not in WRAPPERS:
        return strategy(task, args)
    settings_type, make = WRAPPERS[name]
    own = {key: value for key, value in args.items() if key in settings_type.__struct_fields__}
    settings = read_settings(name, own, settings_type)
    if settings.of in WRAPPERS:
        raise UnknownName(f"searcher for {name} to wrap", settings.of, PLAIN)
    rest = {key: value for key, value in args.items() if key not in own}
    return make(task, REGISTRY.find(settings.of).value(task, rest), settings)
