"""Test source in which one assertion asks for something else, so that no honest program passes it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from truegrade.assay.records import Impossible
from truegrade.builders.mutation.mutant_sources import Text
from truegrade.extraction.parsing import quietly

MANY = 1e15
"""Beyond it adding one may leave a float as it is."""


class TestChange(msgspec.Struct, frozen=True, kw_only=True):
    """Changed tests, and what was changed."""

    __test__ = False  # no test of pytest's

    tests: str
    assertion: str
    """The one that was changed or doubled, as it stood."""
    instead: str
    """What it became, or what was put behind it."""
    expected: str
    """The value that it asked for, as source; or a sentence."""
    now: str
    """The value that is asked for now."""


def other_value(value: object) -> object:
    """A plain value of the same type that is not equal to a given one; of a float a distant one, of None 0."""
    other = _OTHER.get(type(value))
    return 0 if other is None else other(value)


def _new_item(items: list[object]) -> object:
    """A value like the last of several, and equal to none of them."""
    new = other_value(items[-1]) if items else 0
    while new in items:
        new = other_value(new)
    return new


_OTHER: dict[type[Any], Callable[[Any], Any]] = {
    bool: lambda value: not value,
    int: lambda value: value + 1,
    # Far, as some tests allow a tolerance.
    float: lambda value: 2 * abs(value) + 1 if abs(value) < MANY else 0.0,
    complex: lambda value: value + 1 if abs(value) < MANY else 0j,
    str: lambda value: f"{value}!",
    bytes: lambda value: value + b"!",
    list: lambda value: [*value, _new_item(value)],
    tuple: lambda value: (*value, _new_item([*value])),
    set: lambda value: {*value, _new_item(sorted(value, key=repr))},
    frozenset: lambda value: value | {_new_item(sorted(value, key=repr))},
    dict: lambda value: {**value, _new_item(list(value)): None},
}


def change_tests(tests: str, names: frozenset[str], how: Impossible, at: int = -1) -> TestChange | None:
    """Test source with one comparable assertion changed, or doubled with another value.

    One that compares a call with a literal is taken; else one about a call, else any, and what it says is denied.

    Args:
        tests: Python source.
        names: by which the tests call the solution.
        how: ``one-off`` changes the assertion; ``conflicting`` puts the changed one behind it.
        at: which of the `assertions`, 0-based; -1 for the last.

    Returns:
        None where the source has no assertion or is no Python.
    """
    found = assertions(tests, names)
    if not found:
        return None
    _, _, node, expected, now, test = found[at]
    assertion, instead = ast.unparse(ast.Assert(node.test)), ast.unparse(ast.Assert(test))
    text = Text(tests)
    begin, end = text.bounds(node)
    written = f"{assertion}; {instead}" if how == "conflicting" else instead
    changed = text.data[:begin] + written.encode() + text.data[end:]
    return TestChange(tests=changed.decode(), assertion=assertion, instead=instead, expected=expected, now=now)


def assertions(tests: str, names: frozenset[str]) -> list[_Candidate]:
    """The assertions of the best kind that can be changed, in the order of the text."""
    try:
        with quietly():
            tree = ast.parse(tests)
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = [change for node in ast.walk(tree) if isinstance(node, ast.Assert) for change in _changes(node, names)]
    best = max((one[0] for one in found), default=0)
    return sorted((one for one in found if one[0] == best), key=lambda one: one[1])


_Candidate = tuple[int, int, ast.Assert, str, str, ast.expr]
"""Rank, line, assertion, expected value, the value instead, and the condition instead."""


def _changes(node: ast.Assert, names: frozenset[str]) -> Iterator[_Candidate]:
    calls = any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in names
        for part in ast.walk(node.test)
    )
    told = _with_another_value(node.test, names) if calls else None
    if told is not None:
        yield (2, node.lineno, node, *told)
    elif not isinstance(node.test, ast.Constant):  # HumanEval ends some tests with `assert True`
        words = ast.unparse(node.test)
        yield (int(calls), node.lineno, node, words, f"not ({words})", _denied(node.test))


def _with_another_value(test: ast.expr, names: frozenset[str]) -> tuple[str, str, ast.expr] | None:
    """The expected literal of a condition, another one, and the condition with that; None where it has none."""
    changed = copy.deepcopy(test)
    match changed:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            for side, other in ((right, left), (left, right)):
                if not _mentions(side, names) and _mentions(other, names):
                    return _replaced(changed, side)
        case ast.Compare(left=ast.Call(args=[ast.BinOp(op=ast.Sub(), right=right)]), ops=[ast.Lt() | ast.LtE()]):
            return None if _mentions(right, names) else _replaced(changed, right, near=True)
        case ast.Call(func=ast.Attribute(attr="isclose" | "allclose"), args=[_, second, *_]):
            return None if _mentions(second, names) else _replaced(changed, second, near=True)
    return None


def _replaced(test: ast.expr, expected: ast.expr, *, near: bool = False) -> tuple[str, str, ast.expr] | None:
    """The condition with another literal in place of one, or of the one within ``set(…)`` and the like.

    With ``near`` the condition allows a tolerance.
    """
    inner = expected
    match expected:
        case ast.Call(func=ast.Name(id="set" | "tuple" | "list" | "sorted" | "frozenset"), args=[argument]):
            inner = argument
    try:
        value = ast.literal_eval(inner)
        value = float(value) if near and type(value) is int else value
        now = ast.parse(repr(other_value(value)), mode="eval").body
    except (ValueError, SyntaxError, TypeError, RecursionError):
        if not near:
            return None
        now = ast.BinOp(inner, ast.Add(), ast.Constant(1))  # `2.0 / 3.0`
    before = ast.unparse(expected)
    new: ast.expr = _Swap(inner, now).visit(test)
    after = ast.unparse(now if inner is expected else expected)
    return before, after, new


class _Swap(ast.NodeTransformer):
    """One expression in place of another."""

    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        """Replace it where it is met."""
        return self._new if node is self._old else self.generic_visit(node)


def _mentions(node: ast.AST, names: frozenset[str]) -> bool:
    return any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node))


def _denied(test: ast.expr) -> ast.expr:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Compare(ops=[ast.Eq()]):
            return ast.Compare(test.left, [ast.NotEq()], test.comparators)
    return ast.UnaryOp(ast.Not(), test)
