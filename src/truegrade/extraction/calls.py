"""Calls as text: their name, their arguments, and whether two of them are the same."""

from __future__ import annotations

import ast
from typing import Any

from truegrade.extraction.literals import NotALiteralError, evaluate
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, parse_expression


def call_named(node: object) -> str | None:
    """Name of the function if the tree is a call of a name or of a method, else None."""
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name
    return None


def parse_call(function: str, arguments: str) -> ast.Call | None:
    """The tree of ``function(arguments)``; None if that is not one call."""
    call = parse_expression(f"{function}({arguments}\n)")
    # `1) + f(2` would close the call early: then the tree is no call, or its function is one itself.
    return call if isinstance(call, ast.Call) and isinstance(call.func, ast.Name | ast.Attribute) else None


def parse_arguments(text: str) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Positional and keyword values of the text inside a call's parentheses; None unless all are literals."""
    call = parse_call("f", text) if len(text) <= MAX_SOURCE_CHARS else None
    if call is None or not isinstance(call.func, ast.Name):
        return None
    names = [keyword.arg for keyword in call.keywords]
    if None in names or len(set(names)) < len(names):
        return None
    try:
        positional = tuple([evaluate(argument) for argument in call.args])
        values = [evaluate(keyword.value) for keyword in call.keywords]
    except NotALiteralError:
        return None
    return positional, {str(name): value for name, value in zip(names, values, strict=True)}


def inside(call_source: str) -> str:
    """Text between the parentheses of a call, given the call's own text."""
    tree = parse_expression(call_source)
    called = ast.get_source_segment(call_source, tree.func) if isinstance(tree, ast.Call) else None
    return call_source[call_source.index("(", len(called or "")) + 1 : -1]


def same_arguments(one: ast.Call, other: ast.Call) -> bool:
    """Whether two calls pass the same values.

    Keywords are compared by name where both calls use the same ones, else in the order written: ``f(n=1)`` and
    ``f(1)`` are the same call, as the text alone does not name the parameters.
    """
    return _by_name(one, other) or _in_order(one) == _in_order(other)


def _by_name(one: ast.Call, other: ast.Call) -> bool:
    if len(one.keywords) != len(other.keywords) or len(one.args) != len(other.args):
        return False
    named = [{word.arg: word.value for word in call.keywords} for call in (one, other)]
    if named[0].keys() != named[1].keys():
        return False
    pairs = [*zip(one.args, other.args, strict=True), *((named[0][name], named[1][name]) for name in named[0])]
    return all(_written(left) == _written(right) for left, right in pairs)


def _in_order(call: ast.Call) -> list[str]:
    return [_written(node) for node in [*call.args, *(word.value for word in call.keywords)]]


def _written(node: ast.expr) -> str:
    """An expression without its layout and choice of quotes."""
    try:
        return ast.dump(node)
    except (RecursionError, ValueError):  # ValueError: an integer of more digits than this interpreter writes
        return f"not written: {id(node)}"
