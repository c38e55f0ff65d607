"""What known calls have in common: a shape for each argument, and relations between arguments.

A shape is what generated values keep: kind, range, length, letters, order. How far it reaches beyond what was seen
is decided here: numbers up to ten times the largest one known, lengths up to three times. Where no known number is
negative, a generated one is not either, and where many values are known and none of them is zero or empty, neither
is a generated one: nothing but the statement of the problem could allow it.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf
from typing import Any

MANY = 8
"""Known values from which on it is no accident that none is zero or empty, or that all have one length."""
SOME = 3
_REACH, _LONGER = 10, 3
_LEAST_REACH, _LEAST_LENGTH = 10, 4
_LARGE = 10_000
"""A known whole number from which on a generated one may be twice as large only: work often grows with it."""
MOST_ITEMS = 300
"""Items, or characters, of a value whose length a program names."""
_CLOSE_TO_ZERO = 3
_SAME_CLASS = 4
"""Different letters of a class (lower case, capitals, digits) from which on all of them may be used."""
_CLASSES = (string.ascii_lowercase, string.ascii_uppercase, string.digits)


@dataclass(frozen=True)
class ExactShape:
    """None, a truth value, or whatever has no neighbours: one of the known values."""

    values: tuple[Any, ...]

    def fits(self, value: Any) -> bool:
        """Whether it is one of them."""
        return any(type(value) is type(known) and value == known for known in self.values)


@dataclass(frozen=True)
class NumberShape:
    """Whole or floating-point numbers between two bounds."""

    kind: type[Any]
    low: float
    high: float
    known: tuple[Any, ...] = field(compare=False)
    """Different known values, in the order met."""

    def fits(self, value: Any) -> bool:
        """Whether it is of the kind and within the bounds."""
        return type(value) is self.kind and (self.low <= value <= self.high or value in self.known)


@dataclass(frozen=True)
class TextShape:
    """Texts over an alphabet."""

    shortest: int
    longest: int
    alphabet: str
    known: tuple[str, ...] = field(compare=False)

    def fits(self, value: Any) -> bool:
        """Whether it is a text of such length and letters."""
        return (
            type(value) is str and self.shortest <= len(value) <= self.longest and set(value) <= set(self.alphabet)
        )


@dataclass(frozen=True)
class ListShape:
    """Lists, tuples or sets of items of one shape."""

    kind: type[Any]
    items: Shape | None
    """None where only empty ones are known."""
    shortest: int
    longest: int
    is_sorted: bool = False
    is_distinct: bool = False
    is_rectangular: bool = False
    """The items have lengths, the same ones in each known value."""

    def fits(self, value: Any) -> bool:
        """Whether it is of the kind, as long, and ordered as the known ones, and its items fit."""
        if type(value) is not self.kind:
            return False
        held = list(value)
        if not self.shortest <= len(held) <= self.longest:
            return False
        if self.items is None:
            return not held
        if not all(self.items.fits(item) for item in held):
            return False
        return (
            (not self.is_sorted or in_order(held))
            and (not self.is_distinct or all_differ(held))
            and (not self.is_rectangular or len({len(item) for item in held}) <= 1)
        )


@dataclass(frozen=True)
class RecordShape:
    """Lists or tuples of one length, with a shape for each place."""

    kind: type[Any]
    places: tuple[Shape, ...]

    def fits(self, value: Any) -> bool:
        """Whether each place fits."""
        if type(value) is not self.kind:
            return False
        held = list(value)
        return len(held) == len(self.places) and all(map(_fits, self.places, held))


@dataclass(frozen=True)
class DictShape:
    """Dictionaries."""

    keys: Shape | None
    values: Shape | None
    shortest: int
    longest: int

    def fits(self, value: Any) -> bool:
        """Whether keys and values fit, and there are as many."""
        if type(value) is not dict or not self.shortest <= len(value) <= self.longest:
            return False
        if self.keys is None or self.values is None:
            return not value
        return all(self.keys.fits(key) and self.values.fits(item) for key, item in value.items())


@dataclass(frozen=True)
class UnionShape:
    """Values of several kinds."""

    options: tuple[Shape, ...]

    def fits(self, value: Any) -> bool:
        """Whether one of them fits."""
        return any(option.fits(value) for option in self.options)


Shape = ExactShape | NumberShape | TextShape | ListShape | RecordShape | DictShape | UnionShape


def shape_of(values: Sequence[Any], *, nested: bool = False) -> Shape:
    """What plain values have in common; each of them fits it.

    Args:
        values: at least one.
        nested: whether they stand in other values: then a length that three of them share is kept.
    """
    by_kind: dict[type, list[Any]] = {}
    for value in values:
        by_kind.setdefault(type(value), []).append(value)
    shapes = tuple(_of_kind(kind, known, nested) for kind, known in by_kind.items())
    return shapes[0] if len(shapes) == 1 else UnionShape(shapes)


def _of_kind(  # noqa: PLR0911 (one return a kind)
    kind: type, values: list[Any], nested: bool
) -> Shape:
    if kind in {int, float}:
        return _numbers(kind, values)
    if kind is str:
        return _texts(values)
    if kind in {list, tuple, set, frozenset}:
        return _sequences(kind, values, nested)
    if kind is dict:
        shortest, longest = _lengths(values)
        keys = [key for value in values for key in value]
        items = [item for value in values for item in value.values()]
        if not keys:
            return DictShape(None, None, 0, 0)
        return DictShape(shape_of(keys, nested=True), shape_of(items, nested=True), shortest, longest)
    if kind is bool:
        return ExactShape((False, True))
    return ExactShape(tuple(_different(values)))


def widened(shape: Shape, letters: str = "") -> Shape:  # noqa: PLR0911 (one return a shape)
    """The shape without its upper bounds, for values that a program names: what is negative, empty or out of order
    only where known values are stays so.

    Args:
        shape: of known values.
        letters: that texts may hold besides.
    """
    match shape:
        case NumberShape():
            return replace(shape, low=-inf if shape.low < 0 else shape.low, high=inf)
        case TextShape():
            return replace(shape, longest=MOST_ITEMS, alphabet=shape.alphabet + letters)
        case ListShape() if shape.items is not None:
            return replace(shape, longest=MOST_ITEMS, items=widened(shape.items, letters))
        case RecordShape():
            return replace(shape, places=tuple(widened(place, letters) for place in shape.places))
        case DictShape() if shape.keys is not None and shape.values is not None:
            return replace(shape, keys=widened(shape.keys, letters), values=widened(shape.values, letters))
        case UnionShape():
            return UnionShape(tuple(widened(option, letters) for option in shape.options))
    return shape


def _numbers(kind: type, values: list[Any]) -> Shape:
    known = _different(values)
    finite = [value for value in known if abs(value) < inf]  # which NaN is not
    if not finite:
        return ExactShape(tuple(known))
    least, most = min(finite), max(finite)
    largest = max(abs(least), abs(most))
    reach = 2 * largest if largest > _LARGE else max(_REACH * largest, _LEAST_REACH)
    low = -reach if least < 0 else _lowest(least, len(known))
    return NumberShape(kind, low, reach, tuple(known))


def _lowest(least: Any, known: int) -> Any:
    """The smallest number where no known one is negative."""
    if known < MANY or least == 0:
        return 0
    return min(least, 1) if least > _CLOSE_TO_ZERO else least


def _texts(values: list[str]) -> Shape:
    shortest, longest = _lengths(values)
    letters = set("".join(values))
    for letter_class in _CLASSES:
        if len(letters & set(letter_class)) >= _SAME_CLASS and not _is_hexadecimal(letters):
            letters |= set(letter_class)
    return TextShape(shortest, longest, "".join(sorted(letters)), tuple(_different(values)))


def _is_hexadecimal(letters: set[str]) -> bool:
    return letters <= set(string.hexdigits) and any(letter.isalpha() for letter in letters)


def _sequences(kind: type, values: list[Any], nested: bool) -> Shape:
    lengths = {len(value) for value in values}
    enough = SOME if nested or kind is tuple else MANY
    if kind in {list, tuple} and len(lengths) == 1 and len(values) >= enough and 0 < max(lengths) <= MANY:
        return RecordShape(kind, tuple(shape_of(place, nested=True) for place in zip(*values, strict=True)))
    shortest, longest = _lengths(values)
    items = [item for value in values for item in value]
    if not items:
        return ListShape(kind, None, 0, 0)
    long = [list(value) for value in values if len(value) >= SOME]
    ordered = kind in {list, tuple}
    return ListShape(
        kind,
        shape_of(items, nested=True),
        shortest,
        longest,
        is_sorted=ordered and len(long) >= SOME and all(in_order(list(value)) for value in values),
        is_distinct=ordered and len(long) >= MANY and all(all_differ(list(value)) for value in values),
        is_rectangular=ordered and _rectangular(values),
    )


def _rectangular(values: list[Any]) -> bool:
    """Whether the items of each value have one length."""
    inner = [item for value in values for item in value]
    if not all(isinstance(item, list | tuple | str) for item in inner):
        return False
    return any(len(value) > 1 for value in values) and all(len({len(item) for item in v}) <= 1 for v in values)


def _lengths(values: Sequence[Any]) -> tuple[int, int]:
    """Bounds of lengths, wider than what was seen."""
    lengths = [len(value) for value in values]
    shortest = 0 if len(values) < MANY else min(lengths)
    return min(shortest, 1), max(_LONGER * max(lengths), _LEAST_LENGTH)


def _different(values: Sequence[Any]) -> list[Any]:
    return list({repr(value): value for value in values}.values())


def _fits(shape: Shape, value: Any) -> bool:
    return shape.fits(value)


def in_order(items: list[Any]) -> bool:
    """Whether the items rise or stay; False where they cannot be compared."""
    try:
        return all(bool(one <= other) for one, other in pairwise(items))
    except TypeError:
        return False


def all_differ(items: list[Any]) -> bool:
    """Whether no two items are equal."""
    return all(item not in items[:number] for number, item in enumerate(items))


Arguments = tuple[Any, ...]
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Signature:
    """Calls with one number of arguments."""

    shapes: tuple[Shape, ...]
    known: tuple[Arguments, ...]
    same_length: Pairs = ()
    """Places of arguments that are equally long in every known call."""
    sizes: Pairs = ()
    """Place of a whole number that is the length of another argument."""
    within: Pairs = ()
    """Place of a whole number from 0 to the length of another argument."""
    ordered: Pairs = ()
    """Places of numbers of which the first is never the larger."""

    def fits(self, arguments: Arguments) -> bool:
        """Whether every argument keeps its shape and all relations hold."""
        if len(arguments) != len(self.shapes):
            return False
        if not all(shape.fits(value) for shape, value in zip(self.shapes, arguments, strict=True)):
            return False
        return all(
            holds(arguments[one], arguments[other])
            for pairs, holds in zip(self._relations, _HOLDS, strict=True)
            for one, other in pairs
        )

    @property
    def _relations(self) -> tuple[Pairs, ...]:
        return self.same_length, self.sizes, self.within, self.ordered


@dataclass(frozen=True)
class Domain:
    """A signature for each number of arguments that was seen."""

    signatures: tuple[Signature, ...]

    def fits(self, arguments: Arguments) -> bool:
        """Whether a call belongs to it."""
        return any(signature.fits(arguments) for signature in self.signatures)


def infer_domain(calls: Sequence[Arguments]) -> Domain:
    """The domain of known calls, each of which fits it.

    Args:
        calls: argument tuples of plain values; at least one.
    """
    by_number: dict[int, list[Arguments]] = {}
    for arguments in calls:
        by_number.setdefault(len(arguments), []).append(arguments)
    return Domain(tuple(_signature(known) for known in by_number.values()))


def _signature(known: list[Arguments]) -> Signature:
    places = list(zip(*known, strict=True))
    return Signature(
        shapes=tuple(shape_of(values) for values in places),
        known=tuple(known),
        same_length=_pairs(places, _equally_long, SOME - 1, both_ways=False),
        sizes=_pairs(places, _is_length, SOME - 1),
        within=_pairs(places, _is_within, SOME),
        ordered=_pairs(places, _is_ordered, MANY),
    )


def _pairs(
    places: Sequence[Sequence[Any]], holds: Callable[[Any, Any], bool], least: int, *, both_ways: bool = True
) -> Pairs:
    """Pairs of places between which something holds in every known call, of which there are enough."""
    return tuple(
        (one, other)
        for one in range(len(places))
        for other in range(len(places))
        if one != other and (both_ways or one < other) and len(places[one]) >= least
        if all(holds(*values) for values in zip(places[one], places[other], strict=True))
    )


def _equally_long(one: Any, other: Any) -> bool:
    return isinstance(one, _SIZED) and isinstance(other, _SIZED) and len(one) == len(other)


def _is_length(number: Any, sized: Any) -> bool:
    return type(number) is int and isinstance(sized, _SIZED) and number == len(sized)


def _is_within(number: Any, sized: Any) -> bool:
    return type(number) is int and isinstance(sized, _SIZED) and 0 <= number <= len(sized)


def _is_ordered(one: Any, other: Any) -> bool:
    return type(one) in {int, float} and type(other) in {int, float} and bool(one <= other)


_SIZED = (str, list, tuple)
_HOLDS = (_equally_long, _is_length, _is_within, _is_ordered)
