"""From bytes to values, in the format of `truegrade.sandbox.wire`."""

from __future__ import annotations

from truegrade.sandbox.tables import make_again
from truegrade.sandbox.wire import (
    COMPLEX,
    DESCRIBED,
    FALSE,
    FLOAT,
    LENGTH,
    MAX_CHARACTER,
    MAX_COLLISIONS,
    MAX_DEPTH,
    MAX_FRACTION_BYTES,
    MAX_INT_BYTES,
    MAX_NAME,
    MAX_VALUES,
    NUMPY_DTYPE,
    Drained,
    Unsupported,
    ValueTooLarge,
    Widened,
    WireError,
)

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


UNBOUNDED = 1 << 62
"""Bytes of memory that no value takes."""


def decode(data: bytes, start: int = 0, max_memory: int = UNBOUNDED) -> Any:
    """The value that `encode` made these bytes of, those before ``start`` left aside.

    Args:
        max_memory: bound on the bytes of memory that the value takes, as far as `_COSTS` knows.

    Raises:
        WireError: the bytes are anything else.
        ValueTooLarge: the value would take more memory.
    """
    return read(data, start, max_memory)[0]


def read(data: bytes, start: int = 0, max_memory: int = UNBOUNDED) -> tuple[Any, bool, bool]:
    """As `decode`: the value; whether comparing it can take far more than it does; whether it equals its like.

    The second is so of ranges and of numpy's larger arrays, which are spread out. The third is not so of what
    stands for a value that does not travel, of an iterator, and of NaN.
    """
    decoder = _Decoder(data, start, max_memory)
    try:
        value = decoder.value(0)
    except (WireError, ValueTooLarge):
        raise
    except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError) as error:
        raise WireError(f"malformed value: {error}") from error
    if decoder.at != len(data):
        raise WireError("bytes are left over after the value")
    return value, decoder.spreads, decoder.solid


class _Decoder:
    """Reads one value; every length is checked against the bytes that are there before it is used."""

    def __init__(self, data: bytes, start: int, max_memory: int = UNBOUNDED) -> None:
        self.data = data
        self.at = start
        self.values_left = MAX_VALUES
        self.memory_left = max_memory
        self.spreads, self.solid = False, True

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            raise WireError("the bytes end inside a value")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def length(self) -> int:
        size: int = LENGTH.unpack(self.take(4))[0]
        return size

    def sized(self) -> bytes:
        size = self.length()
        self.charge(size)
        return self.take(size)

    def text(self) -> str:
        data = self.sized()
        if not data.isascii():
            self.charge(3 * len(data))  # one wide character makes all of them wide
        return data.decode("utf-8", "surrogatepass")

    def value(self, depth: int) -> Any:
        self.values_left -= 1
        if self.values_left < 0 or depth > MAX_DEPTH:
            raise WireError("more values or deeper nesting than any sender may send")
        tag = self.take(1)
        reader = _READERS.get(tag)
        if reader is None:
            raise WireError(f"no value begins with the byte {tag!r}")
        self.charge(_COSTS.get(tag, ATOM_BYTES))
        return reader(self, depth)

    def charge(self, memory: int) -> None:
        self.memory_left -= memory
        if self.memory_left < 0:
            raise ValueTooLarge("a value that takes too much memory to look at")

    def exact(self, kind: type, depth: int) -> Any:
        """A value that must be of exactly this type."""
        value = self.value(depth + 1)
        if type(value) is not kind:
            raise WireError(f"a {kind.__name__} was due")
        return value

    def int_(self, depth: int) -> int:
        size = self.length()
        if size > MAX_INT_BYTES:
            raise WireError("an integer of more than 8 million bits")
        return int.from_bytes(self.take(size), "little", signed=True)

    def number(self, value: Any) -> Any:
        if value != value:  # noqa: PLR0124 (only NaN differs from itself)
            self.solid = False
        return value

    def items(self, depth: int) -> list[Any]:
        return [self.value(depth + 1) for _ in range(self.count())]

    def keys(self, depth: int) -> list[Any]:
        held = _spread(self.items(depth))
        self.charge(ENTRY_BYTES * len(held))
        return held

    def pairs(self, depth: int) -> dict[Any, Any]:
        count = self.count()
        self.charge(ENTRY_BYTES * count)
        held = [(self.value(depth + 1), self.value(depth + 1)) for _ in range(count)]
        _spread([key for key, _ in held])
        return dict(held)

    def count(self) -> int:
        count = self.length()
        if count > len(self.data) - self.at:
            raise WireError("more items than bytes")
        return count

    def range_(self, depth: int) -> range:
        self.spreads = True
        return range(self.exact(int, depth), self.exact(int, depth), self.exact(int, depth))

    def iterator(self, depth: int) -> Drained:
        self.solid = False
        cut = self.exact(bool, depth)
        items, raised = self.exact(list, depth), self.value(depth + 1)
        if raised is not None and (type(raised) is not tuple or len(raised) != DESCRIBED):
            raise WireError("an exception of no known form")
        return Drained(items, cut=cut, raised=raised)

    def deque(self, depth: int) -> Any:
        from collections import deque

        maxlen = self.value(depth + 1)
        return deque(self.exact(list, depth), maxlen)

    def mapping(self, depth: int, name: str) -> Any:
        import collections

        pairs = self.pairs(depth)
        if name == "defaultdict":
            return collections.defaultdict(None, pairs)
        return collections.OrderedDict(pairs) if name == "OrderedDict" else collections.Counter(pairs)

    def fraction(self, depth: int) -> Any:
        from fractions import Fraction

        parts = self.exact(int, depth), self.exact(int, depth)
        if any(part.bit_length() > 8 * MAX_FRACTION_BYTES for part in parts):
            raise WireError("a fraction of more than 32768 bits")
        return Fraction(*parts)

    def decimal(self, depth: int) -> Any:
        from decimal import Decimal

        value = Decimal(self.text())
        self.solid = self.solid and not value.is_nan()
        # Comparing a signaling NaN raises, in whoever compares.
        return Unsupported("signaling NaN") if value.is_snan() else value

    def moment(self, depth: int, name: str) -> Any:
        import datetime

        kinds: dict[str, Any] = {"date": datetime.date, "datetime": datetime.datetime, "time": datetime.time}
        text, _, more = self.text().partition(";")
        value = kinds[name].fromisoformat(text)
        if not more:
            return value
        fold, _, zone = more.partition(";")
        value = value.replace(fold=int(fold))
        if zone.startswith("="):
            return value.replace(tzinfo=datetime.timezone(value.utcoffset(), zone[1:]))
        return value.replace(tzinfo=_zone_of(zone) or value.tzinfo) if zone else value

    def timedelta(self, depth: int) -> Any:
        from datetime import timedelta

        return timedelta(self.exact(int, depth), self.exact(int, depth), self.exact(int, depth))

    def numpy(self, depth: int) -> Any:
        import re

        dtype, shape, data = self.exact(str, 0), self.value(0), self.exact(bytes, 0)
        self.solid = False
        try:
            import numpy
        except ImportError:
            return Unsupported(f"numpy {dtype}")
        if re.fullmatch(NUMPY_DTYPE, dtype) is None:
            raise WireError("a numpy value of no plain kind")
        if shape is not None and (type(shape) is not tuple or any(type(n) is not int or n < 0 for n in shape)):
            raise WireError("a numpy shape must be a tuple of sizes")
        if shape and 0 in shape and max(shape) > MAX_TOGETHER:
            return Unsupported("numpy array without items")  # which takes no byte, and as rows any memory
        self.spreads |= max(len(data), *(shape or ()), 0) > MAX_TOGETHER
        kind = numpy.dtype(dtype)
        array = numpy.frombuffer(bytearray(data), dtype=kind) if data else numpy.empty(0, dtype=kind)
        # Numpy keeps any four bytes for a character, and raises SystemError in whoever reads it.
        if kind.kind == "U" and data and array.view(kind.str[0] + "u4").max() > MAX_CHARACTER:
            raise WireError("a text of numpy with no such character")
        # Numpy rounds a number of Python's to the type that it compares it with: what is above 65520 is equal to
        # the infinity of 16 bits, what is below 3e-8 to its zero.
        wide = {"f": "f8", "c": "c16"}.get(kind.kind, kind)
        if kind != wide and (kind.itemsize == _HALF or numpy.isinf(array).any()):
            array, Widened.met = array.astype(wide), True
        return array.reshape(() if shape is None else shape)[() if shape is None else ...]

    def path(self, depth: int) -> Any:
        from pathlib import Path

        return Path(self.text())

    def table(self, depth: int) -> Any:
        name, parts = self.exact(str, depth), self.exact(tuple, depth)
        self.solid, self.spreads = False, True
        try:
            import pandas
        except ImportError:
            return Unsupported(f"pandas {name[:MAX_NAME]}")
        return make_again(name, parts, pandas)


def _spread(keys: list[Any]) -> list[Any]:
    """The same keys, unless too many share a hash.

    Raises:
        WireError: a table of them would take quadratic time to build.
    """
    if len(keys) > MAX_COLLISIONS:
        seen: dict[int, int] = {}
        for key in keys:
            code = hash(key)
            # Hashes of plain values are known beforehand (ints are their own), so collisions can be sent on
            # purpose.
            seen[code] = seen.get(code, 0) + 1
            if seen[code] > MAX_COLLISIONS:
                raise WireError("keys that are made to collide")
    return keys


def _zone_of(key: str) -> Any:
    """The zone of this key in this machine's database; None where that lacks it: the offset says enough."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(key)
    except (OSError, KeyError):
        return None


def _opaque(reader: _Decoder) -> Unsupported:
    reader.solid = False
    return Unsupported(reader.text()[: MAX_NAME + len(FALSE)])


_HALF = 2
"""Bytes of numpy's shortest float."""
MAX_TOGETHER = 256
"""Bytes and length of an array that may be compared with anything: each of its items can be compared with each of
the other's."""
ATOM_BYTES, ENTRY_BYTES = 40, 100
"""Memory of a number with the reference to it, and of an entry of a table while it is built (CPython 3.11)."""
_COSTS = {
    **dict.fromkeys((b"s", b"b", b"l", b"t", b"n", b"U"), 72),
    **dict.fromkeys((b"S", b"Z", b"d", b"K", b"V", b"I"), 240),
    **dict.fromkeys((b"O", b"C", b"D", b"G", b"M", b"q"), 400),
    b"Q": 800,
    b"P": 4000,
}
"""Memory of a value by its tag, with the reference to it and without what it holds."""

_READERS: dict[bytes, Callable[[_Decoder, int], Any]] = {
    b"N": lambda r, d: None,
    b"T": lambda r, d: True,
    b"F": lambda r, d: False,
    b"e": lambda r, d: ...,
    b"!": lambda r, d: NotImplemented,
    b"i": _Decoder.int_,
    b"f": lambda r, d: r.number(FLOAT.unpack(r.take(8))[0]),
    b"c": lambda r, d: r.number(complex(*COMPLEX.unpack(r.take(16)))),
    b"s": lambda r, d: r.text(),
    b"b": lambda r, d: r.sized(),
    b"a": lambda r, d: bytearray(r.sized()),
    b"l": _Decoder.items,
    b"t": lambda r, d: tuple(r.items(d)),
    b"S": lambda r, d: set(r.keys(d)),
    b"Z": lambda r, d: frozenset(r.keys(d)),
    b"d": _Decoder.pairs,
    b"O": lambda r, d: r.mapping(d, "OrderedDict"),
    b"C": lambda r, d: r.mapping(d, "Counter"),
    b"D": lambda r, d: r.mapping(d, "defaultdict"),
    b"K": lambda r, d: dict.fromkeys(r.keys(d)).keys(),
    b"V": lambda r, d: dict(enumerate(r.items(d))).values(),
    b"I": lambda r, d: r.pairs(d).items(),
    b"r": _Decoder.range_,
    b"Q": _Decoder.deque,
    b"G": _Decoder.iterator,
    b"q": _Decoder.fraction,
    b"M": _Decoder.decimal,
    b"x": lambda r, d: r.moment(d, "date"),
    b"y": lambda r, d: r.moment(d, "datetime"),
    b"z": lambda r, d: r.moment(d, "time"),
    b"w": _Decoder.timedelta,
    b"n": _Decoder.numpy,
    b"P": _Decoder.table,
    b"h": _Decoder.path,
    b"U": lambda r, d: _opaque(r),
}
