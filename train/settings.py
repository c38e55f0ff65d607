"""What decides the weights, read from a JSON file beside this module."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Continuation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One more rise and fall of the learning rates, over more shards with another mixture."""

    shards: int
    repair: float
    prediction: float
    """Shares of examples; the rest is completion."""
    peak: float
    """Share of the full rates that it rises to."""
    rise: float
    """First share of it, in which the rates rise linearly."""
    decay: float
    """Last share of it, in which they fall linearly to a twentieth of the peak."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that decides a training run."""

    seed: int = 0
    hidden_size: int = 128
    intermediate_size: int = 352
    layers: int = 6
    heads: int = 4
    rope_theta: float = 10000.0
    vocabulary: int = 768
    """Upper bound; the tokenizer may need fewer."""
    longest: int = 512
    """Tokens of the longest example."""
    shards: int = 24
    """Parts of the training data, each seen once."""
    shard_examples: int = 4096
    repair: float = 0.45
    prediction: float = 0.5
    """Shares of examples; the rest is completion."""
    shallow_shards: int = 3
    """Shards at first in which more of the predicted programs are shallow."""
    shallow: float = 0.5
    """Share of them that are; of those of later shards it is a twentieth."""
    batch_tokens: int = 4096
    """Padded tokens of a batch."""
    matrix_rate: float = 0.02
    """Learning rate of Muon, for the matrices of the layers."""
    other_rate: float = 0.003
    """Learning rate of AdamW, for embeddings and norms."""
    warmup_steps: int = 100
    decay: float = 0.35
    """Last share of the shards, in which the rates fall linearly to a twentieth."""
    continuations: tuple[Continuation, ...] = ()
    """One after the other, behind the first part."""

    @property
    def all_shards(self) -> int:
        """Parts of the training data with those of the continuations."""
        return self.shards + sum(again.shards for again in self.continuations)

    def mixture(self, number: int) -> tuple[float, float]:
        """Shares of repair and of prediction in a shard."""
        again, _ = self.continuation(number)
        return (self.repair, self.prediction) if again is None else (again.repair, again.prediction)

    def continuation(self, shards: float) -> tuple[Continuation | None, float]:
        """What is under way after so many shards, None for the first part, and the share of it that is done."""
        begun, progress, under_way = self.shards, shards / self.shards, None
        for again in self.continuations:
            if shards < begun:
                break
            under_way, progress = again, (shards - begun) / again.shards
            begun += again.shards
        return under_way, progress


def read_settings(path: Path) -> Settings:
    """Settings from a JSON file.

    Raises:
        msgspec.ValidationError: it is not such an object.
    """
    return msgspec.json.decode(path.read_bytes(), type=Settings)
