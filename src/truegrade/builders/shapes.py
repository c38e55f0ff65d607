"""Shapes of values: what those that a parameter takes have in common, and values drawn from them.

A shape is read from an annotation (by an app), and then says no more than the type; or from known
values, and is then what drawn ones keep: kind, range, length, letters, order. How far it reaches beyond what was
seen is decided here: numbers up to ten times the largest one known, lengths up to three times. Where no known
number is negative, a drawn one is not either, and where many values are known and none of them is zero or empty,
neither is a drawn one: nothing but the statement of the problem could allow it.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from random import Random
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
    low: float = -inf
    high: float = inf
    known: tuple[Any, ...] = field(default=(), compare=False)
    """Different known values, in the order met."""

    def fits(self, value: Any) -> bool:
        """Whether it is of the kind and within the bounds."""
        return type(value) is self.kind and (self.low <= value <= self.high or value in self.known)


@dataclass(frozen=True)
class TextShape:
    """Texts over an alphabet."""

    shortest: int = 0
    longest: int = MOST_ITEMS
    alphabet: str = ""
    known: tuple[str, ...] = field(default=(), compare=False)
    kind: type[Any] = str
    """Or bytes, of which nothing else is known."""

    def fits(self, value: Any) -> bool:
        """Whether it is a text of such length and letters."""
        is_text = type(value) is self.kind and self.shortest <= len(value) <= self.longest
        return is_text and set(value) <= set(self.alphabet)


@dataclass(frozen=True)
class ListShape:
    """Lists, tuples or sets of items of one shape."""

    kind: type[Any]
    items: Shape | None
    """None where only empty ones are known."""
    shortest: int = 0
    longest: int = MOST_ITEMS
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

    def finished(self, items: list[Any]) -> Any:
        """The items as its kind, in its order, without doubles and of one length where it has these."""
        if self.is_rectangular and items:
            least = min(map(len, items))
            items = [item[:least] for item in items]
        if self.is_distinct and not all_differ(items):
            items = [item for number, item in enumerate(items) if item not in items[:number]]
        return self.kind(sorted(items) if self.is_sorted else items)


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
        pairs = zip(self.places, held, strict=False)
        return len(held) == len(self.places) and all(place.fits(item) for place, item in pairs)


@dataclass(frozen=True)
class DictShape:
    """Dictionaries."""

    keys: Shape | None
    values: Shape | None
    shortest: int = 0
    longest: int = MOST_ITEMS

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
    """Without any, of all kinds."""

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


def in_order(items: list[Any]) -> bool:
    """Whether the items rise or stay; False where they cannot be compared."""
    try:
        return all(bool(one <= other) for one, other in pairwise(items))
    except TypeError:
        return False


def all_differ(items: list[Any]) -> bool:
    """Whether no two items are equal."""
    return all(item not in items[:number] for number, item in enumerate(items))


# ------------------------------------------------------------------------------------------------- drawing


class ShapeDrawer:
    """Draws values of shapes; what a number, a text and a number of items is, its heirs say.

    Args:
        random: decides everything.
    """

    def __init__(self, random: Random) -> None:
        self._random = random

    def value(self, shape: Shape) -> Any:  # noqa: PLR0911 (one return a shape)
        """A value of a shape."""
        match shape:
            case NumberShape():
                return self._number(shape)
            case TextShape():
                return self._text(shape)
            case ListShape():
                return shape.finished(self._items(shape, shape.items))
            case RecordShape():
                return shape.kind([self.value(place) for place in shape.places])
            case DictShape(keys=keys, values=values):
                if keys is None or values is None:
                    return {}
                keys = self._item(keys)
                return {self.value(keys): self.value(values) for _ in range(self._count(shape))}
            case ExactShape():
                return self._random.choice(shape.values)
            case UnionShape():
                return self.value(self._random.choice(shape.options))

    def _items(self, shape: ListShape, items: Shape | None) -> list[Any]:
        if items is None:
            return []
        item = self._item(items)
        return [self.value(item) for _ in range(self._count(shape))]

    def _item(self, shape: Shape) -> Shape:
        """The shape of every item of one container."""
        return shape

    def _count(self, shape: ListShape | DictShape) -> int:
        raise NotImplementedError

    def _number(self, shape: NumberShape) -> Any:
        raise NotImplementedError

    def _text(self, shape: TextShape) -> Any:
        raise NotImplementedError
