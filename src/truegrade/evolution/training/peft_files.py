"""What the trainer of transformers models writes: an adapter in PEFT's format, and how far a training got."""

from __future__ import annotations

import json
import os
from enum import Enum
from pathlib import Path
from typing import Any

from truegrade.datasets.learned import FILE, LearnedFrom, encoded
from truegrade.store.manifest import write_atomically


def write_adapter(folder: Path, adapted: Any, base: str, learned: LearnedFrom) -> int:
    """Write an adapter as PEFT reads it, the same bytes for the same weights; return the number of parameters.

    PEFT's own writer keeps target modules in a set, whose order differs from process to process.

    Args:
        folder: created; its files are replaced.
        adapted: a PeftModel.
        base: name of the model that it is for, by which PEFT loads it: ``ORG/NAME``, or a folder.
        learned: what it was trained on.
    """
    import torch
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: tensor.detach().to("cpu", torch.float32).contiguous()
        for name, tensor in get_peft_model_state_dict(adapted, save_embedding_layers=False).items()
    }
    config = {name: _plain(value) for name, value in adapted.peft_config["default"].to_dict().items()}
    config |= {"base_model_name_or_path": base, "inference_mode": True}
    content = json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False)
    write_atomically(folder / FILE, encoded(learned))
    save_file(weights, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    write_atomically(folder / "adapter_config.json", f"{content}\n".encode())
    return sum(tensor.numel() for tensor in weights.values())


def save_progress(path: Path, progress: dict[str, Any]) -> None:
    """Keep how far a training got, in one step: a kill leaves the last epoch's or this one's."""
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("wb") as file:
        torch.save(progress, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def read_progress(path: Path) -> dict[str, Any] | None:
    """How far the training got; None where it has not begun or its file is damaged, so that it begins anew."""
    import pickle

    import torch

    if not path.is_file():
        return None
    try:
        found: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, OSError, pickle.UnpicklingError):
        return None
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value)
    return value.value if isinstance(value, Enum) else value
