"""The forward pass of a Llama: RMSNorm, rotary positions, grouped attention, SwiGLU; in float32.

Architecture: arXiv 2302.13971 section 2.2; grouped attention arXiv 2305.13245; tensor names and the layout of
heads and rotations: huggingface/transformers@v5.0 ``models/llama/modeling_llama.py``.

What a row computes depends neither on its neighbours nor on its place among them. A prompt is read alone;
afterwards every matrix product has the same shape however many rows are busy (`ROWS`), and attention works on
chunks of `CHUNK` positions whose results are added in order, so that longer neighbours only add zeros. Two
machines may still differ in the last bits of a sum.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from truegrade.errors import BadRecord
from truegrade.files.json_text import read_json
from truegrade.models.micro.micro_adapters import merge_adapter, read_tensors

# ----------- The shape of a Llama model, out of Hugging Face's ``config.json`` and ``generation_config.json``.


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


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

ROWS = 16
"""Sequences that advance together; unused rows are computed and thrown away."""
CHUNK = 64
"""Positions of the cache that one product of the attention covers."""


class LlamaLayer(msgspec.Struct, frozen=True):
    """Weights of one block; linear layers are (outputs, inputs), as stored."""

    attention_norm: Floats
    qkv: Floats
    output: Floats
    mlp_norm: Floats
    gate_up: Floats
    down: Floats


class Cache:
    """Keys and values of `ROWS` sequences, in chunks of `CHUNK` positions.

    Memory is taken from the system as positions are first written.
    """

    def __init__(self, shape: LlamaShape) -> None:
        import numpy as np

        chunks = -(-shape.max_position_embeddings // CHUNK)
        extents = (shape.num_hidden_layers, ROWS, shape.key_heads, chunks, CHUNK, shape.head_width)
        self.keys: Floats = np.zeros(extents, np.float32)
        self.values: Floats = np.zeros(extents, np.float32)


class Llama:
    """A model, ready to run; it holds no state between calls, so threads may share it.

    Args:
        shape: the fields of its ``config.json``.
        tensors: its weights under Hugging Face's names.
        source: the weights' file, for messages.

    Raises:
        BadRecord: a tensor is missing or has another shape than ``config.json`` says.
    """

    def __init__(self, shape: LlamaShape, tensors: dict[str, Floats], source: Path) -> None:
        import numpy as np

        self.shape = shape
        take = _Taker(tensors, source)
        width, heads, keys = shape.hidden_size, shape.num_attention_heads, shape.key_heads
        q, kv, inner = heads * shape.head_width, keys * shape.head_width, shape.intermediate_size
        self._embedding = take("model.embed_tokens.weight", shape.vocab_size, width)
        self._norm = take("model.norm.weight", width)
        head = "model.embed_tokens.weight" if shape.tie_word_embeddings else "lm_head.weight"
        self._head = take(head, shape.vocab_size, width)
        self._layers = []
        for index in range(shape.num_hidden_layers):
            at = f"model.layers.{index}."
            attention, mlp = f"{at}self_attn.", f"{at}mlp."
            self._layers.append(
                LlamaLayer(
                    take(f"{at}input_layernorm.weight", width),
                    np.concatenate(
                        [
                            take(f"{attention}q_proj.weight", q, width),
                            take(f"{attention}k_proj.weight", kv, width),
                            take(f"{attention}v_proj.weight", kv, width),
                        ]
                    ),
                    take(f"{attention}o_proj.weight", width, q),
                    take(f"{at}post_attention_layernorm.weight", width),
                    np.concatenate(
                        [
                            take(f"{mlp}gate_proj.weight", inner, width),
                            take(f"{mlp}up_proj.weight", inner, width),
                        ]
                    ),
                    take(f"{mlp}down_proj.weight", width, inner),
                )
            )
        self._cosines, self._sines = _rotations(shape)

    @classmethod
    def open(cls, folder: Path, adapter: Path | None = None) -> Llama:
        """Load ``config.json`` and ``model.safetensors`` of a folder, and merge an adapter.

        Raises:
            BadRecord: a file is missing, damaged or of another architecture.
            UserError: there is no such adapter.
        """
        path = folder / "model.safetensors"
        tensors = read_tensors(path)
        if adapter is not None:
            tensors = merge_adapter(adapter, tensors, path)
        return cls(read_shape(folder / "config.json"), tensors, path)

    def read(self, tokens: Sequence[int], cache: Cache, row: int) -> Floats:
        """Put a prompt into a row of the cache; the logits of the token that comes next."""
        return self._head @ self._normed(self._read(tokens, cache, row)[-1], self._norm)

    def logits(self, tokens: Sequence[int], cache: Cache, row: int) -> Floats:
        """As `read`, after every token of the prompt: (tokens, vocabulary)."""
        return _linear(self._normed(self._read(tokens, cache, row), self._norm), self._head)

    def _read(self, tokens: Sequence[int], cache: Cache, row: int) -> Floats:
        """What the last block makes of every token of a prompt, which enters the cache."""
        import numpy as np

        positions = np.arange(len(tokens))
        chunks, places = positions // CHUNK, positions % CHUNK
        hidden_from = positions[None, :] > positions[:, None]
        x = self._embedding[list(tokens)]
        for index, layer in enumerate(self._layers):
            q, k, v = self._project(layer, x, positions)
            cache.keys[index, row, :, chunks, places] = k
            cache.values[index, row, :, chunks, places] = v
            x = x + _linear(self._attend_prompt(q, k, v, hidden_from), layer.output)
            x = x + self._mlp(layer, x)
        return x

    def step(self, tokens: NDArray[np.int64], positions: NDArray[np.int64], cache: Cache) -> Floats:
        """Advance all `ROWS` rows by one token each: (rows, vocabulary).

        Args:
            tokens: the token of each row; anything in a row that is not busy.
            positions: its place; 0 in a row that is not busy.
            cache: everything before that place; the token is added.
        """
        import numpy as np

        rows = np.arange(ROWS)
        chunks = int(positions.max()) // CHUNK + 1
        hidden = (np.arange(chunks * CHUNK) > positions[:, None]).reshape(ROWS, 1, chunks, 1, CHUNK)
        x = self._embedding[tokens]
        for index, layer in enumerate(self._layers):
            q, k, v = self._project(layer, x, positions)
            keys, values = cache.keys[index], cache.values[index]
            keys[rows, :, positions // CHUNK, positions % CHUNK] = k
            values[rows, :, positions // CHUNK, positions % CHUNK] = v
            attended = self._attend_cache(q, keys[:, :, :chunks], values[:, :, :chunks], hidden)
            x = x + _linear(attended, layer.output)
            x = x + self._mlp(layer, x)
        return _linear(self._normed(x, self._norm), self._head)

    def _project(
        self, layer: LlamaLayer, x: Floats, positions: NDArray[np.int64]
    ) -> tuple[Floats, Floats, Floats]:
        """Queries, keys and values as (tokens, heads, channels); queries and keys turned by their position."""
        import numpy as np

        heads, keys, width = self.shape.num_attention_heads, self.shape.key_heads, self.shape.head_width
        qkv = _linear(self._normed(x, layer.attention_norm), layer.qkv).reshape(len(x), heads + 2 * keys, width)
        turned, half = qkv[:, : heads + keys], width // 2
        across = np.concatenate((-turned[..., half:], turned[..., :half]), axis=-1)
        turned = turned * self._cosines[positions, None] + across * self._sines[positions, None]
        return turned[:, :heads], turned[:, heads:], qkv[:, heads + keys :]

    def _attend_prompt(self, q: Floats, k: Floats, v: Floats, hidden_from: NDArray[np.bool_]) -> Floats:
        """Causal attention of a prompt with itself: (tokens, heads * channels)."""
        import numpy as np

        tokens, groups, width = len(q), self.shape.key_heads, self.shape.head_width
        queries = q.reshape(tokens, groups, -1, width).transpose(1, 2, 0, 3)
        scores = queries @ k.transpose(1, 2, 0)[:, None] * np.float32(width**-0.5)
        scores[..., hidden_from] = -np.inf
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        attended = weights @ v.transpose(1, 0, 2)[:, None]
        return np.ascontiguousarray(attended.transpose(2, 0, 1, 3)).reshape(tokens, -1)

    def _attend_cache(self, q: Floats, keys: Floats, values: Floats, hidden: NDArray[np.bool_]) -> Floats:
        """Attention of one new token a row with its own past: (rows, heads * channels)."""
        import numpy as np

        groups, width = self.shape.key_heads, self.shape.head_width
        queries = q.reshape(ROWS, groups, 1, -1, width)
        scores = queries @ keys.swapaxes(-1, -2) * np.float32(width**-0.5)
        scores = np.where(hidden, np.float32(-np.inf), scores)
        weights = np.exp(scores - scores.max(axis=(2, 4), keepdims=True))
        total = weights.sum(axis=-1, keepdims=True).sum(axis=2)
        attended: Floats = (weights @ values).sum(axis=2) / total
        return attended.reshape(ROWS, -1)

    def _mlp(self, layer: LlamaLayer, x: Floats) -> Floats:
        import numpy as np

        gate_up = _linear(self._normed(x, layer.mlp_norm), layer.gate_up)
        gate, up = gate_up[:, : self.shape.intermediate_size], gate_up[:, self.shape.intermediate_size :]
        with np.errstate(over="ignore"):  # exp(-gate) overflows to infinity, and the quotient is then rightly 0
            return _linear(gate / (1 + np.exp(-gate)) * up, layer.down)

    def _normed(self, x: Floats, weight: Floats) -> Floats:
        import numpy as np

        scaled: Floats = x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + self.shape.rms_norm_eps) * weight
        return scaled


class _Taker:
    """Hands out tensors by name, checked."""

    def __init__(self, tensors: dict[str, Floats], source: Path) -> None:
        self._tensors, self._source = tensors, source

    def __call__(self, name: str, *extents: int) -> Floats:
        tensor = self._tensors.get(name)
        if tensor is None:
            raise BadRecord(self._source, "is missing: these are not all weights of a Llama", field=name)
        if tensor.shape != extents:
            raise BadRecord(self._source, f"has shape {tensor.shape}, but config.json says {extents}", field=name)
        return tensor


def _linear(x: Floats, weight: Floats) -> Floats:
    """A linear layer: (rows, inputs) and (outputs, inputs) to (rows, outputs).

    With the rows as the product's columns, every row lies in a vector register's lane and sums in the same order;
    the other way round, OpenBLAS sums the last rows of a block in another order than the first ones.
    """
    import numpy as np

    return np.ascontiguousarray((weight @ x.T).T)


def _rotations(shape: LlamaShape) -> tuple[Floats, Floats]:
    """Cosines and sines of every position: (positions, channels of a head)."""
    import numpy as np

    exponents = np.arange(0, shape.head_width, 2) / shape.head_width
    angles = np.outer(np.arange(shape.max_position_embeddings), shape.theta**-exponents)
    both = np.concatenate((angles, angles), axis=-1)
    return np.cos(both).astype(np.float32), np.sin(both).astype(np.float32)


# ---------------------------------------------------------- Keep numpy's linear algebra on the calling thread.
# The products here are so small that a library's own threads cost more than they bring, and on a machine that
# does something else too they wait for each other: 13 tokens/s against 305 with one thread were measured at a
# load of 10 on two cores. OpenBLAS and MKL can be told at run time; where neither is found (Accelerate), nothing
# is changed.


_CONTROLS = (
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
)
"""How to ask and tell each library, numpy's own wheels first."""

_CONFIGURATIONS = ("scipy_openblas_get_config64_", "scipy_openblas_get_config", "openblas_get_config")


def use_one_thread() -> Callable[[], None]:
    """From now on products run on the thread that asks for them, in the whole process.

    Returns:
        What restores the number of threads there was.
    """
    control = _find()
    if control is None:
        return lambda: None
    ask, tell = control
    before = ask()
    tell(1)
    return lambda: tell(before)


def library() -> str:
    """What numpy is linked with: version and, as OpenBLAS says it, the processor that its sums are ordered for.

    Two machines of which this differs may differ in the last bits of a product.
    """
    import numpy as np

    linked = _linked()
    for name in _CONFIGURATIONS:
        if hasattr(linked, name):
            describe = getattr(linked, name)
            describe.restype = ctypes.c_char_p
            return str(describe().decode())
    built = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{built.get('name', 'unknown')} {built.get('version', 'unknown')}"


def _find() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """The two functions of the library that numpy is linked with."""
    linked = _linked()
    for ask, tell in _CONTROLS:
        if hasattr(linked, ask) and hasattr(linked, tell):
            return getattr(linked, ask), getattr(linked, tell)
    return None


def _linked() -> ctypes.CDLL:
    """What numpy is linked with: symbols of what a library depends on are found through it."""
    from importlib import import_module

    return ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
