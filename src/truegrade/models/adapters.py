"""Which folder holds an adapter, and what identifies it: the same for every engine that takes one.

An adapter is two files, as PEFT writes them, or for llama.cpp one GGUF file. Its hash enters the name of the
model, so that a run with another adapter is another run, whatever its path.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truegrade.errors import UserError
from truegrade.records import sha256_json

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
"""The two files of an adapter."""

GGUF_SUFFIX = ".gguf"

ARGUMENT = "adapter"
"""The model argument (``-M``) that names the folder, and the option of the same name."""

_SHOWN = 16
"""Characters of its hash in the name of an adapted model."""


def check_adapter(folder: Path) -> None:
    """See that both files are there.

    Raises:
        UserError: one is missing.
    """
    for name in (CONFIG, WEIGHTS):
        if not (folder / name).is_file():
            raise UserError(f"`model_args` adapter={folder}: no {name} there; name a folder that PEFT has written")


def adapter_sha256(folder: Path) -> str:
    """Hash of both files, or of the one where it is a GGUF file.

    Raises:
        UserError: one is missing.
    """
    if folder.suffix == GGUF_SUFFIX and folder.is_file():
        return hashlib.sha256(folder.read_bytes()).hexdigest()
    check_adapter(folder)
    return sha256_json(
        {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (CONFIG, WEIGHTS)}
    )


def adapted_name(name: str, folder: Path | None) -> str:
    """What a model is called with an adapter: ``NAME+HASH``; with none, its own name.

    Raises:
        UserError: a file of the adapter is missing.
    """
    return name if folder is None else f"{name}+{adapter_sha256(folder)[:_SHOWN]}"


def recorded_arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """Model arguments as a run keeps them: an adapter by its hash, because its path decides nothing.

    Raises:
        UserError: a file of the adapter is missing.
    """
    kept = dict(args)
    if kept.get(ARGUMENT) is not None:
        kept[ARGUMENT] = f"sha256:{adapter_sha256(Path(kept[ARGUMENT]))}"
    return kept
