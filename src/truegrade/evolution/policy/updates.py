"""GRPO on an adapter: the advantage of a sample in its group, and the clipped objective of its tokens.

GRPO: arXiv 2402.03300 equations 3 and 4 (outcome supervision, no KL term). The loss is averaged over the tokens of
a batch, every sample counted, as in arXiv 2503.14476 section 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from truegrade.models.micro.finetuning.linear import Dropout
from truegrade.models.micro.finetuning.network import Batch, Network, TrainingExample
from truegrade.models.micro.finetuning.optimiser import AdamW
from truegrade.models.micro.finetuning.updates import FreshAdapter, stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

SPREAD_FLOOR = 1e-6


class Weighted(msgspec.Struct, frozen=True, kw_only=True):
    """A reply to learn from: equal samples of a prompt are one, with their advantages summed."""

    example: TrainingExample
    logps: tuple[float, ...]
    """Of its learned tokens under the policy that drew it."""
    up: float
    """Sum of the positive advantages of its samples."""
    down: float
    """Sum of the negative ones; not positive. The two are clipped on different sides."""
    samples: int


class Stepping(msgspec.Struct, frozen=True, kw_only=True):
    """How an update is made."""

    learning_rate: float
    batches: int
    """Steps of the optimiser in a pass."""
    passes: int
    clip: float
    """The ratio of new to old probability counts from 1 - clip to 1 + clip."""


def advantages(rewards: Sequence[float]) -> list[float]:
    """Rewards of a group, less their mean, over their standard deviation; all 0 where they are equal."""
    mean = sum(rewards) / len(rewards)
    spread = (sum((each - mean) ** 2 for each in rewards) / len(rewards)) ** 0.5
    return [0.0 if spread < SPREAD_FLOOR else (each - mean) / spread for each in rewards]


def clipped(
    up: Array, down: Array, old: Array, tokens: float, clip: float
) -> Callable[[Array], tuple[float, Array]]:
    """The objective -min(ratio A, clipped ratio A) of a batch's tokens, summed and divided by ``tokens``.

    Args:
        up: positive advantage of each token.
        down: negative one.
        old: log-probability of each under the policy that drew it.
        tokens: of all samples of the batch.
        clip: see `Stepping`.
    """
    import numpy as np

    def objective(chosen: Array) -> tuple[float, Array]:
        ratio = np.exp(np.clip(chosen - old, -20, 20))
        gain = np.minimum(ratio, 1 + clip) * up + np.maximum(ratio, 1 - clip) * down
        slope = ratio * (np.where(ratio < 1 + clip, up, 0) + np.where(ratio > 1 - clip, down, 0))
        return -float(gain.sum() / tokens), (-slope / tokens).astype(chosen.dtype)

    return objective


def update(
    network: Network,
    adapter: FreshAdapter,
    optimiser: AdamW,
    replies: Sequence[Weighted],
    stepping: Stepping,
    seed: Sequence[int],
) -> None:
    """Change an adapter in place by the replies of a round; those without advantage teach nothing.

    Args:
        network: the start with the adapter.
        adapter: what is trained.
        optimiser: its memory goes on from round to round.
        replies: of the round.
        stepping: how.
        seed: of the order.
    """
    import numpy as np

    telling = [reply for reply in replies if reply.up or reply.down]
    if not telling:
        return
    rng, dropout = stream(seed[0], "order", *seed[1:]), Dropout(0.0, stream(seed[0], "none"))
    for _ in range(stepping.passes):
        for part in np.array_split(rng.permutation(len(telling)), min(stepping.batches, len(telling))):
            batch = [telling[place] for place in part]
            lengths = [len(reply.logps) for reply in batch]
            objective = clipped(
                np.repeat([reply.up for reply in batch], lengths),
                np.repeat([reply.down for reply in batch], lengths),
                np.concatenate([reply.logps for reply in batch]),
                float(sum(reply.samples * length for reply, length in zip(batch, lengths, strict=True))),
                stepping.clip,
            )
            network.step(Batch([reply.example for reply in batch]), dropout, objective)
            optimiser.step(adapter.values, adapter.gradient, stepping.learning_rate)
