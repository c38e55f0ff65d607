"""Comparison of two Python literals, by value and never by running anything.

Three policies, always reported together, since a verdict that hangs on the policy must say so:

``python_eq``     Python's ``==``: ``True == 1``, ``2 == 2.0``, ``-0.0 == 0.0``; sets and dicts in any order.
``strict_typed``  the same, and the types agree at every place.
``repr_exact``    both are written alike by ``repr``: the order of dictionaries and the sign of zero count too.

In all three ``nan`` equals ``nan``, unlike in Python: the question is whether the model predicted the value.
Floats are never rounded: a value one unit in the last place away is another value.
"""

from __future__ import annotations

import cmath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from truegrade.extraction.parsing import SHORT_CHARS, Literal, NotLiteral, parse_literal

SHOWN_CHARS = 80
"""Longer values are shown cut in ``why``; they are compared whole."""


class LiteralComparison(msgspec.Struct, frozen=True, kw_only=True):
    """How two literals compare under each policy."""

    python_eq: bool
    strict_typed: bool
    repr_exact: bool
    why: str = ""
    """What differs, where the policies disagree or nothing is equal; empty where all three hold."""


@dataclass(frozen=True)
class _Nan:
    """Stands for a nan, float or complex; unlike the number it equals its like."""

    written: str

    def __repr__(self) -> str:
        return self.written


def most_frequent(texts: Iterable[str]) -> tuple[str, int] | None:
    """The text whose value the most of them have under Python's ``==``, the first of several, and how many do."""
    alike: dict[object, list[str]] = {}
    for text in texts:
        value = getattr(parse_literal(text), "value", text)
        try:
            alike.setdefault(value, []).append(text)
        except TypeError:  # a list, set or dict
            alike.setdefault(repr(value), []).append(text)
    found = max(alike.values(), key=len, default=None)
    return None if found is None else (found[0], len(found))


def compare(expected: str, got: str) -> LiteralComparison:
    """Compare the source of two literals.

    An expected text that is no literal (a custom ``repr``) can only be equal as text. Never raises.
    """
    truth = _read(expected)
    answer = truth if got.strip() == getattr(truth, "source", None) else _read(got)
    if isinstance(truth, NotLiteral):
        same = expected.strip() == got.strip()
        note = f"the expected value is no literal ({truth.why}): compared as text"
        return LiteralComparison(python_eq=same, strict_typed=same, repr_exact=same, why=note)
    if isinstance(answer, NotLiteral):
        return LiteralComparison(
            python_eq=False, strict_typed=False, repr_exact=False, why=f"not a literal: {answer.why}"
        )
    # Most right answers end here, without a walk through two values.
    if answer is truth:
        return LiteralComparison(python_eq=True, strict_typed=True, repr_exact=True)
    return _compare_values(truth, answer)


def _read(text: str) -> Literal | NotLiteral:
    """The literal, with each nan replaced by `_Nan`; of a short text from memory, so that nobody may change it."""
    return _read_short(text) if len(text) <= SHORT_CHARS else _read_anew(text)


def _read_anew(text: str) -> Literal | NotLiteral:
    literal = parse_literal(text)
    return literal if isinstance(literal, NotLiteral) else Literal(literal.source, _with_equal_nan(literal.value))


_read_short = lru_cache(maxsize=4096)(_read_anew)


def _compare_values(truth: Literal, answer: Literal) -> LiteralComparison:
    wanted, given = truth.value, answer.value
    if wanted != given:
        why = f"expected {_abbreviate(truth.source)}, got {_abbreviate(answer.source)}"
        return LiteralComparison(python_eq=False, strict_typed=False, repr_exact=False, why=why)
    other_type = next(_type_differences(wanted, given), None)
    if other_type is not None:
        return LiteralComparison(python_eq=True, strict_typed=False, repr_exact=False, why=other_type)
    if _written(wanted) != _written(given):
        why = "equal, but written in another order or with another sign of zero"
        return LiteralComparison(python_eq=True, strict_typed=True, repr_exact=False, why=why)
    return LiteralComparison(python_eq=True, strict_typed=True, repr_exact=True)


def _with_equal_nan(value: Any) -> Any:
    """The value with each nan replaced by an object, which makes ``==`` what we mean at any depth."""
    match value:
        case float() | complex():
            return _Nan(repr(value)) if cmath.isnan(value) else value
        case list() | tuple() | set() | frozenset():
            return type(value)([_with_equal_nan(item) for item in value])
        case dict():
            return {_with_equal_nan(key): _with_equal_nan(item) for key, item in value.items()}
    return value


def _type_differences(wanted: Any, given: Any) -> Iterator[str]:
    """Places where two equal values differ in type, as ``int for float``."""
    if type(wanted) is not type(given):
        yield f"{type(given).__name__} for {type(wanted).__name__}"
    elif isinstance(wanted, (list, tuple)):
        for one, other in zip(wanted, given, strict=True):
            yield from _type_differences(one, other)
    elif isinstance(wanted, (set, frozenset)):
        yield from _in_pairs(wanted, given)
    elif isinstance(wanted, dict):
        yield from _in_pairs(wanted, given)
        for key, item in wanted.items():
            yield from _type_differences(item, given[key])


def _in_pairs(wanted: Iterable[Any], given: Iterable[Any]) -> Iterator[str]:
    """Type differences between elements that are equal; both hold the same ones in any order."""
    # A set can tell that it holds 1, and not whether that is True: a table gives the element itself back.
    stored = {item: item for item in given}
    for item in wanted:
        yield from _type_differences(item, stored[item])


def _written(value: Any) -> str:
    """What ``repr`` writes, with the elements of sets in one order and integers of any length."""
    match value:
        case bool():
            return repr(value)
        case int():
            # `repr` refuses integers of more than 4,300 digits.
            return hex(value)
        case list() | tuple():
            return f"{type(value).__name__}({','.join([_written(item) for item in value])})"
        case set() | frozenset():
            return f"{type(value).__name__}({','.join(sorted([_written(item) for item in value]))})"
        case dict():
            return f"dict({','.join([f'{_written(key)}:{_written(item)}' for key, item in value.items()])})"
    return repr(value)


def _abbreviate(source: str) -> str:
    return source if len(source) <= SHOWN_CHARS else f"{source[:SHOWN_CHARS]}... ({len(source)} characters)"
