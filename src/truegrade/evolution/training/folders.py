"""An adapter's folder, written so that it is there whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from truegrade.datasets.learned import FILE, LearnedFrom, encoded
from truegrade.errors import UserError
from truegrade.evolution.training.base import TrainingOrder
from truegrade.evolution.training.cache_entry import sync
from truegrade.models.adapters import CONFIG, WEIGHTS
from truegrade.models.micro.micro_adapters import encode_tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray


def write_adapter(
    folder: Path,
    order: TrainingOrder,
    tensors: Mapping[str, NDArray[Any]],
    metadata: Mapping[str, str],
    learned: LearnedFrom,
) -> None:
    """Write an adapter as PEFT does, beside its place, and rename it there.

    Args:
        folder: empty or absent.
        order: what the adapter was trained to.
        tensors: its weights under PEFT's names; stored as float32.
        metadata: texts stored beside them.
        learned: what it was trained on.

    Raises:
        UserError: the folder holds something, or cannot be written.
    """
    files = {
        CONFIG: msgspec.json.format(msgspec.json.encode(peft_config(order)), indent=2),
        WEIGHTS: encode_tensors(tensors, metadata),
        FILE: encoded(learned),
    }
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            partial.chmod(0o755)  # mkdtemp's own is for one user only
            for name, content in files.items():
                (partial / name).write_bytes(content)
                sync(partial / name)
            sync(partial)
            partial.rename(folder)  # over an empty folder too, never over a full one
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        sync(folder.parent)
    except OSError as error:
        raise UserError(f"adapter folder {folder}: {error.strerror}; name one that is empty or absent") from error


def peft_config(order: TrainingOrder) -> dict[str, Any]:
    """``adapter_config.json`` (huggingface/peft@v0.21.2 ``tuners/lora/config.py``)."""
    genes = order.adapter
    return {
        "base_model_name_or_path": None,  # PEFT would look for any other name on the Hub
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
        "init_lora_weights": True,
        "lora_alpha": int(genes.alpha) if genes.alpha == int(genes.alpha) else genes.alpha,
        "lora_dropout": genes.dropout,
        "peft_type": "LORA",
        "r": genes.rank,
        "target_modules": sorted(set(genes.modules)),
        "task_type": "CAUSAL_LM",
        "use_dora": genes.kind == "dora",
        "use_rslora": False,
    }
