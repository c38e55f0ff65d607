"""``random``: random genomes without repetition; the baseline of every strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from truegrade.evolution.direct import draw
from truegrade.evolution.genomes import Genome
from truegrade.evolution.searchers.base import SearchTask, Strategy, read_settings


class RandomSettings(msgspec.Struct, frozen=True, kw_only=True):
    """None."""


class RandomSearch(Strategy):
    """Bergstra & Bengio 2012, JMLR 13:281."""

    def __init__(self, task: SearchTask, args: Mapping[str, Any]) -> None:
        read_settings("random", args, RandomSettings)
        super().__init__("random", task)

    def ask(self, generation: int, size: int) -> Sequence[Genome]:
        """New ones; fewer where the space is all but used up."""
        return self.fresh(generation, size, lambda _, rng: draw(self.task.space, rng))
