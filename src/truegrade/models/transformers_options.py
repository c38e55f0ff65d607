"""Model arguments (``-M key=value``) of the transformers back end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from truegrade.models.model_args import read_arguments


class TransformersOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every argument, each with its meaning."""

    device: str = "auto"
    """``cpu``, ``cuda``, ``cuda:1``, ``mps``; ``auto`` takes CUDA where there is some; ``map`` spreads the weights
    over what there is (accelerate's ``device_map="auto"``)."""
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = "auto"
    """Kind of number to compute with; ``auto`` is what the weights are stored as."""
    batch_size: Annotated[int, msgspec.Meta(ge=1)] = 8
    """Requests that are answered together; 1 makes a sample independent of others to the last bit."""
    adapter: str | None = None
    """Folder of a LoRA or DoRA adapter, as PEFT writes it; it is merged into the weights."""
    revision: str | None = None
    """Branch, tag or commit on the Hub."""
    trust_remote_code: bool = False
    """Whether Python code that comes with the weights may run here, outside the sandbox."""


def read_options(args: Mapping[str, Any]) -> TransformersOptions:
    """The arguments of a transformers model; raises as `read_arguments` does."""
    return read_arguments(args, TransformersOptions, "transformers")
