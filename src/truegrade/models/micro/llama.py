"""The forward pass of a Llama: RMSNorm, rotary positions, grouped attention, SwiGLU; in float32.

Architecture: arXiv 2302.13971 section 2.2; grouped attention arXiv 2305.13245; tensor names and the layout of
heads and rotations: huggingface/transformers@v5.0 ``models/llama/modeling_llama.py``.

What a row computes depends neither on its neighbours nor on its place among them. A prompt is read alone;
afterwards every matrix product of a layer has the same shape however many rows are busy (`ROWS`), and the
attention of each row is a product of its own. Two machines may still differ in the last bits of a sum.

Sequences or tokens that are computed together are the columns of a product, so that each lies in a vector
register's lane and sums in the same order; as rows, OpenBLAS sums the last ones of a block in another order than
the first ones.
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
    _Attend = Callable[[int, Floats, Floats, Floats], Floats]
    """From a layer's number, queries, keys and values, as `Llama._turned`, to (tokens, heads * channels)."""

ROWS = 16
"""Sequences that advance together; unused rows are computed and thrown away."""
CHUNK = 64
"""Weights of the attention that are summed together; the sums are then added in order, however many follow."""


class LlamaLayer(msgspec.Struct, frozen=True):
    """Weights of one block; linear layers are (outputs, inputs), as stored."""

    attention_norm: Floats
    qkv: Floats
    output: Floats
    mlp_norm: Floats
    gate_up: Floats
    down: Floats


class Cache:
    """Keys and values of `ROWS` sequences.

    Memory is taken from the system as positions are first written.
    """

    def __init__(self, shape: LlamaShape) -> None:
        import numpy as np

        positions = shape.max_position_embeddings
        extents = (shape.num_hidden_layers, ROWS, shape.key_heads, positions, shape.head_width)
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
        return self._head @ self._normed(self._read(tokens, cache, row)[:, -1:], self._norm)[:, 0]

    def logits(self, tokens: Sequence[int], cache: Cache, row: int) -> Floats:
        """As `read`, after every token of the prompt: (tokens, vocabulary)."""
        return (self._head @ self._normed(self._read(tokens, cache, row), self._norm)).T

    def _read(self, tokens: Sequence[int], cache: Cache, row: int) -> Floats:
        """What the last block makes of every token of a prompt, which enters the cache: (width, tokens)."""
        import numpy as np

        count = len(tokens)
        later = np.triu(np.full((count, count), -np.inf, np.float32), 1)

        def attend(index: int, q: Floats, k: Floats, v: Floats) -> Floats:
            cache.keys[index, row, :, :count] = k.swapaxes(0, 1)
            cache.values[index, row, :, :count] = v.swapaxes(0, 1)
            scores = q.transpose(1, 2, 0, 3) @ k.transpose(1, 2, 0)[:, None]
            scores += later
            scores -= scores.max(axis=-1, keepdims=True)
            weights = np.exp(scores, out=scores)
            weights /= weights.sum(axis=-1, keepdims=True)
            attended: Floats = weights @ v.swapaxes(0, 1)[:, None]
            return attended.transpose(2, 0, 1, 3).reshape(count, -1)

        return self._blocks(np.array(tokens), np.arange(count), attend)

    def step(self, tokens: NDArray[np.int64], positions: NDArray[np.int64], cache: Cache) -> Floats:
        """Advance all `ROWS` rows by one token each: (rows, vocabulary).

        Args:
            tokens: the token of each row; anything in a row that is not busy.
            positions: its place; 0 in a row that is not busy.
            cache: everything before that place; the token is added.
        """
        import numpy as np

        rows, groups, width = np.arange(ROWS), self.shape.key_heads, self.shape.head_width
        busy = [(row, place + 1) for row, place in enumerate(positions.tolist()) if place]
        padded = (int(positions.max()) // CHUNK + 1) * CHUNK
        scores = np.full((ROWS, groups, self.shape.num_attention_heads // groups, padded), -np.inf, np.float32)
        scores[..., 0] = 0  # of rows that are not busy; those of the others are written anew in each layer
        attended = np.zeros((*scores.shape[:-1], width), np.float32)

        def attend(index: int, q: Floats, k: Floats, v: Floats) -> Floats:
            keys, values = cache.keys[index], cache.values[index]
            keys[rows, :, positions] = k
            values[rows, :, positions] = v
            for row, end in busy:
                np.matmul(q[row], keys[row, :, :end].swapaxes(-1, -2), out=scores[row, ..., :end])
            weights = scores - scores.max(axis=-1, keepdims=True)
            np.exp(weights, out=weights)
            for row, end in busy:
                np.matmul(weights[row, ..., :end], values[row, :, :end], out=attended[row])
            sums = weights.reshape(*scores.shape[:-1], -1, CHUNK).sum(axis=-1)
            totals: Floats = np.add.accumulate(sums, axis=-1)[..., -1:]
            return (attended / totals).reshape(ROWS, -1)

        x = self._blocks(tokens, positions, attend)
        return np.ascontiguousarray((self._head @ self._normed(x, self._norm)).T)

    def _blocks(self, tokens: NDArray[np.int64], positions: NDArray[np.int64], attend: _Attend) -> Floats:
        """What the last block makes of tokens at their positions: (width, tokens)."""
        import numpy as np

        cosines, sines = self._cosines[positions].T, self._sines[positions].T
        x = np.ascontiguousarray(self._embedding[tokens].T)
        for index, layer in enumerate(self._layers):
            qkv = layer.qkv @ self._normed(x, layer.attention_norm)
            x += layer.output @ attend(index, *self._turned(qkv, cosines, sines)).T
            gate_up = layer.gate_up @ self._normed(x, layer.mlp_norm)
            gate, up = np.split(gate_up, 2)
            denominators = np.negative(gate)
            with np.errstate(over="ignore"):  # exp overflows to infinity, and the quotient is then rightly 0
                np.exp(denominators, out=denominators)
            denominators += 1
            gate /= denominators
            gate *= up
            x += layer.down @ gate
        return x

    def _turned(self, qkv: Floats, cosines: Floats, sines: Floats) -> tuple[Floats, Floats, Floats]:
        """Queries, keys and values, queries and keys turned by their position.

        Returns:
            Queries as (tokens, groups, heads of a group, channels), divided by the root of their channels; keys
            and values as (tokens, groups, channels).
        """
        import numpy as np

        heads, groups, width = self.shape.num_attention_heads, self.shape.key_heads, self.shape.head_width
        both, half = heads + groups, width // 2
        qkv = qkv.reshape(both + groups, width, -1)
        first, second = qkv[:both, :half], qkv[:both, half:]
        written = np.empty((qkv.shape[-1], both + groups, width), np.float32)
        turned = written.transpose(1, 2, 0)
        np.subtract(first * cosines, second * sines, out=turned[:both, :half])
        np.add(second * cosines, first * sines, out=turned[:both, half:])
        turned[both:] = qkv[both:]
        queries = written[:, :heads] * np.float32(width**-0.5)
        return queries.reshape(-1, groups, heads // groups, width), written[:, heads:both], written[:, both:]

    def _normed(self, x: Floats, weight: Floats) -> Floats:
        """RMSNorm of each column."""
        import numpy as np

        roots = np.square(x).sum(axis=0) / len(x)
        roots += self.shape.rms_norm_eps
        np.sqrt(roots, out=roots)
        scaled: Floats = x / roots
        scaled *= weight[:, None]
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


def _rotations(shape: LlamaShape) -> tuple[Floats, Floats]:
    """Cosines and sines of every position: (positions, half the channels of a head)."""
    import numpy as np

    exponents = np.arange(0, shape.head_width, 2) / shape.head_width
    angles = np.outer(np.arange(shape.max_position_embeddings), shape.theta**-exponents)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


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
