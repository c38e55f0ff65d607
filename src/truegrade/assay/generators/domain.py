"""The domain of a function, as far as known calls tell: a shape for each argument, relations between arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from truegrade.assay.generators.shapes import MANY, SOME, Shape, shape_of

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
