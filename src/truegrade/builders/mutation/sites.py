"""Where a program can be changed: every node, with its place in its parent."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_ANNOTATIONS = {"annotation", "returns"}


@dataclass(frozen=True)
class MutationSite:
    """A node and where it hangs."""

    parent: ast.AST
    field: str
    index: int | None
    """Place in a list, None where the field holds the node itself."""
    node: ast.AST

    @contextmanager
    def holding(self, other: ast.AST) -> Iterator[None]:
        """The tree with another node at this place, for as long as the context lasts."""
        self._put(other)
        try:
            yield
        finally:
            self._put(self.node)

    def _put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def sites(tree: ast.AST) -> Iterator[MutationSite]:
    """Every site, parents before children, in the order of the syntax tree.

    Left out: annotations, which mean nothing to an execution, and the inside of f-strings, whose positions are
    wrong before Python 3.12.
    """
    for field, value in ast.iter_fields(tree):
        if field in _ANNOTATIONS:
            continue
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in children:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield MutationSite(tree, field, index, child)
                yield from sites(child)
