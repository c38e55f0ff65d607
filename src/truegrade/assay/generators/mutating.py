"""Inputs near known ones: a few changes that keep kinds, ranges, lengths and order.

The idea of changing known arguments by their types, and the share of values that are taken from other known
values, are those of evalplus/evalplus@26d6d00 (evalplus/gen/type_mut.py); here every change is bounded by a shape.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from truegrade.assay.generators.domain import (
    Arguments,
    DictShape,
    ExactShape,
    ListShape,
    NumberShape,
    RecordShape,
    Shape,
    Signature,
    TextShape,
    UnionShape,
    all_differ,
)

MOST_STEPS = 5
"""Changes of one input, as in EvalPlus."""
INGREDIENT, TEXT_INGREDIENT = 0.5, 0.4
"""Share of numbers, and of texts, that are replaced by known ones, as in EvalPlus."""
_WORDS_AT_ONCE = 3
_TRIES = 8
_FRESH_ITEMS = 4
_DIGITS = 3
"""Decimal places of floating-point numbers that are made anew."""


class ValueMutator:
    """Changes values within their shapes.

    Args:
        rng: decides everything.
        constants: numbers and texts of programs, used like known values where a shape takes them.
    """

    def __init__(self, rng: random.Random, constants: Sequence[Any] = ()) -> None:
        self._rng, self._constants = rng, tuple(constants)

    def mutated_call(self, signature: Signature) -> Arguments:
        """A known call after 1 to `MOST_STEPS` changes; relations between arguments still hold."""
        rng = self._rng
        arguments = list(rng.choice(signature.known))
        for _ in range(rng.randint(1, MOST_STEPS)):
            if not arguments:
                break
            place = rng.randrange(len(arguments))
            if len(signature.known) > 1 and rng.random() < 1 / (2 * MOST_STEPS):
                arguments[place] = rng.choice(signature.known)[place]
            else:
                arguments[place] = self.mutated(signature.shapes[place], arguments[place])
        return self.repaired(signature, arguments)

    def repaired(self, signature: Signature, arguments: Sequence[Any]) -> Arguments:
        """The arguments with what hangs together put right."""
        held = list(arguments)
        for one, other in signature.same_length:
            least = min(len(held[one]), len(held[other]))
            held[one], held[other] = held[one][:least], held[other][:least]
        for number, sized in signature.sizes:
            held[number] = len(held[sized])
        for number, sized in signature.within:
            held[number] = max(0, min(held[number], len(held[sized])))
        for one, other in signature.ordered:
            if held[one] > held[other]:
                held[one], held[other] = held[other], held[one]
        return tuple(held)

    # -------------------------------------------------------------------------------------------- values

    def mutated(self, shape: Shape, value: Any) -> Any:  # noqa: PLR0911 (one return a shape)
        """A neighbour of a value that fits the shape, or the value itself."""
        match shape:
            case NumberShape():
                return self._number(shape, value)
            case TextShape():
                return self._text(shape, value)
            case ListShape():
                return self._list(shape, value)
            case RecordShape():
                return self._record(shape, value)
            case DictShape():
                return self._dict(shape, value)
            case ExactShape():
                return self._rng.choice(shape.values)
            case UnionShape():
                fitting = [option for option in shape.options if option.fits(value)] or list(shape.options)
                return self.mutated(self._rng.choice(fitting), value)

    def fresh(self, shape: Shape) -> Any:  # noqa: PLR0911 (one return a shape)
        """A value of the shape, from nothing."""
        rng = self._rng
        match shape:
            case NumberShape():
                return self._number(shape, rng.choice(shape.known))
            case TextShape():
                return self._text(shape, rng.choice(shape.known))
            case ListShape():
                count = 0 if shape.items is None else rng.randint(shape.shortest, min(shape.longest, _FRESH_ITEMS))
                return finished(shape, [self.fresh(shape.items) for _ in range(count)] if shape.items else [])
            case RecordShape():
                return shape.kind(self.fresh(place) for place in shape.places)
            case DictShape():
                if shape.keys is None or shape.values is None:
                    return {}
                count = rng.randint(shape.shortest, min(shape.longest, _FRESH_ITEMS))
                return {self.fresh(shape.keys): self.fresh(shape.values) for _ in range(count)}
            case ExactShape():
                return rng.choice(shape.values)
            case UnionShape():
                return self.fresh(rng.choice(shape.options))

    def _number(self, shape: NumberShape, value: Any) -> Any:
        rng = self._rng
        if rng.random() < INGREDIENT:
            return rng.choice([*shape.known, *self._fitting(shape)])
        if shape.kind is int:
            changed = value + rng.choice((-1, 1, -1, 1, -value, value, rng.randint(-10, 10)))
        elif rng.random() < INGREDIENT:
            changed = round(value + rng.uniform(-1, 1), _DIGITS)
        else:
            changed = round(value * rng.uniform(0.5, 1.5), _DIGITS)
        return changed if shape.fits(changed) else value

    def _text(self, shape: TextShape, value: str) -> str:
        rng = self._rng
        if rng.random() < TEXT_INGREDIENT:
            return rng.choice(shape.known)
        place = rng.randint(0, len(value))
        end = min(len(value), place + rng.randint(1, _WORDS_AT_ONCE))
        letter = rng.choice(shape.alphabet) if shape.alphabet else ""
        changed = rng.choice(
            (
                value[:place] + value[end:],
                value[:place] + letter + value[place:],
                value[:place] + letter + value[end:],
                value[:place] + value[place:end] * 2 + value[end:],
                value[:place] + rng.choice(self._words(shape)) + value[place:],
                value[:place] + value[place:][::-1],
            )
        )
        return changed if shape.fits(changed) else value

    def _words(self, shape: TextShape) -> list[str]:
        words = [word for text in shape.known for word in text.split()] or [""]
        return [*words, *self._fitting(shape)]

    def _fitting(self, shape: NumberShape | TextShape) -> list[Any]:
        return [constant for constant in self._constants if shape.fits(constant)]

    def _list(self, shape: ListShape, value: Any) -> Any:
        if shape.items is None:
            return value
        for _ in range(_TRIES):
            changed = finished(shape, self._changed_items(shape, shape.items, list(value)))
            if shape.fits(changed):
                return changed
        return value

    def _changed_items(self, shape: ListShape, items_of: Shape, items: list[Any]) -> list[Any]:
        rng = self._rng
        if not items:
            return [self.fresh(items_of)]
        place = rng.randrange(len(items))
        match rng.randrange(5):
            case 0:
                del items[place]
            case 1:
                items.insert(rng.randint(0, len(items)), self.mutated(items_of, items[place]))
            case 2:
                items.append(items[place])
            case 3 if not shape.is_sorted:
                rng.shuffle(items)
            case _:
                items[place] = self.mutated(items_of, items[place])
        return items

    def _record(self, shape: RecordShape, value: Any) -> Any:
        items = list(value)
        place = self._rng.randrange(len(items))
        items[place] = self.mutated(shape.places[place], items[place])
        return shape.kind(items)

    def _dict(self, shape: DictShape, value: dict[Any, Any]) -> dict[Any, Any]:
        if shape.keys is None or shape.values is None:
            return value
        rng, changed = self._rng, dict(value)
        keys = list(changed)
        match rng.randrange(3) if keys else 1:
            case 0:
                del changed[rng.choice(keys)]
            case 1:
                changed[self.fresh(shape.keys)] = self.fresh(shape.values)
            case _:
                key = rng.choice(keys)
                changed[key] = self.mutated(shape.values, changed[key])
        return changed if shape.fits(changed) else value


def finished(shape: ListShape, items: list[Any]) -> Any:
    """The items as the shape's kind, in its order, without doubles and of one length where it has these."""
    if shape.is_rectangular and items:
        least = min(map(len, items))
        items = [item[:least] for item in items]
    if shape.is_distinct and not all_differ(items):
        items = [item for number, item in enumerate(items) if item not in items[:number]]
    if shape.is_sorted:
        items = sorted(items)
    return shape.kind(items)
