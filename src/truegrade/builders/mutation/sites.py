"""Where a program can be changed: every node, with its place in its parent."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_ANNOTATIONS = {"annotation", "returns"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class MutationSite:
    """A node and where it hangs."""

    parent: ast.AST
    field: str
    index: int | None
    """Place in a list, None where the field holds the node itself."""
    node: ast.AST
    function: ast.AST | None = None
    """The function around it whose variables it sees; None at the level of the module or a class."""

    @contextmanager
    def holding(self, other: ast.AST) -> Iterator[None]:
        """The tree with another node at this place, for as long as the context lasts."""
        self.put(other)
        try:
            yield
        finally:
            self.put(self.node)

    def put(self, node: ast.AST) -> None:
        """Leave another node at this place."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def sites(tree: ast.AST, function: ast.AST | None = None) -> Iterator[MutationSite]:
    """Every site, parents before children, in the order of the syntax tree.

    Left out: annotations, which mean nothing to an execution, and the inside of f-strings, whose positions are
    wrong before Python 3.12.

    Args:
        tree: whose parts are wanted.
        function: the one that the tree is a part of.
    """
    if isinstance(tree, (*_FUNCTIONS, ast.ClassDef)):
        function = tree if isinstance(tree, _FUNCTIONS) else None
    for field, value in ast.iter_fields(tree):
        if field in _ANNOTATIONS:
            continue
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in children:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield MutationSite(tree, field, index, child, function)
                yield from sites(child, function)
