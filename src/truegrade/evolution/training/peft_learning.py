"""The learning itself: epochs of AdamW on an adapter's parameters, as transformers' Trainer has it by default."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from truegrade.errors import UserError
from truegrade.evolution.training.base import TrainingOrder
from truegrade.evolution.training.peft_examples import TokenizedLesson, batches, learning_rate, steps_of
from truegrade.evolution.training.peft_files import read_progress, save_progress
from truegrade.records import sha256_json

BETAS, EPSILON, WEIGHT_DECAY, MOST_NORM = (0.9, 0.999), 1e-8, 0.0, 1.0
"""AdamW's, and the largest norm of a gradient: the defaults of transformers' TrainingArguments."""
_IGNORED = -100
"""Label of a token that is not learned, as torch's cross entropy has it."""
_SEED_CHARS = 15
"""Hexadecimal digits of a seed: below torch's limit of 64 bits."""
OnEpoch = Callable[[int, float], None]
"""Told the epoch, from 0, and its mean loss."""


def learn(
    adapted: Any,
    order: TrainingOrder,
    examples: Sequence[TokenizedLesson],
    rows: int,
    progress: Path | None = None,
    on_epoch: OnEpoch | None = None,
) -> tuple[list[float], float]:
    """Train all epochs, or those that are left.

    Args:
        adapted: a PeftModel in training mode; only what wants gradients is changed.
        order: epochs, learning rate, batch size, seed.
        examples: what is learned.
        rows: how many of them are in memory at once.
        progress: file that keeps how far it got after each epoch; None for none.
        on_epoch: told of every epoch.

    Returns:
        Mean loss per learned token of each epoch, and CPU seconds, those before a kill included.

    Raises:
        UserError: the loss is no number any more.
    """
    import torch

    parameters = [parameter for parameter in adapted.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(parameters, betas=BETAS, eps=EPSILON, weight_decay=WEIGHT_DECAY)
    losses, spent_s = _resume(progress, parameters, optimiser)
    epochs, lengths = order.training.epochs, [len(example.tokens) for example in examples]
    steps = steps_of(len(examples), order.batch_size, epochs)
    for epoch in range(len(losses), epochs):
        began_s = time.process_time()
        torch.manual_seed(int(sha256_json([order.seed, "epoch", epoch])[:_SEED_CHARS], 16))
        total = 0.0
        for number, batch in enumerate(batches(lengths, order.batch_size, order.seed, epoch)):
            step = epoch * (steps // epochs) + number
            optimiser.param_groups[0]["lr"] = learning_rate(step, steps, order.training.learning_rate)
            total += _accumulate(adapted, [examples[place] for place in batch], rows)
            torch.nn.utils.clip_grad_norm_(parameters, MOST_NORM)
            optimiser.step()
            optimiser.zero_grad()
        losses.append(total / sum(example.learned for example in examples))
        spent_s += time.process_time() - began_s
        _check_finite(losses[-1], epoch, order)
        if progress is not None:
            _keep(progress, parameters, optimiser, losses, spent_s)
        if on_epoch is not None:
            on_epoch(epoch, losses[-1])
    return losses, spent_s


def _accumulate(adapted: Any, batch: Sequence[TokenizedLesson], rows: int) -> float:
    """Gradients of the mean loss over the batch's learned tokens; the sum of their losses."""
    learned, total = sum(example.learned for example in batch), 0.0
    for start in range(0, len(batch), rows):
        loss = _loss(adapted, batch[start : start + rows])
        (loss / learned).backward()
        total += float(loss.detach())
    return total


def _loss(adapted: Any, rows: Sequence[TokenizedLesson]) -> Any:
    """Summed cross entropy of the learned tokens; rows are padded on the right."""
    import torch

    device = next(adapted.parameters()).device
    longest = max(len(row.tokens) for row in rows)
    ids = torch.zeros((len(rows), longest), dtype=torch.long)
    labels = torch.full_like(ids, _IGNORED)
    mask = torch.zeros_like(ids)
    for place, row in enumerate(rows):
        size = len(row.tokens)
        ids[place, :size] = torch.tensor(row.tokens)
        mask[place, :size] = 1
        labels[place, row.learned_from : size] = ids[place, row.learned_from : size]
    out = adapted(input_ids=ids.to(device), attention_mask=mask.to(device), use_cache=False)
    return torch.nn.functional.cross_entropy(
        out.logits[:, :-1].flatten(0, 1).float(),
        labels[:, 1:].flatten().to(device),
        ignore_index=_IGNORED,
        reduction="sum",
    )


def _check_finite(loss: float, epoch: int, order: TrainingOrder) -> None:
    if not math.isfinite(loss):
        raise UserError(
            f"training diverged in epoch {epoch + 1}: the loss is {loss};"
            f" lower the learning rate ({order.training.learning_rate}) or alpha ({order.adapter.alpha})"
        )


def _resume(progress: Path | None, parameters: Sequence[Any], optimiser: Any) -> tuple[list[float], float]:
    """Losses of the epochs that are done, and their CPU seconds; puts weights and moments back."""
    import torch

    found = read_progress(progress) if progress is not None else None
    if found is None:
        return [], 0.0
    with torch.no_grad():
        for parameter, kept in zip(parameters, found["weights"], strict=True):
            parameter.copy_(kept)
    optimiser.load_state_dict(found["optimiser"])
    return list(found["losses"]), float(found["cpu_s"])


def _keep(progress: Path, parameters: Sequence[Any], optimiser: Any, losses: list[float], cpu_s: float) -> None:
    weights = [parameter.detach().cpu() for parameter in parameters]
    state = {"weights": weights, "optimiser": optimiser.state_dict(), "losses": losses, "cpu_s": cpu_s}
    save_progress(progress, state)
