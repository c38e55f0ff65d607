"""Values as bytes: the form in which they cross, what stands for those that cannot, how runs end.

A value is one tag byte and what the tag needs. Lengths are unsigned 32-bit little-endian; integers are
length-prefixed two's complement, floats their 8 bytes, so nothing depends on decimal conversion:

    N T F e !  None, True, False, Ellipsis, NotImplemented        i f c     int, float, complex
    s b a      str (UTF-8, lone surrogates kept), bytes, bytearray
    l t S Z    list, tuple, set, frozenset: length, items         d O C D   dict, OrderedDict, Counter, defaultdict
    K V I      views of a dict: keys, values, items               Q G       deque, iterator (drained)
    r q        range, Fraction                                    M x y z w Decimal, date, datetime, time, delta
    n          numpy array or scalar: dtype, shape, bytes         U         anything else: the name of its type
    P          of pandas: frame, series, index or scalar, its parts    h         path of a file

`truegrade.sandbox.objects` has three tags more, for objects and values that can change, where these cross.

`truegrade.sandbox.encode` runs where user code has run: of a subclass it takes the base type's own value
through the base type's own methods, so no override takes part. `truegrade.sandbox.decode` runs where
verdicts are made and believes nothing: it resolves no name, calls no method of the program, is bounded in
size, depth and time, and raises `WireError` on anything malformed.

Not covered: aliasing (a list that appears twice arrives as two lists), identity, the default factory of a
defaultdict, time zones of a class of their own but for their offset, types of the program's own.
"""

from __future__ import annotations

import struct
from marshal import dumps

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar, Self


MAX_DEPTH = 200
"""Levels of nesting; a value that contains itself reaches any bound."""
MAX_VALUES = 2_000_000
"""Values in one message, containers and their items alike."""
MAX_INT_BYTES = 1 << 20
MAX_FRACTION_BYTES = 4096
"""Of numerator and denominator each: reducing a fraction takes time quadratic in their length."""
MAX_DRAINED = 10_000
"""Items taken from an iterator; it may be endless."""
MAX_COLLISIONS = 64
"""Keys of one table that may share a hash; more are made to collide and take quadratic time to store."""
MAX_NAME = 200
MAX_TEXT, MAX_BASES = 500, 10
"""Characters of what an exception says, and of its own classes so many."""
DESCRIBED = 4
"""Parts of an exception as plain data."""
MAX_CHARACTER = 0x10FFFF

LENGTH = struct.Struct("<I")
FLOAT = struct.Struct("<d")
COMPLEX = struct.Struct("<dd")
NUMPY_DTYPE = "[<>|=][biufcSUmM][0-9]{1,9}(\\[[0-9]{0,9}[a-zA-Z]{1,2}\\])?"
"""Numbers, strings and times, as numpy spells their types."""


class WireError(ValueError):
    """The bytes are no value: only a program that writes to the channel itself can cause it."""


class ValueTooLarge(ValueError):
    """The value is over a bound of size, count or depth."""


class TooMany(ValueTooLarge):
    """The value holds more values than any message may."""


NESTED = "a value nested too deeply to be sent, or one that contains itself"


class Unencodable(TypeError):
    """The value is of a type that does not travel, and the sender asked to be told.

    Args:
        value: the object at fault.
    """

    def __init__(self, value: object) -> None:
        self.value = value
        super().__init__(f"a {type(value).__name__} cannot be sent to another process")


# --------------------- What stands, outside a program, for values of the program that cannot be rebuilt there.

try:
    from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]  # Python 3.12 and later
except ImportError:
    from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]  # `hashlib` loads OpenSSL: 3 ms


class Unsupported:
    """An object of a type that does not travel: equal to nothing, itself included, and true as it is where it is.

    Args:
        type_name: of the object; a NUL at its end, which no name of a type has, says that the object is false.
    """

    __slots__ = ("_true", "type_name")

    def __init__(self, type_name: str) -> None:
        self.type_name, self._true = type_name.rstrip(FALSE), not type_name.endswith(FALSE)

    def __bool__(self) -> bool:
        return self._true

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<{self.type_name} object>"


FALSE = "\0"
"""Behind the name of the type of a false object."""


def encoded(encode: Callable[[object], bytes], value: object) -> bytes:
    """What ``encode`` makes of a value of the program, or, where code of the program fails in this, of what stands
    for a value that does not travel: the call that returned it has not raised that.

    Raises:
        ValueTooLarge, MemoryError: as ``encode``.
    """
    for one in (value, Unsupported(type.__dict__["__name__"].__get__(type(value)))):
        try:
            return encode(one)
        except RecursionError:
            raise ValueTooLarge(NESTED) from None
        except (MemoryError, ValueTooLarge):
            raise
        except BaseException:
            continue
    raise ValueTooLarge("an object that cannot be looked at")


class Widened:
    """Whether a number of numpy has crossed as one of more bits (`truegrade.sandbox.decode`)."""

    met = False


class Drained:
    """An iterator rebuilt from the items it gave: like a generator, equal only to itself.

    Args:
        items: what the program's iterator gave, in order.
        cut: whether it had more to give than is ever drained; going past the end then raises RuntimeError.
        raised: as plain data, what it raised behind these items.
    """

    __slots__ = ("_cut", "_items", "_raised", "is_at_end")
    remade: ClassVar[Callable[[tuple[Any, ...]], BaseException]] = lambda _: RuntimeError("the iterator failed")
    """Where tests run, what makes an exception of plain data."""
    at_end: ClassVar[Callable[[], None]] = lambda: None
    """Where tests run, what is to be done when one is read to its end."""
    made: ClassVar[list[Drained] | None] = None
    """Where tests run, all that were made since the last call."""

    def __init__(self, items: list[Any], *, cut: bool = False, raised: tuple[Any, ...] | None = None) -> None:
        self._items, self._cut, self._raised = iter(items), cut, raised
        self.is_at_end = False
        """Whether it was asked for more than it gave: until then the program may have run further than in one
        process, and what it runs over may still get longer."""
        if self.made is not None:
            self.made.append(self)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        for item in self._items:
            return item
        self.is_at_end = True
        type(self).at_end()
        if self._raised is not None:
            raised, self._raised = self._raised, None
            raise type(self).remade(raised)
        if self._cut:
            raise RuntimeError("the program's iterator had more items than are carried over")
        raise StopIteration

    def rest(self) -> tuple[bool, list[Any], tuple[Any, ...] | None]:
        """All that is left, to be sent on as it came: whether it was cut, items, what was raised behind them."""
        raised, self._raised = self._raised, None
        return self._cut, list(self._items), raised

    def __repr__(self) -> str:
        return "<an iterator>"


Drained.__name__ = Drained.__qualname__ = "iterator"  # as Python's messages tell it


class Digest:
    """What is kept of a value too large to carry: the sha256 of ``marshal.dumps(value, 2)``.

    Equal to the digest of the same value and to nothing else; to produce it, one must know the value. Not covered:
    values that are equal but written differently, such as 1 and 1.0.

    Args:
        sha256: 32 bytes.
    """

    __slots__ = ("sha256",)

    def __init__(self, sha256: bytes) -> None:
        self.sha256 = sha256

    @classmethod
    def of(cls, value: Any) -> Self:
        """The digest of a value.

        Raises:
            ValueError: it holds something other than plain built-in values, or is nested too deeply.
        """
        if type(value) is not list and type(value) is not tuple:
            return cls(sha256(dumps(value, 2)).digest())
        # Piece by piece: of a value this large there is no room for a copy. Version 2 of the format writes items
        # one after the other, without references between them.
        opening = b"[" if type(value) is list else b"("
        held = sha256(opening + _COUNT.pack(len(value)))
        for start in range(0, len(value), _PIECE):
            held.update(dumps(value[start : start + _PIECE], 2)[1 + _COUNT.size :])
        return cls(held.digest())

    def __eq__(self, other: object) -> bool:
        return type(other) is Digest and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"<value of sha256 {self.sha256.hex()[:16]}>"


_COUNT = struct.Struct("<i")
_PIECE = 1 << 16


# ----------------------- How a run can end: the values of `truegrade.records.Reason` that an executor reports.
# They are repeated here because the spawned processes load this folder's modules and nothing else of ours;
# a test keeps the two lists equal.

PASSED = "passed"
WRONG_ANSWER = "wrong_answer"
RUNTIME_ERROR = "runtime_error"
SYNTAX_ERROR = "syntax_error"
TIME_LIMIT = "time_limit"
MEMORY_LIMIT = "memory_limit"
OUTPUT_LIMIT = "output_limit"
KILLED = "killed"
TAMPERING = "tampering"
GRADER_ERROR = "grader_error"
CANNOT_GO_ON = "the tests cannot go on: "
"""How the detail of a grader error begins where the tests had seen the program, so that it may be to blame."""

OF_PROGRAMS = frozenset({RUNTIME_ERROR, SYNTAX_ERROR, MEMORY_LIMIT, OUTPUT_LIMIT})
"""What a program's process may say of itself; it can only harm itself by saying it."""

TURN_OF_TESTS, TURN_OF_PROGRAM = 0, 1
"""Who is to blame if a judged run ends without a verdict; the judge keeps it in memory that it shares."""


def of_program(claim: object) -> tuple[str, str]:
    """Status and detail that a program's process reports; anything else is tampering."""
    match claim:
        case (str(status), str(detail)) if status in OF_PROGRAMS:
            return status, detail
        case _:
            return TAMPERING, "the program reported an end of no known kind"
