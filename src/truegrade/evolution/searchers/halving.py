"""``halving``: successive halving about another strategy. Many genomes get a little, the best third gets the rest.

Jamieson & Talwalkar 2016 (AISTATS), in the synchronous form of Hyperband's brackets (Li et al. 2018, JMLR 18:185).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from truegrade.evolution.genomes import Evaluated, Fidelity, Genome
from truegrade.evolution.searchers.base import SearchTask, Strategy
from truegrade.evolution.searching import Searcher
from truegrade.evolution.survival import FULL, select


class HalvingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of ``halving``; all others are those of the strategy that proposes genomes."""

    of: str = "nsga2"
    """That strategy."""
    rungs: Annotated[int, msgspec.Meta(ge=2)] = 2
    """Generations of a bracket: each but the last is cheaper than the next."""
    eta: Annotated[int, msgspec.Meta(ge=2)] = 3
    """One in so many is promoted to the next rung, which spends so many times the problems."""


class Halving(Strategy):
    """A bracket is ``rungs`` generations: first what the other strategy asks, then who was promoted.

    The other strategy sees a bracket as one generation, told when it is over: each genome with its scores at the
    highest fidelity that it got. Ranking puts higher fidelities first (``selection.shortfall``), so a parent is
    taken from those evaluated fully as long as there are any.
    """

    def __init__(self, task: SearchTask, inner: Searcher, settings: HalvingSettings) -> None:
        super().__init__("halving", task)
        self._inner, self._settings = inner, settings

    def ask(self, generation: int, size: int) -> Sequence[Genome]:
        """New genomes, or the promoted of the generation before."""
        bracket, rung = divmod(generation, self._settings.rungs)
        if rung == 0:
            return self._inner.ask(bracket, size)
        before = [one for one in self.told if one.generation == generation - 1]
        promoted = select(before, self.task.objectives, min(size, max(1, len(before) // self._settings.eta)))
        return [one.genome for one in promoted] if before else ()

    def tell(self, evaluated: Sequence[Evaluated]) -> None:
        """Remember, and pass a finished bracket on."""
        super().tell(evaluated)
        if not evaluated:
            return
        bracket, rung = divmod(evaluated[0].generation, self._settings.rungs)
        if rung == self._settings.rungs - 1:
            self._inner.tell(self._results(bracket))

    def fidelity(self, generation: int) -> Fidelity:
        """One epoch of the longest training in the first rung, everything in the last, equal factors between."""
        rungs, eta = self._settings.rungs, self._settings.eta
        left = rungs - 1 - generation % rungs
        if left == 0:
            return FULL
        longest = max(1, self.task.space.epochs[1])
        return Fidelity(epochs=longest ** (-left / (rungs - 1)), problems=float(eta) ** -left)

    def _results(self, bracket: int) -> list[Evaluated]:
        """A bracket's genomes in the order in which they were asked for, each as last evaluated."""
        last: dict[str, Evaluated] = {}
        for one in self.told:
            if one.generation // self._settings.rungs == bracket:
                last[one.genome.id] = one  # a later rung keeps the place of the first
        return [
            msgspec.structs.replace(one, generation=bracket, slot=slot) for slot, one in enumerate(last.values())
        ]
