"""What parametrized tests of a suite are called with, as the source says it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

Argument = tuple[ast.expr, ast.expr]
"""An argument of a test, and what it is: the same, or what the name that it is is bound to."""


def parametrized(nodes: Iterable[ast.AST]) -> dict[str, list[Argument]]:
    """What parametrized tests are called with, by the parameter's name.

    Names are those of ``parametrize``, in its place or bound to a name of the module; the cases are calls of
    ``param`` with so many arguments, and tuples in lists that ``param(*values)`` is called with.
    """
    nodes = list(nodes)
    bound = {
        node.targets[0].id: node.value
        for node in nodes
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    }
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    rows = [call.args for call in calls if _name(call) == "param" and not _starred(call)]
    if any(_name(call) == "param" and _starred(call) for call in calls):
        lists = [node.elts for node in bound.values() if isinstance(node, ast.List)]
        rows += [one.elts for elements in lists for one in elements if isinstance(one, ast.Tuple)]
    found: dict[str, list[Argument]] = {}
    for call in calls:
        if _name(call) == "parametrize" and call.args:
            said = _behind(call.args[0], bound)
            written = said.value if isinstance(said, ast.Constant) and isinstance(said.value, str) else ""
            names = written.replace(" ", "").split(",")
            for place, name in enumerate(names):
                values = [row[place] for row in rows if len(row) == len(names)]
                found[name] = [(value, _behind(value, bound)) for value in values]
    return found


def _starred(call: ast.Call) -> bool:
    return any(isinstance(one, ast.Starred) for one in call.args)


def _behind(node: ast.expr, bound: Mapping[str, ast.expr]) -> ast.expr:
    """What a name of the module is bound to, or else the expression."""
    return bound.get(node.id, node) if isinstance(node, ast.Name) else node


def _name(call: ast.Call) -> str:
    """The last part of the name that is called."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
