"""What data loaders hand over, as plain values: numbers, texts, lists and dicts. Nothing is executed."""

from __future__ import annotations

import ast
import base64
import binascii
import io
import pickle
import pickletools
import re
import zlib
from collections.abc import Mapping
from typing import Any, NoReturn

from truegrade.extraction.parsing import quietly
from truegrade.files.unpacking import InflationMeter, UnpackedTooLarge, unpack, zlib_stream
from truegrade.grading.contests.tests import decoded

MOST_VALUES = 20_000_000
"""Values in one ground truth; arguments of contest problems are lists of up to a million numbers."""
MOST_CHARACTERS = 1 << 28
"""Of all its texts together, each counted as often as it occurs."""
MOST_DEPTH = 100
LITERAL_CHARACTERS = 1 << 22
"""Of a text that is read as a Python literal, which takes a hundred times its size."""
UNPACKED_BYTES = 1 << 28
_DENSE_BYTES = 1 << 26

_PACKED = re.compile(r"[A-Za-z0-9+/=\s]{8,}\Z")
_NUMBERED = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
_DATA = _NUMBERED | {
    *("PROTO", "FRAME", "MEMOIZE", "GET", "BINGET", "LONG_BINGET", "STOP", "MARK"),
    *("EMPTY_LIST", "LIST", "APPEND", "APPENDS", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    *("EMPTY_DICT", "DICT", "SETITEM", "SETITEMS", "NONE", "NEWTRUE", "NEWFALSE"),
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
}
"""Opcodes of a pickle that make plain values; all others name, call or set up objects."""


class Unreadable(ValueError):
    """A ground truth is in no shape that is known; one line says why."""


def plain(value: Any, *, most: int = MOST_VALUES) -> Any:
    """The value with arrays, scalars and columns of numpy, pyarrow and pandas as Python's own.

    Args:
        value: of a data loader.
        most: values that it may hold.

    Raises:
        Unreadable: it is nested too deeply, too large, or holds something that is no plain value.
    """
    return _Plain(most).of(value, 0)


class _Plain:
    def __init__(self, most: int) -> None:
        self._values, self._characters = most, MOST_CHARACTERS

    def of(self, value: Any, depth: int) -> Any:
        self._values -= 1
        if self._values < 0:
            raise Unreadable("it holds too many values")
        if depth > MOST_DEPTH:
            raise Unreadable(f"it is nested more than {MOST_DEPTH} deep")
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {self._key(key): self.of(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.of(item, depth + 1) for item in value]
        return self.of(_unwrapped(value), depth + 1)

    def _key(self, key: Any) -> str:
        if not isinstance(key, str):
            raise Unreadable(f"it has the key {str(key)[:40]!r}, and keys are texts in JSON")
        return self._text(key)

    def _text(self, text: str) -> str:
        self._characters -= len(text)
        if self._characters < 0:
            raise Unreadable("its texts are too long")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Unreadable("it holds half of a surrogate pair, which no program can read or print") from None
        return text


def _unwrapped(value: Any) -> Any:
    """What an array, a scalar or a column holds."""
    if isinstance(value, bytes | bytearray):
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:
            raise Unreadable("it holds bytes that are no UTF-8") from None
    for method in ("as_py", "to_pylist", "tolist"):  # pyarrow's scalars, its arrays; numpy and pandas
        if callable(take := getattr(value, method, None)):
            return take()
    raise Unreadable(f"it holds an object of type {type(value).__name__}")


def from_text(text: str) -> Any:
    """The value that a text is the JSON, the Python literal, or base64 of a packed pickle of; else the text.

    Raises:
        Unreadable: it is packed, and holds anything but plain values.
    """
    try:
        return decoded(text)
    except (ValueError, RecursionError, ArithmeticError):
        pass
    stripped = text.strip()
    if stripped[:1] in {"{", "[", "("} and len(stripped) <= LITERAL_CHARACTERS:
        try:
            with quietly():
                return ast.literal_eval(stripped)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return text
    return _unpacked(stripped) if _PACKED.match(stripped) else text


def _unpacked(text: str) -> Any:
    """What a packed text holds; the text itself where it is not packed.

    allenai/open-instruct@e6c3044 ``code_utils.encode_tests`` writes base64 of zlib of a pickle.
    """
    try:
        packed = base64.b64decode(text, validate=False)
        meter = InflationMeter("ground truth", free=_DENSE_BYTES, most=UNPACKED_BYTES)
        data = b"".join(unpack(io.BytesIO(packed).read, zlib_stream, meter))
    except UnpackedTooLarge as error:
        raise Unreadable(str(error)) from None
    except (binascii.Error, zlib.error, EOFError, ValueError):
        return text
    return unpickled(data)


def unpickled(data: bytes) -> Any:
    """The plain value that a pickle holds.

    Raises:
        Unreadable: it is damaged, or anything in it is not data: then nothing of it is carried out.
    """
    count = 0
    try:
        for opcode, argument, _ in pickletools.genops(data):
            count += 1
            if opcode.name not in _DATA:
                raise Unreadable(f"its pickle holds {opcode.name}, where only plain values may be")
            # The memo is an array: a large index alone would fill the memory.
            if opcode.name in _NUMBERED and not 0 <= int(argument or 0) <= count:
                raise Unreadable("its pickle numbers its values with gaps")
        value = _DataUnpickler(io.BytesIO(data)).load()
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"its pickle is damaged: {str(error)[:80]}") from None
    # A list that refers to itself, or many times to one list, is small in a pickle and endless in JSON.
    return plain(value, most=4 * count + 16)


class _DataUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise Unreadable(f"its pickle names {module}.{name}, where only plain values may be")

    def persistent_load(self, pid: Any, /) -> NoReturn:
        raise Unreadable("its pickle refers to something outside it")
