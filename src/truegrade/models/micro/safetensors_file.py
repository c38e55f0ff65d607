"""Tensors out of a safetensors file and into one, as float32.

Format (huggingface/safetensors@v0.8.0, README): eight bytes of little-endian header length, a JSON header that
gives every tensor's dtype, shape and byte range, then the bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from truegrade.errors import BadRecord
from truegrade.files.json_text import UNREADABLE, convert, decode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

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
