"""LoRA and DoRA adapters in PEFT's files, merged into a Llama's weights.

    LoRA  W + s B A                              s = alpha / r, with rank-stabilised scaling alpha / sqrt(r)
    DoRA  m (W + s B A) / |W + s B A|            row by row

arXiv 2106.09685; arXiv 2402.09353 equation 5; arXiv 2312.03732 (the root). Files, names and patterns:
huggingface/peft@v0.21.2 ``tuners/lora/config.py``, ``tuners/tuners_utils.py``, ``utils/other.py``.
What is not computed here is refused by name: an adapter is merged as it was trained or not at all.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from truegrade.errors import BadRecord
from truegrade.files.json_text import UNREADABLE, convert, decode, read_json
from truegrade.models.local import CONFIG, WEIGHTS, check_adapter

# ------------------------------------------------- Tensors out of a safetensors file and into one, as float32.
# Format (huggingface/safetensors@v0.8.0, README): eight bytes of little-endian header length, a JSON header that
# gives every tensor's dtype, shape and byte range, then the bytes.


_ITEM_BYTES = {"F32": 4, "F16": 2, "BF16": 2}
_METADATA = "__metadata__"
_MAX_HEADER_BYTES = 100_000_000

_Offset = Annotated[int, msgspec.Meta(ge=0)]
_Extent = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class _Entry(msgspec.Struct, frozen=True):
    """What the header says of a tensor; numbers beyond what an array can have are refused here."""

    dtype: str
    shape: Annotated[tuple[_Extent, ...], msgspec.Meta(max_length=8)]
    data_offsets: tuple[_Offset, _Offset]


def read_tensors(path: Path) -> dict[str, Floats]:
    """Every tensor of the file by name; half precision is widened, which is exact.

    Raises:
        BadRecord: the file is cut, is no safetensors file, or holds another kind of number.
    """
    header, body = _read(path)
    entries = {name: _entry(path, name, entry) for name, entry in header.items() if name != _METADATA}
    end = 0
    for begin, behind in sorted(entry.data_offsets for entry in entries.values()):
        if begin != end:
            break
        end = behind
    if end != len(body):  # the format allows no holes; one means that bytes were lost or added
        raise BadRecord(path, "has bytes of no tensor, or lies partly outside the file: fetch it again")
    return {name: _tensor(path, name, body, entry) for name, entry in entries.items()}


def read_metadata(path: Path) -> dict[str, str]:
    """The texts that the file carries beside its tensors.

    Raises:
        BadRecord: as `read_tensors`.
    """
    try:
        return convert(_read(path)[0].get(_METADATA, {}), dict[str, str])
    except msgspec.ValidationError as error:
        raise _damaged(path, error, _METADATA) from None


def _read(path: Path) -> tuple[dict[str, Any], memoryview]:
    """Header and body."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadRecord(path, f"cannot be read ({error.strerror}); the weights belong here") from None
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(_MAX_HEADER_BYTES, len(content) - 8):
        raise BadRecord(path, "is no safetensors file, or was cut while copying: fetch it again")
    try:
        header = decode(content[8 : 8 + length], msgspec.json.Decoder(dict[str, Any]))
    except UNREADABLE as error:
        raise _damaged(path, error) from None
    return header, memoryview(content)[8 + length :]


def _entry(path: Path, name: str, value: Any) -> _Entry:
    try:
        return convert(value, _Entry)
    except msgspec.ValidationError as error:
        raise _damaged(path, error, name) from None


def _damaged(path: Path, error: Exception, field: str | None = None) -> BadRecord:
    return BadRecord(path, f"has a damaged header ({error}): fetch it again", field=field)


def encode_tensors(tensors: Mapping[str, Floats], metadata: Mapping[str, str]) -> bytes:
    """A safetensors file, as float32 and sorted by name: the same tensors give the same bytes."""
    header: dict[str, Any] = {_METADATA: {"format": "pt", **metadata}}
    parts, end = [], 0
    for name in sorted(tensors):
        raw = tensors[name].astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [end, end + len(raw)]}
        parts.append(raw)
        end += len(raw)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)  # the format aligns the body
    return len(head).to_bytes(8, "little") + head + b"".join(parts)


def _tensor(path: Path, name: str, body: memoryview, entry: _Entry) -> Floats:
    import numpy as np

    dtype, shape, (begin, end) = entry.dtype, entry.shape, entry.data_offsets
    if dtype not in _ITEM_BYTES:
        known = ", ".join(_ITEM_BYTES)
        raise BadRecord(
            path, f"is stored as {dtype}, which is not read here: save it as one of {known}", field=name
        )
    if not 0 <= begin <= end <= len(body) or end - begin != prod(shape) * _ITEM_BYTES[dtype]:
        raise BadRecord(
            path, "lies outside the file or has another size than its shape: fetch it again", field=name
        )
    raw = body[begin:end]
    if dtype == "BF16":  # the upper half of a float32
        wide = np.frombuffer(raw, dtype="<u2").astype(np.uint32) << 16
        return wide.view(np.float32).reshape(shape)
    stored = np.frombuffer(raw, dtype="<f4" if dtype == "F32" else "<f2")
    return stored.astype(np.float32).reshape(shape)


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_ADVICE = "hf/NAME runs every adapter that PEFT does"

PREFIX = "base_model.model."
"""Before a module's name in an adapter's file."""
BASE_SHA256 = "base_sha256"
"""Name in an adapter's file for the hash of the weights that it was trained on; PEFT does not write it."""
MODULES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""The linear layers of a block."""

_LINEAR = re.compile(r"model\.layers\.\d+\.(?:self_attn|mlp)\.(?:" + "|".join(MODULES) + r")\.weight")
_TENSOR = re.compile(
    re.escape(PREFIX) + r"(?P<module>.+)\.(?P<kind>lora_A|lora_B|lora_magnitude_vector)(?:\.weight)?"
)
_HARMLESS = frozenset(
    {
        "auto_mapping",
        "base_model_name_or_path",
        "corda_config",
        "ensure_weight_tying",
        "eva_config",
        "inference_mode",
        "layers_pattern",
        "loftq_config",
        "lora_dropout",
        "lora_ga_config",
        "megatron_core",
        "peft_version",
        "qalora_group_size",
        "revision",
        "task_type",
    }
)
"""Fields that decide how an adapter begins or is trained, not what it computes."""


class AdapterConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of ``adapter_config.json`` that decide what an adapter computes, under their own names."""

    peft_type: Literal["LORA"]
    r: int
    lora_alpha: float
    target_modules: list[str] | str
    """Ends of module names, or one pattern for whole names, or ``all-linear``."""
    use_dora: bool = False
    use_rslora: bool = False
    rank_pattern: dict[str, int] | None = None
    alpha_pattern: dict[str, float] | None = None
    bias: Literal["none"] = "none"
    init_lora_weights: bool | Literal["gaussian", "orthogonal", "eva"] | None = True
    """The others change the base model's weights, too."""

    def targets(self, module: str) -> bool:
        """Whether a module gets an update."""
        if isinstance(self.target_modules, str):
            every = self.target_modules.lower() == "all-linear"
            return every or re.fullmatch(self.target_modules, module) is not None
        return any(module == name or module.endswith(f".{name}") for name in self.target_modules)

    def rank(self, module: str) -> int:
        """Rank of a module's update."""
        return int(_by_pattern(self.rank_pattern, module, self.r))

    def scale(self, module: str) -> float:
        """What a module's update is multiplied with."""
        rank, alpha = self.rank(module), float(_by_pattern(self.alpha_pattern, module, self.lora_alpha))
        return alpha / (rank**0.5 if self.use_rslora else rank)


def read_adapter_config(path: Path) -> AdapterConfig:
    """Read an ``adapter_config.json``.

    Raises:
        BadRecord: it is damaged, or asks for something that is not computed here.
    """
    document = read_json(path, dict[str, Any], _ADVICE)
    config = read_json(path, AdapterConfig, _ADVICE)
    for field in sorted(document.keys() - _HARMLESS - set(AdapterConfig.__struct_fields__)):
        if document[field]:
            raise BadRecord(path, f"is {document[field]!r}, which is not computed here; use hf/NAME", field=field)
    if config.r < 1 or any(rank < 1 for rank in (config.rank_pattern or {}).values()):
        raise BadRecord(path, "a rank must be at least 1", field="r")
    patterns = [*(config.rank_pattern or {}), *(config.alpha_pattern or {})]
    if isinstance(config.target_modules, str):
        patterns.append(config.target_modules)
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise BadRecord(path, f"{pattern!r} is no pattern ({error})") from None
    return config


def merge_adapter(folder: Path, tensors: Mapping[str, Floats], base: Path) -> dict[str, Floats]:
    """A model's tensors with an adapter merged into them.

    Args:
        folder: the adapter's two files.
        tensors: the model's weights under Hugging Face's names; they stay as they are.
        base: the file that they are from. An adapter that says which weights it was trained on fits no others.

    Raises:
        UserError: a file is missing.
        BadRecord: a file is damaged, or the adapter was made for another model.
    """
    check_adapter(folder)
    config = read_adapter_config(folder / CONFIG)
    path = folder / WEIGHTS
    _check_base(path, base)
    updates = _grouped(path, read_tensors(path))
    linear = {name.removesuffix(".weight") for name in tensors if _LINEAR.fullmatch(name)}
    wanted = {module for module in linear if config.targets(module)}
    if not wanted:
        raise BadRecord(folder / CONFIG, "names no layer of this model", field="target_modules")
    for module in sorted(wanted ^ updates.keys()):
        problem = "holds no update of it" if module in wanted else "updates it, and no such layer is named"
        raise BadRecord(path, f"{problem}; {CONFIG} says otherwise, or it is another model's", field=module)
    merged = {
        f"{module}.weight": _merged(path, module, tensors[f"{module}.weight"], updates[module], config)
        for module in wanted
    }
    return {**tensors, **merged}


def file_sha256(path: Path) -> str:
    """Hash of a file of a model.

    Raises:
        BadRecord: it cannot be read.
    """
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise BadRecord(path, f"cannot be read ({error.strerror})") from None


def _check_base(path: Path, base: Path) -> None:
    wanted = read_metadata(path).get(BASE_SHA256)
    if wanted is not None and wanted != file_sha256(base):
        raise BadRecord(path, f"was trained on other weights than {base}: train it anew", field=BASE_SHA256)


def _merged(
    path: Path, module: str, weight: Floats, update: Mapping[str, Floats], config: AdapterConfig
) -> Floats:
    import numpy as np

    rank, (outputs, inputs) = config.rank(module), weight.shape
    extents: dict[str, tuple[int, ...]] = {"lora_A": (rank, inputs), "lora_B": (outputs, rank)}
    if config.use_dora:
        extents["lora_magnitude_vector"] = (outputs,)
    for kind in sorted(extents.keys() ^ update.keys()):
        problem = "is missing" if kind in extents else "stands there, but use_dora is false"
        raise BadRecord(path, problem, field=f"{module}.{kind}")
    for kind, shape in extents.items():
        if update[kind].shape != shape:
            raise BadRecord(
                path, f"has shape {update[kind].shape}, not {shape}: another model's", field=f"{module}.{kind}"
            )
        if not np.isfinite(update[kind]).all():
            raise BadRecord(path, "holds numbers that are not finite", field=f"{module}.{kind}")
    merged: Floats = weight + np.float32(config.scale(module)) * (update["lora_B"] @ update["lora_A"])
    if config.use_dora:
        norms = np.linalg.norm(merged, axis=1).astype(np.float32)
        merged = merged * (update["lora_magnitude_vector"] / norms)[:, None]
    return merged


def _grouped(path: Path, tensors: Mapping[str, Floats]) -> dict[str, dict[str, Floats]]:
    """The tensors of an adapter's file by module, then by kind."""
    updates: dict[str, dict[str, Floats]] = {}
    for name, tensor in tensors.items():
        match = _TENSOR.fullmatch(name)
        if match is None:
            raise BadRecord(path, "is no part of a LoRA or DoRA adapter that is computed here", field=name)
        updates.setdefault(match["module"], {})[match["kind"]] = tensor
    return updates


def _by_pattern(patterns: Mapping[str, Any] | None, module: str, default: Any) -> Any:
    """The value of the first pattern that the end of a module's name fits."""
    found: Iterator[Any] = (
        value for pattern, value in (patterns or {}).items() if re.match(rf"(.*\.)?({pattern})$", module)
    )
    return next(found, default)
