"""Values as bytes, and back: the only form in which anything crosses between a program and its grader.

A value is one tag byte and what the tag needs. Lengths are unsigned 32-bit little-endian; integers are
length-prefixed two's complement, floats their 8 bytes, so nothing depends on decimal conversion:

    N T F e !  None, True, False, Ellipsis, NotImplemented        i f c     int, float, complex
    s b a      str (UTF-8, lone surrogates kept), bytes, bytearray
    l t S Z    list, tuple, set, frozenset: length, items         d O C D   dict, OrderedDict, Counter, defaultdict
    K V I      views of a dict: keys, values, items               Q G       deque, iterator (drained)
    r q        range, Fraction                                    M x y z w Decimal, date, datetime, time, delta
    n          numpy array or scalar: dtype, shape, bytes         U         anything else: the name of its type
    P          of pandas: frame, series, index or scalar, its parts    h         path of a file

`truegrade.sandbox.objects` has two tags more, for objects, where the tests hand some over.

`truegrade.sandbox.encode` runs where user code has run: of a subclass it takes the base type's own value
through the base type's own methods, so no override takes part. `truegrade.sandbox.decode` runs where
verdicts are made and believes nothing: it resolves no name, calls no method of the program, is bounded in
size, depth and time, and raises `WireError` on anything malformed.

Not covered: aliasing (a list that appears twice arrives as two lists), identity, the default factory of a
defaultdict, time zones other than their offset, types of the program's own.
"""

from __future__ import annotations

import struct

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


class Unencodable(TypeError):
    """The value is of a type that does not travel, and the sender asked to be told.

    Args:
        value: the object at fault.
    """

    def __init__(self, value: object) -> None:
        self.value = value
        super().__init__(f"a {type(value).__name__} cannot be sent to another process")
