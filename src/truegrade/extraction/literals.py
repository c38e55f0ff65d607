"""Python literals, read by `ast` and never evaluated by Python itself.

Beyond `ast.literal_eval` these spellings are literals, because `repr` writes them or nothing shorter exists:
``nan``, ``inf``, ``nanj``, ``infj``, ``float('nan')``, ``float("-inf")``, ``set()``, ``frozenset()`` and
``frozenset`` of one literal. Names, other calls, arithmetic, f-strings with expressions and ``...`` are not.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Hashable, Iterable
from typing import Any

import msgspec

from truegrade.extraction.parsing import (
    MAX_NESTING,
    MAX_SOURCE_CHARS,
    TOO_DEEP,
    TOO_LONG,
    Fault,
    parse_expression,
)

_NAMED: dict[str, Any] = {
    "nan": math.nan,
    "inf": math.inf,
    "nanj": complex(0.0, math.nan),
    "infj": complex(0.0, math.inf),
}
_NAMED_FLOAT = re.compile(r"\s*[+-]?(?:nan|inf|infinity)\s*", re.IGNORECASE | re.ASCII)
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[\w+#.-]*[ \t\r]*$", re.MULTILINE)
_MANY = 1000
_MAX_SAME_HASH = 100


class Literal(msgspec.Struct, frozen=True):
    """A literal: the text it was read from and the value it writes."""

    source: str
    value: Any


class NotLiteral(msgspec.Struct, frozen=True):
    """Why text is no literal, in a few words."""

    why: str
    exceeded: bool = False
    """It may well be one, but is not read: `TOO_LONG` or `TOO_DEEP`."""


class NotALiteralError(ValueError):
    """Raised by `evaluate`; the message says what stands where a literal should."""


def parse_literal(text: str) -> Literal | NotLiteral:
    """Read text that is one literal and nothing else (blanks and a comment aside). Never raises."""
    source = text.strip()
    if not source:
        return NotLiteral("empty")
    if len(source) > MAX_SOURCE_CHARS:
        return NotLiteral(TOO_LONG, exceeded=True)
    tree = parse_expression(source)
    if isinstance(tree, Fault):
        return NotLiteral(tree.exceeded or "not an expression", exceeded=bool(tree.exceeded))
    try:
        return Literal(source, evaluate(tree))
    except NotALiteralError as error:
        return NotLiteral(str(error))


def is_literal(tree: ast.expr) -> bool:
    """Whether a tree is a literal."""
    try:
        evaluate(tree)
    except NotALiteralError:
        return False
    return True


def evaluate(tree: ast.expr) -> Any:
    """The value that a literal writes.

    Raises:
        NotALiteralError: the tree holds anything else, is nested deeper than `MAX_NESTING`, or writes a set or
            dictionary that cannot be built.
    """
    try:
        return _evaluate(tree, MAX_NESTING)
    except RecursionError:  # of a caller that is deep in calls itself
        raise NotALiteralError(TOO_DEEP) from None


def strip_decoration(text: str) -> str:
    """The text without fence lines, and without the back-ticks or bold marks around the whole of it."""
    bare = _FENCE_LINE.sub("", text).strip()
    for mark in ("**", "`", "`", "`", "**"):
        if len(bare) >= 2 * len(mark) and bare.startswith(mark) and bare.endswith(mark):
            bare = bare[len(mark) : -len(mark)].strip()
    return bare


def _evaluate(node: ast.expr, depth: int) -> Any:
    if depth < 0:
        raise NotALiteralError(TOO_DEEP)
    match node:
        case ast.List(elts=elements):
            value: Any = [_evaluate(element, depth - 1) for element in elements]
        case ast.Tuple(elts=elements):
            value = tuple([_evaluate(element, depth - 1) for element in elements])
        case ast.Set(elts=elements):
            value = set(_hashable([_evaluate(element, depth - 1) for element in elements]))
        case ast.Dict(keys=keys, values=values):
            value = _dictionary(keys, values, depth - 1)
        case ast.Call():
            value = _named_call(node, depth - 1)
        case ast.JoinedStr(values=parts) if all(isinstance(part, ast.Constant) for part in parts):
            value = "".join(str(_evaluate(part, depth)) for part in parts)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as sign, right=right):
            value = _complex(_signed(left), sign, _number(right))
        case ast.Constant(value=value):
            if value is Ellipsis:
                raise NotALiteralError("a placeholder `...`")
        case _:
            value = _signed(node)
    return value


def _dictionary(keys: list[ast.expr | None], values: list[ast.expr], depth: int) -> dict[Any, Any]:
    if None in keys:
        raise NotALiteralError("unpacks `**` into a dictionary")
    names = _hashable([_evaluate(key, depth) for key in keys if key is not None])
    return dict(zip(names, (_evaluate(value, depth) for value in values), strict=True))


def _hashable(values: list[Any]) -> list[Any]:
    """The values, if a set of them can be built in linear time.

    Integers that differ by a multiple of 2**61 - 1 share a hash; a megabyte of them would take minutes.
    """
    try:
        hashes = [hash(value) for value in values]
    except TypeError:
        raise NotALiteralError("an unhashable element of a set or key of a dictionary") from None
    if len(values) > _MANY and _most_common(hashes) > _MAX_SAME_HASH:
        raise NotALiteralError("a set or dictionary of colliding keys")
    return values


def _most_common(items: Iterable[Hashable]) -> int:
    from collections import Counter

    return Counter(items).most_common(1)[0][1]


def _named_call(call: ast.Call, depth: int) -> Any:
    match call:
        case ast.Call(func=ast.Name() as name) if not _as_written(name):
            pass
        case ast.Call(func=ast.Name(id="set"), args=[], keywords=[]):
            return set()
        case ast.Call(func=ast.Name(id="frozenset"), args=[], keywords=[]):
            return frozenset()
        case ast.Call(func=ast.Name(id="frozenset"), args=[elements], keywords=[]):
            value = _evaluate(elements, depth)
            if isinstance(value, (list, tuple, set, frozenset, str, bytes, dict)):
                return frozenset(_hashable(list(value)))
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(name))], keywords=[]):
            if _NAMED_FLOAT.fullmatch(name):
                return float(name)
    raise NotALiteralError("a function call")


def _as_written(name: ast.Name) -> bool:
    """Whether a name has these letters in the text too: Python folds others, such as full-width ones, to them."""
    return name.end_col_offset == name.col_offset + len(name.id)


def _signed(node: ast.expr) -> Any:
    """A number with at most one sign, as `ast.literal_eval` has it."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return +_number(operand)
    return _number(node)


def _number(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value) if type(value) in {int, float, complex}:
            return value
        case ast.Name(id=name) if name in _NAMED and _as_written(node):
            return _NAMED[name]
        case ast.Call(func=ast.Name(id="float")):
            return _named_call(node, 0)
        case ast.Name(id=name):
            raise NotALiteralError(f"the name `{name[:40]}`")
    raise NotALiteralError("an expression that would have to be computed")


def _complex(real: Any, sign: ast.operator, imaginary: Any) -> complex:
    """``real ± imaginary``, put together without adding so that ``repr`` round-trips, signed zeros included."""
    if isinstance(real, complex) or not isinstance(imaginary, complex):
        raise NotALiteralError("an expression that would have to be computed")
    try:
        return complex(real, -imaginary.imag if isinstance(sign, ast.Sub) else imaginary.imag)
    except OverflowError:
        raise NotALiteralError("a number too large for a complex") from None
