"""``grid``: all combinations of evenly spread genes, in an order of which every beginning is spread out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import gcd, prod, sqrt
from typing import Annotated, Any

import msgspec

from truegrade.evolution.genomes import Genome
from truegrade.evolution.searchers.base import SearchTask, Strategy, read_settings, recipe

GOLDEN = (sqrt(5.0) - 1.0) / 2.0


class GridSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of ``grid``."""

    points: Annotated[int, msgspec.Meta(ge=1)] = 3
    """On each axis that is a range of numbers."""


class GridSearch(Strategy):
    """The whole grid, if the budget lasts; the seed is not used.

    A grid walked row by row and cut off has seen a corner. Here the walk goes by steps of the golden section of
    the grid's size, made coprime to it, so it visits every point once and the first points lie far apart.
    """

    def __init__(self, task: SearchTask, args: Mapping[str, Any]) -> None:
        settings = read_settings("grid", args, GridSettings)
        super().__init__("grid", task)
        self._axes = {axis.name: axis.grid(settings.points) for axis in task.space.dimensions}

    @property
    def size(self) -> int:
        """Points of the grid."""
        return prod(map(len, self._axes.values()))

    def ask(self, generation: int, size: int) -> Sequence[Genome]:
        """The next points of the walk; none at its end."""
        known = {recipe(one.genome) for one in self.told}
        return list(islice((genome for genome in self._walk() if recipe(genome) not in known), size))

    def _walk(self) -> Iterator[Genome]:
        size = self.size
        stride = max(1, round(size * GOLDEN))
        while gcd(stride, size) > 1:
            stride += 1
        for count in range(size):
            left, genes = count * stride % size, {}
            for name, axis in self._axes.items():
                left, index = divmod(left, len(axis))
                genes[name] = axis[index]
            yield self.task.space.genome(genes, "grid")
