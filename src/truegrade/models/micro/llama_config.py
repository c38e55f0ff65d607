"""The shape of a Llama model, out of Hugging Face's ``config.json`` and ``generation_config.json``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from truegrade.errors import BadRecord
from truegrade.files.json_text import read_json

T = TypeVar("T", bound=msgspec.Struct)


class LlamaShape(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of ``config.json`` that decide what the model computes, under their own names."""

    model_type: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int
    """Most tokens of prompt and reply together."""
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10_000.0
    rope_parameters: dict[str, Any] | None = None
    """Where transformers 5 keeps ``rope_theta``."""
    rope_scaling: dict[str, Any] | None = None
    hidden_act: str = "silu"
    attention_bias: bool = False
    mlp_bias: bool = False
    tie_word_embeddings: bool = False

    @property
    def head_width(self) -> int:
        """Channels of one attention head."""
        return self.head_dim or self.hidden_size // self.num_attention_heads

    @property
    def key_heads(self) -> int:
        """Heads of keys and values; several query heads may share one."""
        return self.num_key_value_heads or self.num_attention_heads

    @property
    def theta(self) -> float:
        """Base of the rotary embedding's wavelengths."""
        return float((self.rope_parameters or {}).get("rope_theta", self.rope_theta))


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """What ``generation_config.json`` says where a request says nothing."""

    eos_token_id: int | list[int] | None = None
    do_sample: bool = False
    temperature: float | None = None
    top_p: float | None = None
    max_new_tokens: int | None = None

    @property
    def ends(self) -> frozenset[int]:
        """Tokens that end a reply."""
        if self.eos_token_id is None:
            return frozenset()
        return frozenset([self.eos_token_id] if isinstance(self.eos_token_id, int) else self.eos_token_id)


def read_shape(path: Path) -> LlamaShape:
    """Read a ``config.json``.

    Raises:
        BadRecord: it is damaged, or describes something else than a plain Llama.
    """
    shape = _read(path, LlamaShape)
    rope_type = (shape.rope_parameters or {}).get("rope_type", "default")
    for field, value, only in (
        ("model_type", shape.model_type, "llama"),
        ("hidden_act", shape.hidden_act, "silu"),
        ("attention_bias", shape.attention_bias, False),
        ("mlp_bias", shape.mlp_bias, False),
        ("rope_scaling", shape.rope_scaling, None),
        ("rope_parameters.rope_type", rope_type, "default"),
    ):
        if value != only:
            raise BadRecord(
                path, f"is {value!r}; only {only!r} is computed here, hf/PATH runs the rest", field=field
            )
    if shape.num_attention_heads % shape.key_heads or shape.head_width % 2:
        raise BadRecord(path, "does not fit num_attention_heads", field="num_key_value_heads")
    return shape


def read_defaults(path: Path) -> Defaults:
    """Read a ``generation_config.json``.

    Raises:
        BadRecord: it is damaged.
    """
    return _read(path, Defaults)


def _read(path: Path, kind: type[T]) -> T:
    return read_json(path, kind, "is it the model's own?")
