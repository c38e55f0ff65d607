"""Calls with literal arguments that stand in a repository: in doctests, in tests, in other functions."""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from truegrade.datasets.literal_text import call_text
from truegrade.datasets.recording import RecordedCase
from truegrade.extraction.literals import evaluate
from truegrade.extraction.parsing import Fault, parse_module

Names = Mapping[str, Any]

MOST_OF_A_FUNCTION = 60
"""Examples kept of one function."""
_MOST_CHARS = 300
_MOST_ROWS = 30
"""Rows read of one table of tests."""
_MOST_ITEMS = 20
"""Of a ``range``."""


def literal_calls(trees: Iterable[ast.Module], functions: set[str]) -> dict[str, list[RecordedCase]]:
    """Different calls of each function, in the order in which they stand; arguments may be names of literals.

    Args:
        trees: modules.
        functions: names to look for, called as they are or as an attribute of anything.
    """
    found: dict[str, dict[str, RecordedCase]] = {}
    for tree in trees:
        for name, example in _Reader(functions).read(tree):
            text = call_text(name, example.args, example.kwargs)
            kept = found.setdefault(name, {})
            if text is not None and len(text) <= _MOST_CHARS and len(kept) < MOST_OF_A_FUNCTION:
                kept.setdefault(text, example)
    return {name: list(kept.values()) for name, kept in found.items()}


class _Reader:
    """Walks statements in order and remembers which names hold literals."""

    def __init__(self, functions: set[str]) -> None:
        self._functions = functions

    def read(self, tree: ast.Module) -> Iterator[tuple[str, RecordedCase]]:
        """All calls of a module, those in its docstrings first."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield from self._doctest(ast.get_docstring(node, clean=True) or "")
        yield from self._block(tree.body, {})

    def _doctest(self, text: str) -> Iterator[tuple[str, RecordedCase]]:
        if ">>>" not in text:
            return
        try:
            source = "".join(example.source for example in doctest.DocTestParser().get_examples(text))
        except ValueError:
            return
        tree = parse_module(source)
        if not isinstance(tree, Fault):
            yield from self._block(tree.body, {})

    def _block(self, body: list[ast.stmt], known: Names) -> Iterator[tuple[str, RecordedCase]]:
        names = dict(known)
        for node in body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    yield from self._calls(value, names)
                    names.pop(name, None)
                    names.update(_bound(ast.Name(name), value, names))
                case ast.FunctionDef(body=inner):
                    for row in [names, *_parametrized(node, names)]:
                        yield from self._block(inner, row)
                case ast.For(target=target, iter=ast.List() | ast.Tuple() as table, body=inner):
                    for item in table.elts[:_MOST_ROWS]:
                        yield from self._block(inner, {**names, **_bound(target, item, names)})
                case ast.ClassDef(body=inner) | ast.With(body=inner) | ast.For(body=inner):
                    yield from self._block(inner, names)
                case _:
                    yield from self._calls(node, names)

    def _calls(self, tree: ast.AST, names: Names) -> Iterator[tuple[str, RecordedCase]]:
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in self._functions:
                    try:
                        args = tuple(_value(each, names) for each in node.args)
                        kwargs = {str(each.arg): _value(each.value, names) for each in node.keywords}
                    except (ValueError, TypeError):
                        continue
                    if "None" not in kwargs:  # `**options`
                        yield name, RecordedCase(args, kwargs)


def _parametrized(function: ast.FunctionDef, names: Names) -> Iterator[Names]:
    """What names hold in each row of a ``parametrize`` decorator."""
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(
                func=ast.Attribute(attr="parametrize"), args=[first, ast.List() | ast.Tuple() as table, *_]
            ):
                try:
                    spelled = evaluate(first)
                except (ValueError, TypeError):
                    continue
                listed = spelled.replace(" ", "").split(",") if isinstance(spelled, str) else [*map(str, spelled)]
                target = ast.Tuple([ast.Name(name) for name in listed]) if len(listed) > 1 else ast.Name(listed[0])
                for row in table.elts[:_MOST_ROWS]:
                    yield {**names, **_bound(target, row, names)}


def _bound(target: ast.expr, value: ast.expr, names: Names) -> dict[str, Any]:
    """The names that an assignment binds to literals."""
    match target, value:
        case ast.Name(id=name), _:
            try:
                return {name: _value(value, names)}
            except (ValueError, TypeError):
                return {}
        case ast.Tuple(elts=targets) | ast.List(elts=targets), ast.Tuple(elts=values) | ast.List(elts=values):
            pairs = zip(targets, values, strict=False)
            return {name: held for each in pairs for name, held in _bound(*each, names).items()}
    return {}


def _value(node: ast.expr, names: Names) -> Any:
    """A literal, a name that holds one, or a small ``range`` or ``iter`` of one, as a list.

    Raises:
        NotALiteralError: it is something else.
        ValueError, TypeError: it cannot be a range or a list.
    """
    match node:
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]) if args:
            bounds = [evaluate(each) for each in args]
            if all(type(bound) is int for bound in bounds) and len(range(*bounds)) <= _MOST_ITEMS:
                return [*range(*bounds)]
        case ast.Call(func=ast.Name(id="iter" | "list" | "tuple"), args=[inner], keywords=[]):
            return list(_value(inner, names))
    return evaluate(node)
