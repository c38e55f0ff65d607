"""Inputs of the domain of a problem, beyond those that its tests use.

At its edges: empty, one item, all equal, in order, doubled; zero, constants of programs. Near known ones. And
those that a program names: at and around its constants, as long as they say, beyond what known calls reach.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import Any

from truegrade.apps.assay.answers import written_call
from truegrade.apps.assay.input_domain import Arguments, Domain, Signature, ValueMutator, infer_domain
from truegrade.builders import shapes
from truegrade.extraction.parsing import quietly
from truegrade.files import syntax
from truegrade.files.threads import by_turns

MOST_SEEDS = 6
"""Known calls, the shortest first, whose arguments are taken to the edges one by one."""
_MOST_EDGES = 40
"""Of one value."""
_MOST_ITEMS = 3
"""Items of a sequence that are replaced by each edge of an item."""


_TRIES = 6
"""Inputs drawn for each one wanted: many of a narrow domain are drawn twice."""


def generated_calls(
    known: Sequence[Arguments],
    programs: Iterable[str],
    *,
    seed: int | str,
    limit: int,
    domain: Domain | None = None,
) -> list[Arguments]:
    """New inputs: up to half of them at the edges of the domain, the others near known ones.

    Whether they are inputs of the problem is not decided here: the references are to be asked.

    ``programs`` are the references and those to be told from them; the other arguments are those of
    `truegrade.apps.assay.oracle.generated_inputs`.
    """
    if not known or limit <= 0:
        return []
    domain = domain or infer_domain(known)
    constants = constants_of(programs)
    rng = random.Random(f"{seed}")
    mutator = ValueMutator(rng, constants)
    seen = {written_call("", arguments) for arguments in known}
    kept: list[Arguments] = []

    def keep(candidates: Iterable[Arguments], most: int) -> None:
        for arguments in candidates:
            if len(kept) >= most:
                return
            try:
                call = written_call("", arguments)
            except ValueError:
                continue
            if call not in seen:
                seen.add(call)
                kept.append(arguments)

    edges = [boundary_calls(signature, constants, mutator) for signature in domain.signatures]
    keep(by_turns(edges), (limit + 1) // 2)
    weights = [len(signature.known) for signature in domain.signatures]
    drawn = rng.choices(domain.signatures, weights, k=_TRIES * limit)
    keep((mutator.mutated_call(signature) for signature in drawn), limit)
    return kept


def constants_of(programs: Iterable[str]) -> tuple[Any, ...]:
    """Numbers, with their neighbours, and texts that stand in programs; of one that does not parse, none."""
    found: dict[str, Any] = {}
    for program in programs:
        try:
            with quietly():
                tree = syntax.parse(program)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if id(node) not in documentation:
                for value in _around(_folded(node)):
                    found.setdefault(repr(value), value)
    return tuple(found.values())


def _folded(node: ast.AST) -> object:
    """The value of a constant, or of an expression of constants alone that the compiler folds; else None."""
    if isinstance(node, ast.Constant):
        return node.value
    if not isinstance(node, ast.BinOp | ast.UnaryOp) or any(isinstance(part, ast.Name) for part in ast.walk(node)):
        return None
    code = syntax.compiled(ast.Expression(node), "<constant>", "eval")
    return code.co_consts[0] if len(code.co_consts) == 1 and not code.co_names else None


def _around(constant: object) -> tuple[Any, ...]:
    if type(constant) is int:
        return constant, constant - 1, constant + 1, -constant, 2 * constant
    if type(constant) is float:
        return constant, constant - 1, constant + 1
    return (constant,) if type(constant) is str else ()


def boundary_calls(signature: Signature, constants: Sequence[Any], mutator: ValueMutator) -> Iterator[Arguments]:
    """Known calls with one argument at an edge, then those with every argument at one; relations still hold.

    ``constants`` are those of the reference and of programs to be told from it (`constants_of`).
    """
    seeds = sorted(signature.known, key=lambda arguments: len(repr(arguments)))[:MOST_SEEDS]
    for seed in seeds:
        edges = [_edges(shape, value, constants) for shape, value in zip(signature.shapes, seed, strict=True)]
        for place, values in enumerate(edges):
            for value in values:
                yield mutator.repaired(signature, [*seed[:place], value, *seed[place + 1 :]])
        for together in zip(*edges, strict=False):
            yield mutator.repaired(signature, together)


def _edges(shape: shapes.Shape, value: Any, constants: Sequence[Any]) -> list[Any]:
    """Values at the edges of a shape, near a value that fits it; all of them fit."""
    found: dict[str, Any] = {}
    for edge in _candidates(shape, value, constants):
        if shape.fits(edge):
            found.setdefault(repr(edge), edge)
        if len(found) == _MOST_EDGES:
            break
    return list(found.values())


def _candidates(  # noqa: PLR0912 (one branch a shape)
    shape: shapes.Shape, value: Any, constants: Sequence[Any]
) -> Iterator[Any]:
    match shape:
        case shapes.NumberShape():
            yield from _numbers(shape, value, constants)
        case shapes.TextShape():
            yield from _texts(shape, value, constants)
        case shapes.ListShape():
            yield from _lists(shape, value, constants)
        case shapes.RecordShape():
            for place, item in enumerate(value):
                for edge in _edges(shape.places[place], item, constants):
                    yield shape.kind([*value[:place], edge, *value[place + 1 :]])
        case shapes.DictShape():
            yield {}
            for key, item in value.items():
                yield {key: item}
                if shape.values is not None:
                    yield from ({**value, key: edge} for edge in _edges(shape.values, item, constants))
        case shapes.ExactShape():
            yield from shape.values
        case shapes.UnionShape():
            for option in shape.options:
                if option.fits(value):
                    yield from _edges(option, value, constants)


def _numbers(shape: shapes.NumberShape, value: Any, constants: Sequence[Any]) -> Iterator[Any]:
    least, most = min(shape.known), max(shape.known)
    for number in (0, 1, -1, 2, least, most, value - 1, value + 1, -value, most + 1, least - 1):
        yield shape.kind(number)
    for constant in constants:
        if isinstance(constant, int | float) and abs(constant) < float("inf"):
            yield shape.kind(constant)
    if shape.kind is float:
        yield from (value + 0.5, -0.5, 0.5, float(round(value)))


def _texts(shape: shapes.TextShape, value: str, constants: Sequence[Any]) -> Iterator[str]:
    letters = shape.alphabet
    yield from ("", value[:1], value[-1:], value[:1] * 3, value * 2, value[::-1], value[1:], value[:-1])
    yield from (value.upper(), value.lower(), value.swapcase(), f" {value}", f"{value} ", value.replace(" ", "  "))
    yield from ("".join(sorted(value)), value + value[::-1], letters[:1], letters[-1:], letters[-1:] * 2)
    for constant in constants:
        if isinstance(constant, str):
            yield from (constant, constant + value, value + constant, value[:1] + constant + value[1:])


def _lists(shape: shapes.ListShape, value: Any, constants: Sequence[Any]) -> Iterator[Any]:
    items = list(value)
    if shape.items is None:
        return
    yield from map(shape.finished, (items[:0], items[:1], items[-1:], items[:2]))
    yield from map(shape.finished, (items[:1] * 2, items[:1] * 3, items[:1] * len(items), items * 2))
    yield from map(shape.finished, (items[::-1], items[1:], items[:-1], items + items[-1:]))
    with suppress(TypeError):
        yield shape.finished(sorted(items))
        yield shape.finished(sorted(items, reverse=True))
    for place in (0, len(items) - 1, len(items) // 2)[: min(_MOST_ITEMS, len(items))]:
        for edge in _edges(shape.items, items[place], constants):
            yield shape.finished([*items[:place], edge, *items[place + 1 :]])
            if place == 0:
                yield shape.finished([edge])


SPECIAL = (2**53 + 1, -0.0, "\ud800")
"""A whole number that no float holds, the zero with a sign, and a character that UTF-8 does not encode."""
_MOST_SEEDS = 2
"""Known calls, the longest of each number of arguments, one of whose arguments is replaced."""


def named_calls(
    domain: Domain, program: str, references: Sequence[str], mutator: ValueMutator, *, limit: int
) -> list[Arguments]:
    """Known calls with one argument as the program names it, those of its own constants first.

    Kinds, signs, order and relations are those of known calls; sizes are not. The constants of the references come
    behind those that stand in the program alone, and behind `SPECIAL`.
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
                    edge
                    for constant in constants
                    for edge in _with_constant(wide, value, constant)
                    if wide.fits(edge)
                )
                rows.append(
                    mutator.repaired(signature, [*seed[:place], edge, *seed[place + 1 :]]) for edge in edges
                )
    found: dict[str, Arguments] = {}
    for call in by_turns(rows):
        found.setdefault(repr(call), call)
        if len(found) == limit:
            break
    return list(found.values())


def widened(shape: shapes.Shape, letters: str = "") -> shapes.Shape:  # noqa: PLR0911 (one return a shape)
    """The shape without its upper bounds, for values that a program names: what is negative, empty or out of order
    only where known values are stays so. Texts may hold ``letters`` besides.
    """
    match shape:
        case shapes.NumberShape():
            return replace(shape, low=-inf if shape.low < 0 else shape.low, high=inf)
        case shapes.TextShape():
            return replace(shape, longest=shapes.MOST_ITEMS, alphabet=shape.alphabet + letters)
        case shapes.ListShape() if shape.items is not None:
            return replace(shape, longest=shapes.MOST_ITEMS, items=widened(shape.items, letters))
        case shapes.RecordShape():
            return replace(shape, places=tuple(widened(place, letters) for place in shape.places))
        case shapes.DictShape() if shape.keys is not None and shape.values is not None:
            return replace(shape, keys=widened(shape.keys, letters), values=widened(shape.values, letters))
        case shapes.UnionShape():
            return shapes.UnionShape(tuple(widened(option, letters) for option in shape.options))
    return shape


def _with_constant(  # noqa: PLR0912 (one branch a shape)
    shape: shapes.Shape, value: Any, constant: Any
) -> Iterator[Any]:
    """Values like one that have a constant in them, or as many items as it says."""
    length = constant if type(constant) is int and 0 <= constant <= shapes.MOST_ITEMS else None
    match shape:
        case shapes.NumberShape(kind=kind) if type(constant) in {int, float} and (
            kind is float or constant == constant // 1
        ):
            yield kind(constant)
        case shapes.TextShape() if isinstance(constant, str):
            yield from (constant, value + constant, constant + value)
        case shapes.TextShape() if length is not None:
            text = value or shape.alphabet[:1] or "a"
            yield (text * (length // len(text) + 1))[:length]
        case shapes.ListShape(kind=kind) if shape.items is not None:
            items = list(value)
            if items and length is not None:
                yield shape.finished((items * (length // len(items) + 1))[:length])
            for edge in _with_constant(shape.items, items[0], constant) if items else ():
                yield shape.finished([edge, *items[1:]])
        case shapes.RecordShape():
            for place, (inner, item) in enumerate(zip(shape.places, value, strict=True)):
                for edge in _with_constant(inner, item, constant):
                    yield shape.kind([*value[:place], edge, *value[place + 1 :]])
        case shapes.DictShape() if shape.keys is not None and shape.values is not None:
            for key, item in value.items():
                yield from ({**value, key: edge} for edge in _with_constant(shape.values, item, constant))
                yield from ({**value, edge: item} for edge in _with_constant(shape.keys, key, constant))
        case shapes.UnionShape():
            for option in shape.options:
                if option.fits(value):
                    yield from _with_constant(option, value, constant)
