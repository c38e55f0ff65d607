"""Epochs over examples: in which order, with which dropout, at which rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from truegrade.models.micro.finetuning.linear import Dropout
from truegrade.models.micro.finetuning.network import Batch, Network, TrainingExample
from truegrade.models.micro.finetuning.optimiser import AdamW, learning_rate
from truegrade.models.micro.finetuning.updates import FreshAdapter, stream


class Fitting(msgspec.Struct, frozen=True, kw_only=True):
    """How an adapter is fitted."""

    learning_rate: float
    """Highest of all steps."""
    epochs: int
    batch_size: int
    """Examples a step."""
    dropout: float
    """Share of an update's input."""
    seed: int


def fit(
    network: Network,
    adapter: FreshAdapter,
    examples: Sequence[TrainingExample],
    fitting: Fitting,
    on_epoch: Callable[[int, float], None] | None = None,
) -> tuple[float, ...]:
    """Train an adapter in place.

    Args:
        network: the model with that adapter.
        adapter: as it begins.
        examples: at least one; each epoch takes them in another order.
        fitting: the rest.
        on_epoch: told the number of each epoch that ended, from 0, and its loss.

    Returns:
        The mean loss per learned token, of each epoch.
    """
    order, dropped = stream(fitting.seed, "order"), stream(fitting.seed, "dropout")
    dropout, optimiser = Dropout(fitting.dropout, dropped), AdamW(adapter.values.size)
    steps_an_epoch = -(-len(examples) // fitting.batch_size)
    losses = []
    for epoch in range(fitting.epochs):
        shuffled = [examples[place] for place in order.permutation(len(examples))]
        total = learned = 0.0
        for number in range(steps_an_epoch):
            batch = Batch(shuffled[number * fitting.batch_size : (number + 1) * fitting.batch_size])
            total += network.step(batch, dropout) * len(batch.targets)
            learned += len(batch.targets)
            step = epoch * steps_an_epoch + number
            rate = learning_rate(step, fitting.epochs * steps_an_epoch, fitting.learning_rate)
            optimiser.step(adapter.values, adapter.gradient, rate)
        losses.append(total / learned)
        if on_epoch is not None:
            on_epoch(epoch, losses[-1])
    return tuple(losses)
