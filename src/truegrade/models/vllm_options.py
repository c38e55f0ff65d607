"""Model arguments (``-M key=value``) of the vLLM back end, and what an adapter must be for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from truegrade.errors import UserError
from truegrade.files.json_text import read_json
from truegrade.models.adapters import CONFIG, check_adapter
from truegrade.models.model_args import read_arguments

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Values that ``max_lora_rank`` may have (vllm/config/lora.py, `MaxLoRARanks`, at v0.26.0)."""

_Count = Annotated[int, msgspec.Meta(ge=1)]


class VllmOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every argument, each with its meaning; those but ``adapter`` and ``batch_size`` are vLLM's own."""

    dtype: Literal["auto", "float32", "float16", "bfloat16"] = "auto"
    """Kind of number to compute with; ``auto`` is what vLLM chooses for the weights."""
    tensor_parallel_size: _Count = 1
    """GPUs that the weights are spread over."""
    gpu_memory_utilization: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """Share of a GPU's memory that vLLM may take; None for its default."""
    max_model_len: _Count | None = None
    """Tokens of prompt and reply together; None for what the model's configuration says."""
    enforce_eager: bool = False
    """Skip compilation: it starts in seconds instead of minutes and runs slower."""
    adapter: str | None = None
    """Folder of a LoRA adapter, as PEFT writes it."""
    revision: str | None = None
    """Branch, tag or commit on the Hub."""
    trust_remote_code: bool = False
    """Whether Python code that comes with the weights may run here, outside the sandbox."""
    batch_size: _Count = 256
    """Requests handed to vLLM at once; it decides itself how many of them run together."""


class _AdapterConfig(msgspec.Struct):
    r: Annotated[int, msgspec.Meta(ge=1)]
    use_dora: bool = False
    modules_to_save: Any = None


def read_options(args: Mapping[str, Any]) -> VllmOptions:
    """The arguments of a vLLM model; raises as `read_arguments` does."""
    return read_arguments(args, VllmOptions, "vLLM")


def adapter_rank(folder: Path) -> int:
    """The smallest ``max_lora_rank`` that an adapter fits.

    vLLM refuses DoRA and whole saved modules (vllm/lora/peft_helper.py), and only at the first request: here they
    are refused before the weights are loaded.

    Raises:
        UserError: a file is missing, or vLLM cannot run the adapter.
        BadRecord: its configuration is none.
    """
    check_adapter(folder)
    config = read_json(folder / CONFIG, _AdapterConfig, "is it the configuration of an adapter?")
    if config.use_dora or config.modules_to_save:
        kind = "DoRA" if config.use_dora else "modules_to_save"
        raise UserError(f"`model_args` adapter={folder}: vLLM does not run {kind}; hf/NAME does")
    if config.r > RANKS[-1]:
        raise UserError(
            f"`model_args` adapter={folder}: rank {config.r} is more than vLLM's {RANKS[-1]}; hf/NAME runs it"
        )
    return next(rank for rank in RANKS if rank >= config.r)
