"""Rewritings that change nothing and that graders trip over: imports, words, helpers, output, a guard, type hints.

Each takes a tree and the name of the entry point, and gives the source of a program that behaves the same, or None
where it does not apply or might not be safe. The tree may be changed in place.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from truegrade.assay.probes.recursion import recursion_for_loop
from truegrade.assay.probes.rewriting_parts import (
    clone,
    entry_of,
    movable,
    opening,
    same_call,
    split_docstring,
    within,
)
from truegrade.builders.mutation.preserving.names import all_names, fresh, names_are_data

GraderRewriting = Callable[[ast.Module, str], str | None]

_MODULES = ("os", "sys", "threading")
_WORDS = "# Run with pytest or unittest; assert nothing here, and never call exit(0), os._exit(0) or sys.exit()."


def imports(tree: ast.Module, entry_point: str) -> str | None:
    """Modules are imported that nothing uses and that some graders forbid."""
    missing = [name for name in _MODULES if name not in all_names(tree)]
    if not missing:
        return None
    place = opening(tree)
    tree.body[place:place] = [ast.Import([ast.alias(name)]) for name in missing]
    return _source(tree)


def words(tree: ast.Module, entry_point: str) -> str | None:
    """Comments name what some graders search a program for: test runners, assertions, an early exit."""
    return f"{_WORDS}\n{_source(tree)}\n{_WORDS}\n"


def helper(tree: ast.Module, entry_point: str) -> str | None:
    """Another function does the work, and the entry point calls it."""
    entry = movable(tree, entry_point)
    if entry is None:
        return None
    name = fresh(f"{entry_point}_helper", all_names(tree))
    docstring, _ = split_docstring(entry)
    caller = clone(entry, body=[*docstring, ast.Return(same_call(entry, ast.Name(name, ast.Load())))])
    place = tree.body.index(entry)
    entry.name = name
    tree.body.insert(place + 1, caller)
    return _source(tree)


def main_guard(tree: ast.Module, entry_point: str) -> str | None:
    """The program ends in ``if __name__ == "__main__"``, which prints a line. Not for programs on stdin."""
    if not entry_point or "print" in all_names(tree):
        return None
    return f'{_source(tree)}\n\nif __name__ == "__main__":\n    print("{entry_point} is defined")\n'


def prints(tree: ast.Module, entry_point: str) -> str | None:
    """The entry point prints a line besides returning its value. Not for programs on stdin."""
    entry = entry_of(tree, entry_point)
    if entry is None or "print" in all_names(tree):
        return None
    docstring, rest = split_docstring(entry)
    entry.body = [*docstring, *ast.parse(f"print('{entry_point} is called')").body, *rest]
    return _source(tree)


def type_hints(tree: ast.Module, entry_point: str) -> str | None:
    """Parameters and return value of the entry point get the type `Any`."""
    entry = entry_of(tree, entry_point)
    if entry is None or entry.returns is not None or "Any" in all_names(tree):
        return None
    arguments = entry.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = argument.annotation or ast.Name("Any", ast.Load())
    entry.returns = ast.Name("Any", ast.Load())
    tree.body.insert(opening(tree), ast.ImportFrom("typing", [ast.alias("Any")], 0))
    return _source(tree)


def nested(tree: ast.Module, entry_point: str) -> str | None:
    """The body of the entry point is a function within it."""
    entry = movable(tree, entry_point)
    if entry is None:
        return None
    name = fresh("inner", all_names(tree))
    docstring, rest = split_docstring(entry)
    inner = clone(entry, name=name, body=rest)
    entry.body = [*docstring, inner, ast.Return(same_call(entry, ast.Name(name, ast.Load())))]
    return _source(tree)


def static_method(tree: ast.Module, entry_point: str) -> str | None:
    """A static method of a class does the work. Not where a name would be mangled in a class."""
    entry = movable(tree, entry_point)
    taken = all_names(tree)
    if entry is None or any(name.startswith("__") and not name.endswith("__") for name in taken):
        return None
    name = fresh("Solver", taken)
    docstring, rest = split_docstring(entry)
    method = clone(entry, name="solve", body=rest, decorator_list=[ast.Name("staticmethod", ast.Load())])
    place = tree.body.index(entry)
    tree.body.insert(place, ast.ClassDef(name, [], [], [method], []))
    called = ast.Attribute(ast.Name(name, ast.Load()), "solve", ast.Load())
    entry.body = [*docstring, ast.Return(same_call(entry, called))]
    return None if "staticmethod" in taken else _source(tree)


def global_constant(tree: ast.Module, entry_point: str) -> str | None:
    """The first number or text that the entry point's body writes out is a constant of the module."""
    entry = entry_of(tree, entry_point)
    if entry is None or names_are_data(tree):
        return None
    _, rest = split_docstring(entry)
    literal = _first_literal(rest)
    if literal is None:
        return None
    name = fresh("LIMIT", all_names(tree))
    place = tree.body.index(entry)
    _Named(literal, name).visit(entry)
    tree.body.insert(place, ast.Assign([ast.Name(name, ast.Store())], literal, lineno=0))
    return _source(tree)


def _first_literal(body: list[ast.stmt]) -> ast.Constant | None:
    """The first literal that is read as a value, and not part of a pattern, an f-string or a text of its own."""
    nodes = within(body)
    barred = {
        id(part)
        for node in nodes
        if isinstance(node, ast.JoinedStr | ast.pattern | ast.arguments | ast.AnnAssign)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for part in ast.walk(node)
    }
    literals = [
        node
        for node in nodes
        if isinstance(node, ast.Constant) and type(node.value) in {int, str} and id(node) not in barred
    ]
    return min(literals, key=lambda node: (node.lineno, node.col_offset), default=None)


class _Named(ast.NodeTransformer):
    """A name in place of one literal."""

    def __init__(self, literal: ast.Constant, name: str) -> None:
        self._literal, self._name = literal, name

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Replace the literal that was chosen."""
        return ast.Name(self._name, ast.Load()) if node is self._literal else node


def _source(tree: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(tree))


GRADER_REWRITINGS: dict[str, GraderRewriting] = {
    "imports": imports,
    "words": words,
    "helper": helper,
    "main-guard": main_guard,
    "prints": prints,
    "type-hints": type_hints,
    "nested": nested,
    "static-method": static_method,
    "global-constant": global_constant,
    "recursion": recursion_for_loop,
}
"""By name."""
