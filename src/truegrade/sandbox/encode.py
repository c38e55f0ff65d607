"""From values to bytes, in the format of `truegrade.sandbox.wire`."""

from __future__ import annotations

from truegrade.sandbox.tables import NOT_TABLE, take_apart
from truegrade.sandbox.values import Unsupported
from truegrade.sandbox.wire import (
    COMPLEX,
    FLOAT,
    LENGTH,
    MAX_DEPTH,
    MAX_DRAINED,
    MAX_FRACTION_BYTES,
    MAX_INT_BYTES,
    MAX_NAME,
    MAX_VALUES,
    NUMPY_DTYPE,
    TooMany,
    Unencodable,
    ValueTooLarge,
)

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


def encode(value: object, max_bytes: int, *, strict: bool = False) -> bytes:
    """The bytes of a value.

    Args:
        value: any object; iterators are drained.
        max_bytes: bound on the result.
        strict: refuse what does not travel instead of sending the name of its type.

    Raises:
        ValueTooLarge: over a bound, or the value contains itself.
        Unencodable: only if ``strict``.
    """
    encoder = _Encoder(max_bytes, strict)
    encoder.value(value, 0)
    return b"".join(encoder.parts)


class _Encoder:
    """Collects the bytes of one value."""

    def __init__(self, max_bytes: int, strict: bool) -> None:
        self.parts: list[bytes] = []
        self.bytes_left = max_bytes
        self.values_left = MAX_VALUES
        self.strict = strict

    def put(self, data: bytes) -> None:
        self.bytes_left -= len(data)
        if self.bytes_left < 0:
            raise ValueTooLarge("more bytes than the limit on one value")
        self.parts.append(data)

    def sized(self, tag: bytes, data: bytes) -> None:
        self.put(tag + LENGTH.pack(len(data)))
        self.put(data)

    def value(self, value: Any, depth: int) -> None:
        self.values_left -= 1
        if self.values_left < 0:
            raise TooMany(f"more than {MAX_VALUES} values")
        if depth > MAX_DEPTH:
            raise ValueTooLarge(f"nested more than {MAX_DEPTH} deep, or contains itself")
        kind = type(value)
        if kind in _ATOM_TYPES:
            self.put(_ATOMS[kind](value))
        elif (exact := _EXACT.get(kind)) is not None:
            exact(self, value, depth)
        else:
            self.inexact(value, depth)

    def inexact(self, value: Any, depth: int) -> None:
        """What is not exactly a built-in type: a library's type, a subclass, an iterator, or opaque."""
        kind = type(value)
        library = _LIBRARY.get((kind.__module__, kind.__qualname__))
        if library is not None:
            library(self, value, depth)
        elif kind.__module__.partition(".")[0] == "pandas":
            self.table(value, depth)
        elif numpy_base := {base.__name__ for base in kind.__mro__ if base.__module__ == "numpy"}:
            self.numpy(value, scalar="generic" in numpy_base)
        else:
            for base, plain in _PLAIN.items():
                if base in kind.__mro__:
                    self.value(plain(value), depth)
                    return
            if hasattr(kind, "__next__"):
                self.iterator(value, depth)
            else:
                self.opaque(value)

    def opaque(self, value: Any) -> None:
        if self.strict:
            raise Unencodable(value)
        name = value.type_name if type(value) is Unsupported else type(value).__name__
        self.sized(b"U", name[:MAX_NAME].encode("utf-8", "replace"))

    def items(self, tag: bytes, items: Iterable[Any], depth: int) -> None:
        held = list(items)
        self.put(tag + LENGTH.pack(len(held)))
        if _ATOM_TYPES.issuperset(map(type, held)):
            self.values_left -= len(held)
            if self.values_left < 0:
                raise TooMany(f"more than {MAX_VALUES} values")
            self.put(b"".join([_ATOMS[type(item)](item) for item in held]))
            return
        for item in held:
            self.value(item, depth + 1)

    def pairs(self, tag: bytes, pairs: Iterable[tuple[Any, Any]], depth: int) -> None:
        held = list(pairs)
        self.put(tag + LENGTH.pack(len(held)))
        for key, value in held:
            self.value(key, depth + 1)
            self.value(value, depth + 1)

    def several(self, tag: bytes, values: tuple[Any, ...], depth: int) -> None:
        self.put(tag)
        for value in values:
            self.value(value, depth + 1)

    def iterator(self, value: Any, depth: int) -> None:
        # Of the type, as `for` does: an attribute of the object named so is not what iterates.
        advance = type(value).__next__
        items: list[Any] = []
        cut = False
        while not cut:
            try:
                items.append(advance(value))
            except StopIteration:
                break
            cut = len(items) > MAX_DRAINED
        self.several(b"G", (cut, items[:MAX_DRAINED]), depth)

    def numpy(self, value: Any, *, scalar: bool) -> None:
        """Arrays and scalars of plain numbers, strings and times; the rest of numpy is opaque."""
        import re

        dtype: Any = getattr(value, "dtype", None)
        if re.fullmatch(NUMPY_DTYPE, str(getattr(dtype, "str", ""))) is None or not dtype.itemsize:
            self.opaque(value)
            return
        if value.nbytes > self.bytes_left:
            raise ValueTooLarge("more bytes than the limit on one value")
        self.several(b"n", (dtype.str, None if scalar else value.shape, value.tobytes()), 0)

    def table(self, value: Any, depth: int) -> None:
        """Frames, series, indexes and scalars of pandas; the rest of pandas is opaque."""
        taken = take_apart(value)
        if taken == NOT_TABLE:
            self.opaque(value)
        else:
            self.several(b"P", taken, depth)

    def fraction(self, value: Any, depth: int) -> None:
        parts = value.numerator, value.denominator
        if any(part.bit_length() > 8 * MAX_FRACTION_BYTES for part in parts):
            raise ValueTooLarge("a fraction of more than 32768 bits")
        self.several(b"q", parts, depth)


def _int(value: int) -> bytes:
    size = value.bit_length() // 8 + 1
    if size > MAX_INT_BYTES:
        raise ValueTooLarge("an integer of more than 8 million bits")
    return b"i" + LENGTH.pack(size) + value.to_bytes(size, "little", signed=True)


_ATOMS: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda v: b"N",
    bool: lambda v: b"T" if v else b"F",
    int: _int,
    float: lambda v: b"f" + FLOAT.pack(v),
}
"""Values of a few bytes: a list of nothing else is sent at once."""
_ATOM_TYPES = frozenset(_ATOMS)

_EXACT: dict[type, Callable[[_Encoder, Any, int], None]] = {
    type(...): lambda e, v, d: e.put(b"e"),
    type(NotImplemented): lambda e, v, d: e.put(b"!"),
    complex: lambda e, v, d: e.put(b"c" + COMPLEX.pack(v.real, v.imag)),
    str: lambda e, v, d: e.sized(b"s", v.encode("utf-8", "surrogatepass")),
    bytes: lambda e, v, d: e.sized(b"b", v),
    bytearray: lambda e, v, d: e.sized(b"a", bytes(v)),
    list: lambda e, v, d: e.items(b"l", v, d),
    tuple: lambda e, v, d: e.items(b"t", v, d),
    set: lambda e, v, d: e.items(b"S", v, d),
    frozenset: lambda e, v, d: e.items(b"Z", v, d),
    dict: lambda e, v, d: e.pairs(b"d", v.items(), d),
    range: lambda e, v, d: e.several(b"r", (v.start, v.stop, v.step), d),
    type({}.keys()): lambda e, v, d: e.items(b"K", v, d),
    type({}.values()): lambda e, v, d: e.items(b"V", v, d),
    type({}.items()): lambda e, v, d: e.pairs(b"I", v, d),
}

_PLAIN: dict[type, Callable[[Any], Any]] = {
    int: int.__index__,
    float: float.__float__,
    complex: complex.__complex__,
    str: str.__str__,
    bytes: bytes.__bytes__,
    bytearray: lambda v: bytearray.__getitem__(v, slice(None)),
    list: lambda v: list(list.__iter__(v)),
    tuple: lambda v: tuple(tuple.__iter__(v)),
    set: lambda v: set(set.__iter__(v)),
    frozenset: lambda v: frozenset(frozenset.__iter__(v)),
    dict: lambda v: dict(dict.items(v)),
    type({}.keys()): lambda v: dict.fromkeys(v).keys(),
    type({}.values()): lambda v: dict(enumerate(v)).values(),
    type({}.items()): lambda v: dict(v).items(),
}
"""Of a subclass, the value of exactly the base type; the views are those of an OrderedDict."""

# By name, so that sending a number does not import `decimal`. A class that borrows such a name only sends
# what it could have returned outright.
_LIBRARY: dict[tuple[str, str], Callable[[_Encoder, Any, int], None]] = {
    ("collections", "deque"): lambda e, v, d: e.several(b"Q", (v.maxlen, list(v)), d),
    ("collections", "OrderedDict"): lambda e, v, d: e.pairs(b"O", v.items(), d),
    ("collections", "Counter"): lambda e, v, d: e.pairs(b"C", v.items(), d),
    ("collections", "defaultdict"): lambda e, v, d: e.pairs(b"D", v.items(), d),
    ("fractions", "Fraction"): _Encoder.fraction,
    ("decimal", "Decimal"): lambda e, v, d: e.sized(b"M", str(v).encode()),
    ("datetime", "date"): lambda e, v, d: e.sized(b"x", v.isoformat().encode()),
    ("datetime", "datetime"): lambda e, v, d: e.sized(b"y", v.isoformat().encode()),
    ("datetime", "time"): lambda e, v, d: e.sized(b"z", v.isoformat().encode()),
    ("datetime", "timedelta"): lambda e, v, d: e.several(b"w", (v.days, v.seconds, v.microseconds), d),
    ("pathlib", "PosixPath"): lambda e, v, d: e.sized(b"h", str(v).encode("utf-8", "surrogatepass")),
    ("pathlib._local", "PosixPath"): lambda e, v, d: e.sized(b"h", str(v).encode("utf-8", "surrogatepass")),
    ("truegrade.sandbox.values", "Unsupported"): lambda e, v, d: e.opaque(v),
}
