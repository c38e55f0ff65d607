"""Code that changes nothing."""

from __future__ import annotations

import ast

from truegrade.builders.mutation.preserving.names import all_names, fresh, names_are_data


def add_dead_code(tree: ast.Module) -> ast.Module:
    """Begin every function with a variable that nothing reads and a branch that is never taken."""
    if names_are_data(tree):
        return tree
    taken = all_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            start = 1 if ast.get_docstring(node, clean=False) is not None else 0
            node.body[start:start] = _never(fresh("spare", taken))
    return tree


def _never(name: str) -> list[ast.stmt]:
    return ast.parse(f"{name} = 0\nif {name} > 0:\n    {name} = {name} - 1").body
