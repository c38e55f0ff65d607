"""``merging``: weighted sums of adapters that another strategy found; none of them needs training.

After LoRAHub (arXiv 2307.13269), which searches the weights of existing adapters within +-1.5, and evolutionary
model merging (arXiv 2403.13187).

A genome with a ``merge`` is built, not trained. For adapters with factors A_i, B_i, scale s_i = alpha_i / rank_i
and weights w_i the sum of updates is again low-rank, exactly: stack the A_i, and set w_i * s_i * B_i beside each
other, so the rank is the sum of ranks and the scale 1; a module that one adapter lacks gets zeros from it. DoRA's
updates do not add up that way, so only LoRA adapters are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from random import Random
from statistics import fmean
from typing import Annotated

import msgspec

from truegrade.evolution.genomes import AdapterGenes, Evaluated, Fidelity, Genome, TrainingGenes
from truegrade.evolution.hypervolume import cover
from truegrade.evolution.searchers.base import SearchTask, Strategy
from truegrade.evolution.searching import Searcher
from truegrade.evolution.survival import FULL, points, select, shortfall

LIMIT = 1.5
"""Of a weight, either way."""
SPREAD = 0.4
"""Standard deviation of a weight about the mean, in the first generation of merges."""
COOLING = 0.85
"""What is left of the spread from generation to generation."""
DIGITS = 4
"""Decimal places of a weight."""


class MergingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of ``merging``; all others are those of the strategy that finds the adapters."""

    of: str = "nsga2"
    """That strategy."""
    warmup: Annotated[int, msgspec.Meta(ge=1)] = 3
    """Generations that are left to it."""
    adapters: Annotated[int, msgspec.Meta(ge=2)] = 3
    """That are merged: those that together dominate most volume above the reference point."""


class Merging(Strategy):
    """An evolution strategy over the weights, mu of lambda about their mean, with a spread that cools.

    The other strategy goes on until there are adapters to merge.
    """

    def __init__(self, task: SearchTask, inner: Searcher, settings: MergingSettings) -> None:
        super().__init__("merging", task)
        self._inner, self._settings = inner, settings

    def ask(self, generation: int, size: int) -> Sequence[Genome]:
        """What the other strategy asks; after the warm-up, merges."""
        parts = self._parts(generation)
        if not parts:
            return self._inner.ask(generation, size)
        merges = [one for one in self.told if one.genome.merge]
        if not merges:
            equal = tuple(1.0 / len(parts) for _ in parts)
            return self.fresh(generation, size, lambda slot, rng: self._first(slot, rng, equal, parts))
        best = select(merges, self.task.objectives, max(1, size // 2))
        weights = [dict(one.genome.merge) for one in best]
        mean = tuple(fmean(one.get(part.id, 0.0) for one in weights) for part in parts)
        spread = SPREAD * COOLING ** len({one.generation for one in merges})
        return self.fresh(generation, size, lambda _, rng: _merge(parts, _near(mean, spread, rng)))

    def tell(self, evaluated: Sequence[Evaluated]) -> None:
        """Remember; the other strategy learns of its own genomes only."""
        super().tell(evaluated)
        own = [one for one in evaluated if not one.genome.merge]
        if own:
            self._inner.tell(own)

    def fidelity(self, generation: int) -> Fidelity:
        """That of the other strategy; merges are cheap, and evaluated fully."""
        return FULL if self._parts(generation) else self._inner.fidelity(generation)

    def _parts(self, generation: int) -> list[Genome]:
        """The adapters to merge, none before the warm-up is over and there are two."""
        if generation < self._settings.warmup:
            return []
        found = [one for one in self.told if not one.genome.merge]
        usable = [one for one in found if one.genome.adapter.kind == "lora" and shortfall(one) <= 0.0]
        ranked = select(usable, self.task.objectives, len(usable))
        places = points(ranked, self.task.objectives)
        chosen = cover(places, self._settings.adapters, self.task.reference_point)
        return [ranked[i].genome for i in chosen] if len(chosen) > 1 else []

    def _first(self, slot: int, rng: Random, equal: tuple[float, ...], parts: Sequence[Genome]) -> Genome:
        """The plain mean of the adapters, then what lies around it."""
        return _merge(parts, equal if slot == 0 else _near(equal, SPREAD, rng))


def _near(mean: tuple[float, ...], spread: float, rng: Random) -> tuple[float, ...]:
    steps = (rng.gauss(0.0, spread / sqrt(len(mean))) for _ in mean)
    return tuple(max(-LIMIT, min(LIMIT, weight + step)) for weight, step in zip(mean, steps, strict=True))


def _merge(parts: Sequence[Genome], weights: Sequence[float]) -> Genome:
    """The genome of a weighted sum, asked as the best part is."""
    rank = sum(part.adapter.rank for part in parts)
    modules = tuple(dict.fromkeys(name for part in parts for name in part.adapter.modules))
    rounded = [round(weight, DIGITS) for weight in weights]
    return Genome(
        adapter=AdapterGenes(kind="lora", rank=rank, alpha=float(rank), dropout=0.0, modules=modules),
        training=TrainingGenes(learning_rate=0.0, epochs=0),
        sampling=parts[0].sampling,
        merge=tuple((part.id, weight) for part, weight in zip(parts, rounded, strict=True)),
        origin="merge",
        parents=tuple(part.id for part in parts),
    )
