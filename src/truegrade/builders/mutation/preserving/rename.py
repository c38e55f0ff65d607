"""Other names for variables and parameters."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator

from truegrade.builders.mutation.preserving.names import all_names, fresh, names_are_data, scopes


def rename_variables(tree: ast.Module) -> ast.Module:
    """Call variables and parameters ``v0``, ``v1``, ... in the order in which they appear.

    Kept: names that any scope reads from outside the program's functions, names of functions, classes and modules,
    what calls pass by keyword, and everything if the program looks variables up by name.
    """
    if names_are_data(tree):
        return tree
    taken = all_names(tree)
    renamed = _renamable(tree)
    new_names: dict[str, str] = {}
    for name in _appearing(tree):
        if name in renamed and name not in new_names:
            new_names[name] = fresh(f"v{len(new_names)}", taken)
    _Renamer(new_names).visit(tree)
    return tree


def _renamable(tree: ast.Module) -> set[str]:
    """Names that are a variable of a function wherever they stand."""
    local: set[str] = set()
    kept: set[str] = set()
    for scope in scopes(ast.unparse(tree)):
        for symbol in scope.get_symbols():
            name = symbol.get_name()
            if (
                scope.get_type() != "function"
                or symbol.is_global()
                or _is_defined(symbol)
                or name.startswith("__")
            ):
                kept.add(name)
            else:
                local.add(name)
    keywords = [node for node in ast.walk(tree) if isinstance(node, ast.keyword)]
    kept.update(keyword.arg for keyword in keywords if keyword.arg is not None)
    if any(keyword.arg is None for keyword in keywords):  # `**` may hold any parameter's name
        kept.update(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))
    return local - kept


def _is_defined(symbol: symtable.Symbol) -> bool:
    """Whether a name is that of a nested function, class or module."""
    return symbol.is_namespace() or symbol.is_imported()


def _appearing(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                yield name


class _Renamer(ast.NodeTransformer):
    """Applies one mapping everywhere; the mapping holds only names that mean a variable wherever they stand."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def _new(self, name: str | None) -> str | None:
        return name if name is None else self._names.get(name, name)

    def visit(self, node: ast.AST) -> ast.AST:
        """Rename what this node calls by name, and all below."""
        match node:
            case ast.Name():
                node.id = self._names.get(node.id, node.id)
            case ast.arg():
                node.arg = self._names.get(node.arg, node.arg)
            case ast.Nonlocal():
                node.names = [self._names.get(name, name) for name in node.names]
            case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
                node.name = self._new(node.name)
            case ast.MatchMapping():
                node.rest = self._new(node.rest)
        return self.generic_visit(node)
