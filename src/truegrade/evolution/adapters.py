"""From a genome to its adapter: found in the cache, trained, or built from others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from truegrade.errors import UserError
from truegrade.evolution.collecting import Collector, FoundLessons
from truegrade.evolution.genomes import DataGenes, Fidelity, Genome, TrainingGenes
from truegrade.evolution.settings import Training
from truegrade.evolution.survival import FULL
from truegrade.evolution.training.base import Lesson, Trained, Trainer, TrainingOrder
from truegrade.evolution.training.cache import AdapterCache, Cached
from truegrade.evolution.training.merged import WeightedAdapter, build_merged
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
    """What it learned from; of a merge, what its parts did."""
    sampled: int = 0
    """Tokens generated to find lessons."""
    asked: int = 0
    """Problems without a lesson of their own that were asked for one, or whose reference was learned."""


class _Taught(msgspec.Struct, frozen=True, kw_only=True):
    """An adapter in the cache, and what it took."""

    cached: Cached
    lessons: tuple[Lesson, ...]
    tokens: int
    """Learned by all trainings."""
    sampled: int = 0
    asked: int = 0


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

    @contextmanager
    def adapter(
        self, genome: Genome, parts: Sequence[Genome], seed: int, fidelity: Fidelity = FULL
    ) -> Iterator[Adapter]:
        """The adapter of a genome, there as long as the block lasts.

        Args:
            genome: whose genes are followed.
            parts: genomes that it merges, by whose ids it names them.
            seed: of the training.
            fidelity: its share of the epochs is trained, at least one.

        Raises:
            UserError: it cannot be made, or its files are not those that were made.
        """
        if genome.policy:
            raise UserError(f"genome {genome.id}: adapters are trained by imitation only; leave its policy out")
        if not genome.merge:
            taught = self._taught(genome, seed, fidelity)
            cached = taught.cached
            _verify(cached)
            yield Adapter(
                folder=cached.trained.folder,
                sha256=cached.sha256,
                trained=msgspec.structs.replace(cached.trained, tokens=taught.tokens),
                cached=cached.hit,
                lessons=taught.lessons,
                sampled=taught.sampled,
                asked=taught.asked,
            )
            return
        with TemporaryDirectory(prefix="truegrade-merge-") as scratch:
            yield self._merged(genome, parts, seed, Path(scratch) / "adapter")

    def _taught(self, genome: Genome, seed: int, fidelity: Fidelity) -> _Taught:
        order = self._order(genome, _epochs(genome, fidelity), seed)
        if genome.plain:
            cached = self._cache.trained(self._trainer, order, self._lessons)
            return _Taught(cached=cached, lessons=self._lessons, tokens=cached.trained.tokens)
        if self._collector is None:
            raise UserError(f"genome {genome.id} finds lessons of its own, which nothing here collects")
        return self._taught_more(genome.data, order, seed, self._collector)

    def _taught_more(self, data: DataGenes, order: TrainingOrder, seed: int, collector: Collector) -> _Taught:
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
        return _Taught(
            cached=msgspec.structs.replace(made[-1], hit=all(one.hit for one in made)),
            lessons=lessons,
            tokens=sum(one.trained.tokens for one in made),
            sampled=sum(one.tokens for one in (*begun, *rounds)),
            asked=sum(one.asked for one in (*begun, *rounds[:1])),  # each round asks the same problems
        )

    def _merged(self, genome: Genome, parts: Sequence[Genome], seed: int, folder: Path) -> Adapter:
        known = {part.id: part for part in parts}
        missing = [name for name, _ in genome.merge if name not in known]
        if missing:
            raise UserError(f"genome {genome.id} merges {', '.join(missing)}, which this search has not evaluated")
        taught = [self._taught(known[name], seed, FULL) for name, _ in genome.merge]
        made = [one.cached for one in taught]
        for cached in made:
            _verify(cached)
        weighted = [
            WeightedAdapter(folder=cached.trained.folder, weight=weight)
            for cached, (_, weight) in zip(made, genome.merge, strict=True)
        ]
        built = build_merged(weighted, self._order(genome, 0, seed), folder)
        tokens = sum(one.tokens for one in taught)
        return Adapter(
            folder=folder,
            sha256=adapter_sha256(folder),
            trained=msgspec.structs.replace(built, tokens=tokens),
            cached=all(cached.hit for cached in made),
            lessons=tuple(dict.fromkeys(lesson for one in taught for lesson in one.lessons)),
            sampled=sum(one.sampled for one in taught),
            asked=max(one.asked for one in taught),
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


def _epochs(genome: Genome, fidelity: Fidelity) -> int:
    return max(1, round(genome.training.epochs * fidelity.epochs))


def _verify(cached: Cached) -> None:
    """See that the files are those that were trained, right before they are used.

    Raises:
        UserError: one is gone or changed.
    """
    if adapter_sha256(cached.trained.folder) != cached.sha256:
        raise UserError(
            f"{cached.trained.folder}: the adapter's files changed while in use; the same command trains it anew"
        )
