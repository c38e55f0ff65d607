"""Values as the text of one literal, the same in every process."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

from truegrade.extraction.parsing import Literal, parse_literal

MAX_OUTPUT_CHARS = 1000
"""Longer values are no answer that a model could be asked for."""


def literal_text(value: object, max_chars: int = MAX_OUTPUT_CHARS) -> str | None:
    """What ``repr`` writes, with the elements of sets in sorted order; None if that is no literal.

    No literal: objects of other than the built-in types, nan and infinities, values that contain themselves or
    are nested too deeply, and text longer than ``max_chars``.
    """
    try:
        text = written(value, _leaf)
    except (_NoLiteral, ValueError, RecursionError):  # ValueError: an integer of more than 4,300 digits
        return None
    if len(text) > max_chars or not isinstance(parse_literal(text), Literal):
        return None
    return text


def call_text(function: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """``f(1, k=2)``; None if an argument is no literal."""
    texts = [literal_text(value) for value in (*args, *kwargs.values())]
    if None in texts:
        return None
    names = [""] * len(args) + [f"{name}=" for name in kwargs]
    return f"{function}({', '.join(f'{name}{text}' for name, text in zip(names, texts, strict=True))})"


class _NoLiteral(Exception):
    """A part of the value cannot be written."""


def written(value: Any, leaf: Callable[[Any], str]) -> str:
    """Lists, tuples, sets and dictionaries as ``repr`` writes them; the order of sets no hash seed decides.

    Args:
        value: whole.
        leaf: writes every other value.
    """
    kind = type(value)
    if kind is dict:
        return f"{{{', '.join([f'{written(key, leaf)}: {written(item, leaf)}' for key, item in value.items()])}}}"
    if kind not in {list, tuple, set, frozenset}:
        return leaf(value)
    items = [written(item, leaf) for item in value]
    if kind is list:
        return f"[{', '.join(items)}]"
    if kind is tuple:
        return f"({', '.join(items)}{',' * (len(items) == 1)})"
    inside = f"{{{', '.join(sorted(items))}}}" if items else ""
    return inside if kind is set and items else f"{kind.__name__}({inside})"


def _leaf(value: object) -> str:
    if value is None or type(value) in {bool, int, str, bytes}:
        return repr(value)
    if type(value) in {float, complex} and cmath.isfinite(value):  # type: ignore[arg-type]  # it is a number
        return repr(value)
    raise _NoLiteral
