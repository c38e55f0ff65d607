"""Common parts of search strategies: their problem, received scores, and avoiding repetitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Annotated, Any, TypeVar

import msgspec

from truegrade.errors import UnknownName, UserError
from truegrade.evolution.dimensions import stream
from truegrade.evolution.direct import draw
from truegrade.evolution.genomes import Evaluated, Fidelity, Genome, Space
from truegrade.evolution.search_order import FULL

TRIES = 20
"""Attempts at a genome that was not evaluated yet, in the strategy's own way and then by drawing at random."""

Recipe = tuple[Any, ...]
Rate = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
SettingsT = TypeVar("SettingsT", bound=msgspec.Struct)


class SearchTask(msgspec.Struct, frozen=True, kw_only=True):
    """What every strategy is given."""

    space: Space
    seed: int
    population: int
    """Genomes per generation."""
    objectives: tuple[str, ...]
    reference_point: tuple[float, ...]
    """One number per objective: what a genome must exceed for its hypervolume to count."""


class Strategy:
    """A searcher that remembers what it was told. Everything asked is a function of that and of the task."""

    def __init__(self, name: str, task: SearchTask) -> None:
        self.name = name
        self.task = task
        self.told: list[Evaluated] = []

    def tell(self, evaluated: Sequence[Evaluated]) -> None:
        """Remember."""
        self.told.extend(evaluated)

    def fidelity(self, generation: int) -> Fidelity:  # a strategy may make it depend on the generation
        """Everything."""
        return FULL

    def fresh(self, generation: int, size: int, make: Callable[[int, Random], Genome]) -> list[Genome]:
        """Up to ``size`` genomes that were neither told nor are among them yet.

        Args:
            generation: whose streams are used.
            size: genomes.
            make: one for a slot; called again with the same stream when its genome is known already.
        """
        known = {recipe(one.genome) for one in self.told}
        found: list[Genome] = []
        for slot in range(size):
            rng = stream(self.task.seed, generation, slot)
            for attempt in range(2 * TRIES):
                genome = make(slot, rng) if attempt < TRIES else draw(self.task.space, rng)
                if recipe(genome) not in known:
                    known.add(recipe(genome))
                    found.append(genome)
                    break
        return found


def recipe(genome: Genome) -> Recipe:
    """What decides how a genome performs: two with one recipe are the same adapter, asked the same way."""
    return (genome.adapter, genome.training, genome.sampling, genome.data)


def read_settings(searcher: str, args: Mapping[str, Any], settings: type[SettingsT]) -> SettingsT:
    """The arguments of a searcher.

    Raises:
        UnknownName: it has no such argument.
        UserError: a value does not fit.
    """
    names = settings.__struct_fields__
    for name in args:
        if name not in names:
            raise UnknownName(f"argument of searcher {searcher}", name, names)
    try:
        return msgspec.convert(dict(args), settings)
    except msgspec.ValidationError as error:
        raise UserError(f"searcher {searcher}: {error}; correct the argument") from None
