"""What makes a program hard to follow, as far as it can be counted."""

from __future__ import annotations

import ast

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def lines_of_code(code: str) -> int:
    """Lines that are not blank; in a normal form there are no comments."""
    return sum(1 for line in code.splitlines() if line.strip())


def loop_depth(tree: ast.AST) -> int:
    """The deepest nesting of loops, each ``for`` of a comprehension among them."""
    inner = max((loop_depth(child) for child in ast.iter_child_nodes(tree)), default=0)
    if isinstance(tree, _LOOPS):
        return inner + 1
    if isinstance(tree, _COMPREHENSIONS):
        return inner + len(tree.generators)
    return inner
