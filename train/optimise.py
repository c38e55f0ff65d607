"""Optimisers and their schedule: Muon for the matrices of the layers, AdamW for embeddings and norms."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from train.model import Micro
from train.settings import Settings


def optimisers(model: Micro, settings: Settings) -> Sequence[torch.optim.Optimizer]:
    """Both optimisers, at their full rates."""
    matrices = [weight for weight in model.model.layers.parameters() if weight.dim() == 2]
    chosen = {id(weight) for weight in matrices}
    others = [weight for weight in model.parameters() if id(weight) not in chosen]
    return (
        torch.optim.Muon(matrices, lr=settings.matrix_rate, weight_decay=0.01, momentum=0.95, ns_steps=5),
        torch.optim.AdamW(others, lr=settings.other_rate, betas=(0.9, 0.95), weight_decay=0.0),
    )


def rate(step: int, shards: float, settings: Settings) -> float:
    """Share of the full learning rates: a rise, a plateau and a fall to a twentieth; again in each continuation.

    Args:
        step: optimiser steps taken.
        shards: shards done, with the fraction of the one under way.
        settings: with the lengths of rise and fall.
    """
    again, progress = settings.continuation(shards)
    if again is None:
        rise = min(1.0, (step + 1) / settings.warmup_steps)
        return rise * _fall(progress, settings.decay)
    return again.peak * max(0.05, min(1.0, progress / again.rise)) * _fall(progress, again.decay)


def _fall(progress: float, decay: float) -> float:
    return max(0.05, min(1.0, (1.0 - progress) / decay))


def set_rates(chosen: Sequence[torch.optim.Optimizer], share: float, settings: Settings) -> None:
    """Set the learning rates of both optimisers."""
    for optimiser, full in zip(chosen, (settings.matrix_rate, settings.other_rate), strict=True):
        for group in optimiser.param_groups:
            group["lr"] = share * full
