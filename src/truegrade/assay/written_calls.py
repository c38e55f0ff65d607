"""Calls as text and back: plain values written as Python source that gives the same values again."""

from __future__ import annotations

import ast
import cmath
import math
from collections.abc import Callable, Sequence
from typing import Any

from truegrade.datasets import literal_text
from truegrade.grading.judgement import shown

MAX_SHOWN = 2000
"""Characters of a value in a witness; calls are written whole, so that they can be made again."""

_SCALARS = frozenset({type(None), bool, int, float, complex, str, bytes})
_CONTAINERS = frozenset({list, tuple, set, frozenset})
_MAX_DEPTH = 100


def is_plain(value: Any, depth: int = 0) -> bool:
    """Whether a value is made of built-in scalars, lists, tuples, sets and dictionaries alone, exactly."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    if depth > _MAX_DEPTH:
        return False
    if kind is dict:
        return all(is_plain(one, depth + 1) for pair in value.items() for one in pair)
    return kind in _CONTAINERS and all(is_plain(item, depth + 1) for item in value)


def written(value: Any) -> str:
    """A plain value as source: its ``repr``, with sets in an order that no hash seed decides.

    Infinite numbers and NaN are written ``float('inf')``, so that the text can be evaluated.

    Raises:
        ValueError: an integer has more digits than Python prints.
    """
    return literal_text.written(value, _leaf)


def _leaf(value: object) -> str:
    if type(value) is float and not math.isfinite(value):
        return f"float('{value}')"
    if type(value) is complex and not cmath.isfinite(value):
        return f"complex({_leaf(value.real)}, {_leaf(value.imag)})"
    return repr(value)


def shown_value(value: Any) -> str:
    """A value as a witness shows it: `written`, cut at `MAX_SHOWN` characters; never raises."""
    try:
        text = written(value)
    except (ValueError, RecursionError):
        return shown(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def written_call(entry_point: str, arguments: Sequence[Any]) -> str:
    """The call as source, ``f(1, [2])``.

    Raises:
        ValueError: an argument cannot be written.
    """
    return f"{entry_point}({', '.join(map(written, arguments))})"


_Reader = Callable[..., Any]
_NAMED: dict[str, _Reader] = {"float": float, "complex": complex, "set": set, "frozenset": frozenset}


def read_call(text: str) -> tuple[Any, ...]:
    """The arguments of a call that `written_call` wrote; nothing is evaluated but literals.

    Raises:
        ValueError: the text is no such call.
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or call.keywords:
            raise ValueError("not a call with positional arguments")
        return tuple(ast.literal_eval(_Named().visit(argument)) for argument in call.args)
    except (SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"not a call of plain values: {error}") from None


class _Named(ast.NodeTransformer):
    """Replaces ``float('inf')``, ``frozenset({1})`` and the like by what they stand for."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A constructor of a plain value becomes a constant, which `ast.literal_eval` takes whatever it holds."""
        if not isinstance(node.func, ast.Name) or node.func.id not in _NAMED or node.keywords:
            raise ValueError("not a plain value")
        values = [ast.literal_eval(self.visit(argument)) for argument in node.args]
        return ast.Constant(_NAMED[node.func.id](*values))
