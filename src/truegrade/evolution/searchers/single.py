"""The searchers that breed nothing: ``random``, ``recipe`` and ``expert-iteration``.

``random``: random genomes without repetition; the baseline of every strategy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from truegrade.evolution.direct import draw
from truegrade.evolution.genomes import (
    EVERYWHERE,
    AdapterGenes,
    DataGenes,
    Genome,
    SamplingGenes,
    Space,
    TrainingGenes,
)
from truegrade.evolution.searchers.base import Rate, SearchTask, Strategy, read_settings


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


# ------------------------------- ``recipe`` and ``expert-iteration``: one genome that is given, and no search.


class RecipeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of ``recipe``; the defaults are the ones that LoRA is usually trained with (arXiv 2106.09685)."""

    kind: Literal["lora", "dora"] = "lora"
    rank: int = 16
    alpha: float = 32.0
    dropout: Rate = 0.0
    modules: tuple[str, ...] = EVERYWHERE
    learning_rate: float = 4e-3
    epochs: int = 4
    rounds: int = 0
    """This and the rest: see `truegrade.evolution.genomes.DataGenes`."""
    pool: Rate = 1.0
    samples: int = 4
    temperature: float = 0.8
    replay: Rate = 0.0
    references: bool = False


class ExpertSettings(RecipeSettings, frozen=True, kw_only=True):
    """Arguments of ``expert-iteration``."""

    rounds: int = 1
    replay: Rate = 1.0


class Recipe(Strategy):
    """One genome, whatever the seed, the space and the scores."""

    called, arguments = "recipe", RecipeSettings

    def __init__(self, task: SearchTask, args: Mapping[str, Any]) -> None:
        super().__init__(self.called, task)
        self._genome = _genome(read_settings(self.called, args, self.arguments), task.space, self.called)

    def ask(self, generation: int, size: int) -> Sequence[Genome]:
        """The genome, once."""
        return [] if self.told else [self._genome]


class ExpertIteration(Recipe):
    """Train, let the adapter answer the pool, keep what passes every test, train again from the base.

    Expert iteration (arXiv 1705.08439), on a language model's own replies: STaR (arXiv 2203.14465), ReST-EM
    (arXiv 2312.06585). Replay is of the base's own verified replies to problems that it could do.
    """

    called, arguments = "expert-iteration", ExpertSettings


def _genome(settings: RecipeSettings, space: Space, origin: str) -> Genome:
    given = msgspec.structs.asdict(settings)

    def part(kind: type[msgspec.Struct]) -> Any:
        return msgspec.convert({name: given[name] for name in kind.__struct_fields__ if name in given}, kind)

    return Genome(
        adapter=part(AdapterGenes),
        training=part(TrainingGenes),
        sampling=SamplingGenes(
            temperature=space.temperature[0], top_p=space.top_p[1], max_tokens=space.max_tokens[1]
        ),
        data=part(DataGenes),
        origin=origin,
    )
