"""From values to bytes, in the format of `truegrade.sandbox.wire`."""

from __future__ import annotations

import builtins
import re
from struct import pack
from types import GeneratorType

from truegrade.sandbox.tables import NOT_TABLE, take_apart
from truegrade.sandbox.wire import (
    COMPLEX,
    FALSE,
    FLOAT,
    LENGTH,
    MAX_BASES,
    MAX_DEPTH,
    MAX_DRAINED,
    MAX_FRACTION_BYTES,
    MAX_INT_BYTES,
    MAX_NAME,
    MAX_TEXT,
    MAX_VALUES,
    NUMPY_DTYPE,
    Drained,
    TooMany,
    Unencodable,
    Unsupported,
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


_EXCEPTIONS = {
    kind for kind in vars(builtins).values() if isinstance(kind, type) and issubclass(kind, BaseException)
}


def describe(error: BaseException) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Any, ...], str]:
    """An exception as plain data: its own types, the nearest built-in ones, its arguments, and ``Type: message``.

    An argument that does not travel whole is the name of its type.
    """
    built_in, own = list[type](), list[type]()
    for kind in type(error).__mro__:
        if kind not in _EXCEPTIONS:
            own += [kind] * (kind is not object)
        elif not any(issubclass(each, kind) for each in built_in):
            built_in.append(kind)
    bases = tuple([kind.__name__ for kind in built_in])
    names = tuple([kind.__name__[:MAX_TEXT] for kind in own[:MAX_BASES]] or bases[:1])
    if own and names[0] == bases[0]:  # that it is another one must show
        names = (f"{names[0]}'", *names[1:])
    name = names[0]
    try:
        message = str(error)[:MAX_TEXT]
    except BaseException:  # the program's own __str__
        message = ""
    try:  # of an OSError, a file's name is none of them
        args = tuple(OSError.__reduce__(error)[1] if isinstance(error, OSError) else error.args)
    except Exception:  # the program's own code
        args = (Unsupported("object"),)
    encoder = _Arguments(4 * MAX_TEXT, strict=True)
    args = tuple([one if encoder.takes(one) else Unsupported(type(one).__name__[:MAX_NAME]) for one in args])
    return names, bases, args, f"{name}: {message}" if message else name


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
            raise ValueTooLarge(f"a value nested more than {MAX_DEPTH} deep, or one that contains itself")
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
        name = (value.type_name if type(value) is Unsupported else type(value).__name__)[:MAX_NAME]
        self.sized(b"U", f"{name}{'' if _is_true(value) else FALSE}".encode("utf-8", "replace"))

    def items(self, tag: bytes, items: Iterable[Any], depth: int) -> None:
        held = list(items)
        self.put(tag + LENGTH.pack(len(held)))
        if _ATOM_TYPES.issuperset(map(type, held)):
            self.values_left -= len(held)
            if self.values_left < 0:
                raise TooMany(f"more than {MAX_VALUES} values")
            few = len(held) < MANY
            self.put(b"".join([_ATOMS[type(item)](item) for item in held] if few else _atoms(held)))
            return
        if len(held) < MANY:
            for item in held:
                self.value(item, depth + 1)
            return
        for start in range(0, len(held), _TOGETHER):
            some = held[start : start + _TOGETHER]
            if not self.together(some, depth + 1):
                for item in some:
                    self.value(item, depth + 1)

    def together(self, some: list[Any], depth: int) -> bool:
        """Send atoms and texts, or lists and tuples of them, at once; nothing is sent, and False, where there is
        anything else among them or a bound is near: one by one, they raise what is due."""
        kinds = frozenset(map(type, some))
        if kinds <= _PIECE_TYPES:
            count, pieces = len(some), _pieces(some)
        elif kinds <= _ROW_TYPES and depth < MAX_DEPTH:
            count = len(some) + sum(map(len, some))
            if count > self.values_left:
                return False
            flat = [item for row in some for item in row]
            if not _PIECE_TYPES.issuperset(map(type, flat)):
                return False
            pieces = _with_heads(some, _pieces(flat))
        else:
            return False
        if count > self.values_left or sum(map(len, pieces)) > self.bytes_left:
            return False
        self.values_left -= count
        self.put(b"".join(pieces))
        return True

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
        self.several(b"G", self.drain(value), depth)

    def drain(self, value: Any) -> tuple[bool, list[Any], tuple[Any, ...] | None]:
        """Whether there is more in an iterator than is taken, what is taken, and what it raised behind that."""
        if type(value) is Drained:
            return value.rest()
        # Of the type, as `for` does: an attribute of the object named so is not what iterates.
        advance = type(value).__next__
        items: list[Any] = []
        cut = False
        while not cut:
            try:
                items.append(advance(value))
                self.taken()
            except StopIteration:
                break
            except MemoryError:
                raise
            except BaseException as error:
                if self.strict:
                    raise
                return type(value) is not GeneratorType, items, describe(error)
            cut = len(items) > MAX_DRAINED
        return cut, items[:MAX_DRAINED], None

    def taken(self) -> None:
        """Take note that an iterator gave an item."""

    def numpy(self, value: Any, *, scalar: bool) -> None:
        """Arrays and scalars of plain numbers, strings and times; the rest of numpy is opaque."""
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


class _Arguments(_Encoder):
    """Says of an exception's arguments, one after the other, whether they travel whole."""

    def takes(self, value: Any) -> bool:
        try:
            self.value(value, 0)
        except Exception:  # or their own code failed
            return False
        return True

    def iterator(self, value: Any, depth: int) -> None:
        """None is read: who sends it later would find it empty."""
        raise Unencodable(value)


def _is_true(value: object) -> bool:
    """Whether an object is true; so is one that does not say."""
    try:
        return bool(value)
    except Exception:
        return True


_INT_HEADS = tuple(b"i" + LENGTH.pack(size) for size in range(9))


def _int(value: int) -> bytes:
    size = value.bit_length() // 8 + 1
    if size < len(_INT_HEADS):
        return _INT_HEADS[size] + value.to_bytes(size, "little", signed=True)
    if size > MAX_INT_BYTES:
        raise ValueTooLarge("an integer of more than 8 million bits")
    return b"i" + LENGTH.pack(size) + value.to_bytes(size, "little", signed=True)


def _text(value: str) -> bytes:
    data = value.encode("utf-8", "surrogatepass")
    return b"s" + LENGTH.pack(len(data)) + data


_ATOMS: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda v: b"N",
    bool: lambda v: b"T" if v else b"F",
    int: _int,
    float: lambda v: b"f" + FLOAT.pack(v),
}
"""Values of a few bytes: a list of nothing else is sent at once."""
_ATOM_TYPES = frozenset(_ATOMS)
_PIECES: dict[type, Callable[[Any], bytes]] = {**_ATOMS, str: _text}
_PIECE_TYPES, _ROW_TYPES = frozenset(_PIECES), frozenset((list, tuple))
_BY_VALUE = frozenset((int, str, type(None)))
"""Types of which no value equals one of another, nor one that is written differently."""
MANY, _TOGETHER = 32, 4096
"""Items of a list from which on it is worth while to look for what they have in common; of those sent at once."""


def _pieces(held: list[Any]) -> list[bytes]:
    """The bytes of atoms and texts, one by one."""
    if _BY_VALUE.issuperset(map(type, held)):
        different = set(held)
        if 2 * len(different) < len(held):  # programs return the same numbers and words many times
            known = {item: _PIECES[type(item)](item) for item in different}
            return list(map(known.__getitem__, held))
    return [_PIECES[type(item)](item) for item in held]


def _atoms(held: list[Any]) -> Iterable[bytes]:
    """The bytes of many atoms, of numbers with a point all of a chunk together."""
    chunks = [held[start : start + _TOGETHER] for start in range(0, len(held), _TOGETHER)]
    return [_floats(some) if {*map(type, some)} == {float} else b"".join(_pieces(some)) for some in chunks]


def _floats(held: list[float]) -> bytes:
    """As many times a tag and eight bytes, put together column by column."""
    width = 1 + FLOAT.size
    bare, made = pack(f"<{len(held)}d", *held), bytearray(b"f") * (width * len(held))
    for column in range(FLOAT.size):
        made[column + 1 :: width] = bare[column :: FLOAT.size]
    return bytes(made)


def _with_heads(rows: list[Any], pieces: list[bytes]) -> list[bytes]:
    """The pieces of all items of lists and tuples, with what stands before each row."""
    heads = {
        head: (b"l" if head[0] is list else b"t") + LENGTH.pack(head[1])
        for head in {(type(row), len(row)) for row in rows}
    }
    made: list[bytes] = []
    at = 0
    for row in rows:
        made.append(heads[type(row), len(row)])
        made += pieces[at : at + len(row)]
        at += len(row)
    return made


def _moment(value: Any) -> str:
    """``2020-10-25T02:30:00+01:00;1;Europe/Berlin``: a moment, its fold and the name of its zone, which stands
    behind ``=`` where it is no key of the time zone database; the moment alone where the others say nothing."""
    zone, name = value.tzinfo, ""
    known = (type(zone).__module__, type(zone).__qualname__)
    if known == ("zoneinfo", "ZoneInfo"):
        name = zone.key or ""
    elif known == ("datetime", "timezone") and len(zone.__getinitargs__()) > 1:  # it was given one
        name = f"={zone.tzname(None)}"
    return f"{value.isoformat()};{value.fold};{name}" if value.fold or name else value.isoformat()


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
    ("datetime", "datetime"): lambda e, v, d: e.sized(b"y", _moment(v).encode()),
    ("datetime", "time"): lambda e, v, d: e.sized(b"z", _moment(v).encode()),
    ("datetime", "timedelta"): lambda e, v, d: e.several(b"w", (v.days, v.seconds, v.microseconds), d),
    ("pathlib", "PosixPath"): lambda e, v, d: e.sized(b"h", str(v).encode("utf-8", "surrogatepass")),
    ("pathlib._local", "PosixPath"): lambda e, v, d: e.sized(b"h", str(v).encode("utf-8", "surrogatepass")),
    ("truegrade.sandbox.wire", "Unsupported"): lambda e, v, d: e.opaque(v),
}
