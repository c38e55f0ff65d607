"""JSON as Python writes it: with halves of surrogate pairs, NaN and infinities, which `msgspec` refuses.

A reply, or what a program prints, may hold half a surrogate pair. UTF-8 cannot store one, JSON can, as an escape
(``\ud800``): it is written and read so. Two halves that follow each other become their character.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar
from zlib import crc32

import msgspec

from truegrade.errors import BadRecord

T = TypeVar("T")

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What `decode` raises for JSON that cannot be read, or does not fit the type (`msgspec.ValidationError`)."""


def encode(
    value: Any,
    *,
    order: Literal["sorted"] | None = None,
    enc_hook: Callable[[Any], Any] | None = None,
    indent: int | None = None,
) -> bytes:
    """A value as `msgspec.json.encode` writes it, halves of surrogate pairs escaped.

    Args:
        value: what `msgspec` can encode.
        order: keys as they come, or sorted.
        enc_hook: turns what it cannot into what it can.
        indent: spaces of a level; None for one line.
    """
    try:
        content = msgspec.json.encode(value, order=order, enc_hook=enc_hook)
        return content if indent is None else msgspec.json.format(content, indent=indent)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, str_keys=True, order=order, enc_hook=enc_hook)
        finite = json.loads(json.dumps(plain), parse_constant=lambda _: None)  # msgspec, too, writes NaN as null
        separators = (",", ":") if indent is None else None
        return json.dumps(finite, separators=separators, indent=indent).encode("ascii")


def decode(content: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Decode JSON, also where only Python's own reader takes it.

    Raises:
        msgspec.DecodeError: it is no JSON; as `msgspec.ValidationError`, it does not fit the type.
        UnicodeDecodeError: it is not UTF-8.
        RecursionError: it is nested too deeply.
    """
    try:
        return decoder.decode(content)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        try:
            value = json.loads(content)
        except ValueError:
            value = msgspec.UNSET
        if value is msgspec.UNSET:
            raise
        return convert(value, decoder.type)


def convert(value: Any, kind: type[T]) -> T:
    """Check decoded JSON against a type.

    Raises:
        msgspec.ValidationError: it does not fit.
    """
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except UnicodeEncodeError as error:  # not of a text as such: of one where a number or a known name belongs
        raise msgspec.ValidationError(f"half a surrogate pair in {error.object!r:.60}") from None


def place_of(error: msgspec.ValidationError) -> tuple[str, str | None]:
    """What is wrong, and the dotted name of the field, from the words of msgspec."""
    sentence, _, place = str(error).partition(" - at `$")
    return sentence, place.rstrip("`").lstrip(".") or None


def read_json(path: Path, kind: type[T], advice: str = "is the file whole?") -> T:
    """A file that is one JSON value.

    Args:
        path: the file.
        kind: what it must be.
        advice: what to do where it is not, in a few words.

    Raises:
        BadRecord: it cannot be read, is not JSON, or does not fit; names the field.
    """
    try:
        return decode(path.read_bytes(), msgspec.json.Decoder(kind))
    except OSError as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise BadRecord(path, f"{why}; {advice}") from None
    except msgspec.ValidationError as error:
        problem, field = place_of(error)
        raise BadRecord(path, f"{problem}; {advice}", field=field) from None
    except UNREADABLE as error:
        raise BadRecord(path, f"not JSON that can be read: {error}; {advice}") from None


# ------ Lines of JSON that hold a checksum of themselves, so that damage on a disk is seen when they are read.
# The last field of the object is ``"crc32":"89abcdef"``: the CRC-32 (`zlib.crc32`) of all bytes of the line
# before it, as eight hexadecimal digits. It differs after every change of up to 32 bits in a row.


_KEY = b'"crc32":"'
_END = b'"}\n'
_TAIL = len(_KEY) + 8 + len(_END)
"""Bytes of the last field, the closing brace and the line's end."""


def with_checksum(record: bytes) -> bytes:
    """A JSON object, on one line without its end, as a line with a checksum."""
    body = record[:-1] + (b"," if len(record) > len(b"{}") else b"")
    return b"%b%b%08x%b" % (body, _KEY, crc32(body), _END)


def checksum_fits(line: bytes) -> bool | None:
    """Whether a line, with its end, is as it was written; None where it holds no checksum."""
    if line[-_TAIL : -_TAIL + len(_KEY)] != _KEY or not line.endswith(_END):
        return None
    return line[-_TAIL + len(_KEY) : -len(_END)] == b"%08x" % crc32(memoryview(line)[:-_TAIL])
