"""Inputs that a program names: at and around its constants, as long as they say, beyond what known calls reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from truegrade.assay.generators.boundaries import constants_of
from truegrade.assay.generators.domain import Arguments, Domain
from truegrade.assay.generators.mutating import ValueMutator, finished
from truegrade.assay.generators.shapes import (
    MOST_ITEMS,
    DictShape,
    ListShape,
    NumberShape,
    RecordShape,
    Shape,
    TextShape,
    UnionShape,
    widened,
)

SPECIAL = (2**53 + 1, -0.0, "\ud800")
"""A whole number that no float holds, the zero with a sign, and a character that UTF-8 does not encode."""
_MOST_SEEDS = 2
"""Known calls, the longest of each number of arguments, one of whose arguments is replaced."""


def named_calls(
    domain: Domain, program: str, references: Sequence[str], mutator: ValueMutator, *, limit: int
) -> list[Arguments]:
    """Known calls with one argument as the program names it, those of its own constants first.

    Kinds, signs, order and relations are those of known calls; sizes are not.

    Args:
        domain: of the known calls.
        program: whole.
        references: whose constants come behind those that stand in the program alone, and behind `SPECIAL`.
        mutator: puts relations between arguments right.
        limit: the most to give.
    """
    common = {repr(constant) for constant in constants_of(references)}
    every = constants_of([program, *references])
    own = [constant for constant in every if repr(constant) not in common]
    constants = [*own, *SPECIAL, *(constant for constant in every if repr(constant) in common)]
    letters = "".join(sorted({letter for text in constants if isinstance(text, str) for letter in text}))
    rows = []
    for signature in domain.signatures:
        for seed in sorted(signature.known, key=lambda arguments: len(repr(arguments)))[-_MOST_SEEDS:]:
            for place, (shape, value) in enumerate(zip(signature.shapes, seed, strict=True)):
                wide = widened(shape, letters)
                edges = (
                    edge for constant in constants for edge in _named(wide, value, constant) if wide.fits(edge)
                )
                rows.append(
                    mutator.repaired(signature, [*seed[:place], edge, *seed[place + 1 :]]) for edge in edges
                )
    found: dict[str, Arguments] = {}
    for turn in zip_longest(*rows):
        for call in turn:
            if call is not None and len(found) < limit:
                found.setdefault(repr(call), call)
        if len(found) == limit:
            break
    return list(found.values())


def _named(  # noqa: PLR0912 (one branch a shape)
    shape: Shape, value: Any, constant: Any
) -> Iterator[Any]:
    """Values like one that have a constant in them, or as many items as it says."""
    length = constant if type(constant) is int and 0 <= constant <= MOST_ITEMS else None
    match shape:
        case NumberShape(kind=kind) if type(constant) in {int, float} and (
            kind is float or constant == constant // 1
        ):
            yield kind(constant)
        case TextShape() if isinstance(constant, str):
            yield from (constant, value + constant, constant + value)
        case TextShape() if length is not None:
            text = value or shape.alphabet[:1] or "a"
            yield (text * (length // len(text) + 1))[:length]
        case ListShape(kind=kind) if shape.items is not None:
            items = list(value)
            if items and length is not None:
                yield finished(shape, (items * (length // len(items) + 1))[:length])
            for edge in _named(shape.items, items[0], constant) if items else ():
                yield finished(shape, [edge, *items[1:]])
        case RecordShape():
            for place, (inner, item) in enumerate(zip(shape.places, value, strict=True)):
                for edge in _named(inner, item, constant):
                    yield shape.kind([*value[:place], edge, *value[place + 1 :]])
        case DictShape() if shape.keys is not None and shape.values is not None:
            for key, item in value.items():
                yield from ({**value, key: edge} for edge in _named(shape.values, item, constant))
                yield from ({**value, edge: item} for edge in _named(shape.keys, key, constant))
        case UnionShape():
            for option in shape.options:
                if option.fits(value):
                    yield from _named(option, value, constant)
