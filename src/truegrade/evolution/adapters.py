"""From a genome to its adapter: found in the cache, or trained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from truegrade.errors import UserError
from truegrade.evolution.collecting import Collector, FoundLessons
from truegrade.evolution.genomes import DataGenes, Fidelity, Genome, TrainingGenes
from truegrade.evolution.settings import Training
from truegrade.evolution.survival import FULL
from truegrade.evolution.training.base import Lesson, Trained, Trainer, TrainingOrder
from truegrade.evolution.training.cache import AdapterCache, Cached
from truegrade.models.adapters import adapter_sha256


class Adapter(msgspec.Struct, frozen=True, kw_only=True):
    """An adapter on disk."""

    folder: Path
    sha256: str
    trained: Trained
    """Tokens are those of everything that had to be trained for it."""
    cached: bool
    """Whether nothing had to be."""
    lessons: tuple[Lesson, ...]
    """What it learned from."""
    sampled: int = 0
    """Tokens generated to find lessons."""
    asked: int = 0
    """Problems without a lesson of their own that were asked for one, or whose reference was learned."""


class Workshop:
    """Makes adapters of one base from one set of lessons.

    Args:
        trainer: of the base.
        lessons: what every adapter learns.
        common: settings that no genome varies.
        cache: where adapters are kept.
        collector: finds further lessons, for genomes that ask for them.
    """

    def __init__(
        self,
        trainer: Trainer,
        lessons: Sequence[Lesson],
        common: Training,
        cache: AdapterCache,
        collector: Collector | None = None,
    ) -> None:
        self._trainer, self._lessons, self._common, self._cache = trainer, tuple(lessons), common, cache
        self._collector = collector

    def adapter(self, genome: Genome, seed: int, fidelity: Fidelity = FULL) -> Adapter:
        """The adapter of a genome.

        Args:
            genome: whose genes are followed.
            seed: of the training.
            fidelity: its share of the epochs is trained, at least one.

        Raises:
            UserError: it cannot be made, or its files are not those that were made.
        """
        if genome.merge or genome.policy:
            raise UserError(f"genome {genome.id}: adapters only learn by imitation; leave merge and policy out")
        order = self._order(genome, max(1, round(genome.training.epochs * fidelity.epochs)), seed)
        if genome.plain:
            made = _adapter([self._cache.trained(self._trainer, order, self._lessons)], self._lessons)
        elif self._collector is not None:
            made = self._taught_more(genome.data, order, seed, self._collector)
        else:
            raise UserError(f"genome {genome.id} finds lessons of its own, which nothing here collects")
        if adapter_sha256(made.folder) != made.sha256:  # seen right before it is used
            raise UserError(
                f"{made.folder}: the adapter's files changed while in use; the same command trains it anew"
            )
        return made

    def _taught_more(self, data: DataGenes, order: TrainingOrder, seed: int, collector: Collector) -> Adapter:
        """Train on the lessons and on those found by the base; each round adds those found by the last adapter.

        Every training begins from the base: one that goes on from the last adapter would keep what that had
        learned from fewer lessons.
        """
        begun = [collector.replayed(data, seed), *([collector.references(data)] if data.references else [])]
        given = (*self._lessons, *(lesson for one in begun for lesson in one.lessons))
        lessons, made, rounds = given, [self._cache.trained(self._trainer, order, given)], list[FoundLessons]()
        for number in range(data.rounds):
            last = made[-1]
            rounds.append(collector.found(data, last.trained.folder, last.sha256, number, seed))
            lessons = (*given, *rounds[-1].lessons)
            made.append(self._cache.trained(self._trainer, order, lessons))
        return msgspec.structs.replace(
            _adapter(made, lessons),
            sampled=sum(one.tokens for one in (*begun, *rounds)),
            asked=sum(one.asked for one in (*begun, *rounds[:1])),  # each round asks the same problems
        )

    def _order(self, genome: Genome, epochs: int, seed: int) -> TrainingOrder:
        common = self._common
        return TrainingOrder(
            base=self._trainer.base,
            adapter=genome.adapter,
            training=TrainingGenes(learning_rate=genome.training.learning_rate, epochs=epochs),
            seed=seed,
            loss_on=common.loss_on,
            batch_size=common.batch_size,
            longest=common.longest,
        )


def _adapter(made: Sequence[Cached], lessons: tuple[Lesson, ...]) -> Adapter:
    """The last of the adapters that were trained one after another, with the tokens of all."""
    last = made[-1]
    return Adapter(
        folder=last.trained.folder,
        sha256=last.sha256,
        trained=msgspec.structs.replace(last.trained, tokens=sum(one.trained.tokens for one in made)),
        cached=all(one.hit for one in made),
        lessons=lessons,
    )
