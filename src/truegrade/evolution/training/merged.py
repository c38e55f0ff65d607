"""Adapters that are built instead of trained: the exact weighted sum of LoRA updates, as one LoRA update.

With factors A_i, B_i, scales s_i = alpha_i / rank_i and weights w_i, the sum of w_i s_i B_i A_i is B A for A the
A_i on top of each other and B the w_i s_i B_i beside each other: rank the sum of ranks, scale 1. A part that does
not adapt a module adds zeros there. `truegrade.evolution.searchers.merging` searches the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from truegrade.datasets.learned import joined, read_learned
from truegrade.errors import BadRecord, UserError
from truegrade.evolution.training.base import Trained, TrainingOrder
from truegrade.evolution.training.folders import write_adapter
from truegrade.models.adapters import CONFIG, WEIGHTS, check_adapter
from truegrade.models.micro.micro_adapters import BASE_SHA256, read_adapter_config
from truegrade.models.micro.safetensors_file import read_metadata, read_tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

_A, _B = ".lora_A.weight", ".lora_B.weight"


class WeightedAdapter(msgspec.Struct, frozen=True, kw_only=True):
    """An adapter with its weight in the sum."""

    folder: Path
    weight: float


def build_merged(parts: Sequence[WeightedAdapter], order: TrainingOrder, folder: Path) -> Trained:
    """Write the sum of the parts as an adapter.

    Args:
        parts: LoRA adapters of one base.
        order: the sum's genes; its rank is the sum of ranks, and its alpha equals it.
        folder: empty or absent.

    Raises:
        UserError: a part is missing, is no LoRA adapter, or the ranks do not add up to the order's.
    """
    updates = [_scaled(part) for part in parts]
    ranks = [read_adapter_config(part.folder / CONFIG).r for part in parts]
    rank = sum(ranks)
    if rank != order.adapter.rank or order.adapter.alpha != rank or order.adapter.kind != "lora":
        raise UserError(
            f"a merge of rank {order.adapter.rank} is asked for, but its parts' ranks add up to {rank}"
        )
    tensors: dict[str, NDArray[Any]] = {}
    for module in sorted({module for update in updates for module in update}):
        tensors |= _stacked(module, updates, ranks)
    learned = joined(read_learned(part.folder) for part in parts)
    write_adapter(folder, order, tensors, _metadata(parts), learned)
    return Trained(folder=folder, parameters=sum(t.size for t in tensors.values()), losses=(), tokens=0, cpu_s=0.0)


_Update = Mapping[str, tuple[Any, Any]]
"""A and the weighted, scaled B, by module."""


def _scaled(part: WeightedAdapter) -> _Update:
    check_adapter(part.folder)
    config = read_adapter_config(part.folder / CONFIG)
    if config.use_dora:
        raise UserError(f"{part.folder} is a DoRA adapter: its update is no sum of others, so it cannot be merged")
    tensors = read_tensors(part.folder / WEIGHTS)
    modules = [name.removesuffix(_A) for name in tensors if name.endswith(_A)]
    if {*(m + _A for m in modules), *(m + _B for m in modules)} != set(tensors):
        raise BadRecord(part.folder / WEIGHTS, "holds other tensors than pairs of lora_A and lora_B")
    scale = config.lora_alpha / (config.r**0.5 if config.use_rslora else config.r)
    return {module: (tensors[module + _A], part.weight * scale * tensors[module + _B]) for module in modules}


def _stacked(module: str, updates: Sequence[_Update], ranks: Sequence[int]) -> dict[str, NDArray[Any]]:
    import numpy as np

    known_a, known_b = next(update[module] for update in updates if module in update)
    ups, downs = [], []
    for update, rank in zip(updates, ranks, strict=True):
        a, b = update.get(module) or (
            np.zeros((rank, known_a.shape[1]), np.float32),
            np.zeros((known_b.shape[0], rank), np.float32),
        )
        downs.append(a)
        ups.append(b)
    return {
        module + _A: np.concatenate(downs, axis=0).astype(np.float32),
        module + _B: np.concatenate(ups, axis=1).astype(np.float32),
    }


def _metadata(parts: Sequence[WeightedAdapter]) -> dict[str, str]:
    """The base that the parts name.

    Raises:
        UserError: they name different ones.
    """
    bases = {read_metadata(part.folder / WEIGHTS).get(BASE_SHA256) for part in parts}
    if len(bases) > 1:
        raise UserError(
            "adapters of different base models cannot be merged: " + ", ".join(str(p.folder) for p in parts)
        )
    base = bases.pop()
    return {} if base is None else {BASE_SHA256: base}
