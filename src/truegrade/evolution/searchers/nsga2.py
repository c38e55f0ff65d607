"""``nsga2``: ours. The direct genome, bred by NSGA-II (Deb et al. 2002, IEEE TEC 6:182)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from truegrade.errors import UnknownName
from truegrade.evolution.coralx.gate import missing
from truegrade.evolution.direct import Initial, cross, draw, draw_by_automaton, mutate
from truegrade.evolution.genomes import Evaluated, Genome
from truegrade.evolution.searchers.base import Rate, SearchTask, Strategy, read_settings, recipe
from truegrade.evolution.survival import order, select, shortfall, standings


class Nsga2Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of ``nsga2``."""

    initial: Initial = "random"
    """How the first genomes are drawn."""
    crossover: Rate = 0.7
    """Share of children that mix two parents; each child is mutated as well, with the next rate."""
    mutation: Rate = 0.9
    """Share of mixed children that are mutated; the others always are."""
    least: dict[str, float] = {}
    """By objective, what is worth breeding from: any genome that reaches it goes before all that miss it, and
    among those the one that misses by less (constraint domination, Deb 2000, CMAME 186:311)."""


class Nsga2(Strategy):
    """Parents are the best ``population`` of all told so far: old and new compete, so nothing good is lost.

    Both parents win a tournament of two: the better front, then more room. A child that was evaluated already is
    bred again: a repeated evaluation would teach nothing.
    """

    def __init__(self, task: SearchTask, args: Mapping[str, Any]) -> None:
        self._settings = read_settings("nsga2", args, Nsga2Settings)
        for name in self._settings.least:
            if name not in task.objectives:
                raise UnknownName("objective of this search", name, task.objectives)
        super().__init__("nsga2", task)

    def ask(self, generation: int, size: int) -> Sequence[Genome]:
        """The first genomes, then children."""
        seen = _once(self.told)
        parents = select(seen, self.task.objectives, self.task.population, self._missed(seen))
        if not parents:
            return self.fresh(generation, size, self._first)
        ranks = [order(standing) for standing in standings(parents, self.task.objectives, self._missed(parents))]

        def child(_: int, rng: Random) -> Genome:
            mother, father = (parents[_tournament(ranks, rng)].genome for _ in range(2))
            return self._child(mother, father, rng)

        return self.fresh(generation, size, child)

    def _missed(self, evaluated: Sequence[Evaluated]) -> list[float]:
        return [missing(one.scores.objectives, self._settings.least) for one in evaluated]

    def _first(self, slot: int, rng: Random) -> Genome:
        if self._settings.initial == "automaton":
            return draw_by_automaton(self.task.space, self.task.seed, slot)
        return draw(self.task.space, rng)

    def _child(self, mother: Genome, father: Genome, rng: Random) -> Genome:
        space = self.task.space
        if recipe(mother) == recipe(father) or rng.random() >= self._settings.crossover:
            return mutate(space, mother, rng)
        mixed = cross(space, mother, father, rng)
        if rng.random() >= self._settings.mutation:
            return mixed
        return msgspec.structs.replace(mutate(space, mixed, rng), origin="crossover", parents=mixed.parents)


def _tournament(ranks: Sequence[tuple[int, float, int]], rng: Random) -> int:
    """The better of two places."""
    return min((rng.randrange(len(ranks)) for _ in range(2)), key=ranks.__getitem__)


def _once(told: Sequence[Evaluated]) -> list[Evaluated]:
    """Each recipe once: at its highest fidelity, and there as it was first seen."""
    first: dict[Any, Evaluated] = {}
    for one in told:
        known = first.get(recipe(one.genome))
        if known is None or shortfall(one) < shortfall(known):
            first[recipe(one.genome)] = one
    return list(first.values())
