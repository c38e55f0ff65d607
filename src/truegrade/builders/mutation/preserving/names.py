"""Which names a program uses, and as what."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator

_SEES_NAMES = {"locals", "vars", "globals", "eval", "exec", "dir"}


def scopes(code: str) -> Iterator[symtable.SymbolTable]:
    """The scopes of a program, outermost first."""
    pending = [symtable.symtable(code, "<program>", "exec")]
    while pending:
        scope = pending.pop(0)
        yield scope
        pending += scope.get_children()


def all_names(tree: ast.AST) -> set[str]:
    """Every identifier of a program, in whatever role."""
    names: set[str] = set()
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            names.update(item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str))
    return names


def fresh(base: str, taken: set[str]) -> str:
    """``base``, or ``base`` with the first number that makes it a new name; it is then taken."""
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}{number}"
    taken.add(name)
    return name


def names_are_data(tree: ast.AST) -> bool:
    """Whether the program may look its variables up by name, so that none can be renamed or added."""
    return any(isinstance(node, ast.Name) and node.id in _SEES_NAMES for node in ast.walk(tree))


def is_builtin(tree: ast.AST, name: str) -> bool:
    """Whether a name is nowhere bound by the program."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=bound, ctx=ast.Store() | ast.Del()) if bound == name:
                return False
            case ast.arg(arg=bound) | ast.ExceptHandler(name=bound) | ast.MatchAs(name=bound) if bound == name:
                return False
            case ast.FunctionDef(name=bound) | ast.ClassDef(name=bound) if bound == name:
                return False
            case ast.AsyncFunctionDef(name=bound) | ast.MatchStar(name=bound) if bound == name:
                return False
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                if any((alias.asname or alias.name) in {name, "*"} for alias in aliases):
                    return False
    return True
