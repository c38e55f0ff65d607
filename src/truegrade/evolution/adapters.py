"""From a genome to its adapter: found in the cache, trained, or built from others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from truegrade.errors import UserError
from truegrade.evolution.genomes import Fidelity, Genome, TrainingGenes
from truegrade.evolution.settings import Training
from truegrade.evolution.survival import FULL
from truegrade.evolution.training.base import Lesson, Trained, Trainer, TrainingOrder
from truegrade.evolution.training.cache import AdapterCache, Cached, adapter_key
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


class Workshop:
    """Makes adapters of one base from one set of lessons.

    Args:
        trainer: of the base.
        lessons: what every adapter learns.
        common: settings that no genome varies.
        cache: where adapters are kept.
    """

    def __init__(self, trainer: Trainer, lessons: Sequence[Lesson], common: Training, cache: AdapterCache) -> None:
        self._trainer, self._lessons, self._common, self._cache = trainer, lessons, common, cache

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
        if not genome.merge:
            cached = self._trained(genome, seed, fidelity)
            _verify(cached)
            yield Adapter(
                folder=cached.trained.folder, sha256=cached.sha256, trained=cached.trained, cached=cached.hit
            )
            return
        with TemporaryDirectory(prefix="truegrade-merge-") as scratch:
            yield self._merged(genome, parts, seed, Path(scratch) / "adapter")

    def keys(
        self, genome: Genome, parts: Sequence[Genome], seed: int, fidelity: Fidelity = FULL
    ) -> tuple[str, ...]:
        """Under which keys the cache keeps what `adapter` takes from it: of a merge, its parts."""
        merged = {name for name, _ in genome.merge}
        wanted = [(part, FULL) for part in parts if part.id in merged] if merged else [(genome, fidelity)]
        orders = [self._order(one, _epochs(one, share), seed) for one, share in wanted]
        return tuple(dict.fromkeys(adapter_key(self._trainer, order, self._lessons) for order in orders))

    def _trained(self, genome: Genome, seed: int, fidelity: Fidelity) -> Cached:
        order = self._order(genome, _epochs(genome, fidelity), seed)
        return self._cache.trained(self._trainer, order, self._lessons)

    def _merged(self, genome: Genome, parts: Sequence[Genome], seed: int, folder: Path) -> Adapter:
        known = {part.id: part for part in parts}
        missing = [name for name, _ in genome.merge if name not in known]
        if missing:
            raise UserError(f"genome {genome.id} merges {', '.join(missing)}, which this search has not evaluated")
        made = [self._trained(known[name], seed, FULL) for name, _ in genome.merge]
        for cached in made:
            _verify(cached)
        weighted = [
            WeightedAdapter(folder=cached.trained.folder, weight=weight)
            for cached, (_, weight) in zip(made, genome.merge, strict=True)
        ]
        built = build_merged(weighted, self._order(genome, 0, seed), folder)
        tokens = sum(cached.trained.tokens for cached in made)
        return Adapter(
            folder=folder,
            sha256=adapter_sha256(folder),
            trained=msgspec.structs.replace(built, tokens=tokens),
            cached=all(cached.hit for cached in made),
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
