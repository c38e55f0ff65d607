"""The assertions of a suite of unit tests, and changes of one constant that make a right program fail each.

A place in a module is the number of a node in the order of `ast.walk`. An edit replaces expressions at such places
by others, which are kept as source, so that edits can be stored.
"""

from __future__ import annotations

import ast
import marshal
import random
from collections.abc import Iterable, Iterator
from copy import deepcopy

import msgspec

from truegrade.extraction.parsing import quietly
from truegrade.grading.suite_cases import parametrized
from truegrade.grading.suite_changes import RAISING, KnownNames, called_name, changes_of

MOST_TRIED = 4


class Edit(msgspec.Struct, frozen=True, array_like=True):
    """A change of the suite that a right program fails."""

    places: tuple[tuple[int, str], ...]
    """Nodes, and the source of the expressions that take their places."""
    decisive: bool
    """Whether an object that is made to satisfy every assertion fails to fail."""


class Assertion(msgspec.Struct, frozen=True):
    """An assertion statement of the suite."""

    place: int
    raising: bool
    """Whether it expects an exception, so that a change lets one through."""
    straight: bool
    """Whether every run of its test comes to it that passes: no condition or loop is around it."""
    edits: tuple[Edit, ...]
    """To be tried in this order."""


class SuiteSource:
    """A module of tests, parsed.

    Args:
        tests: source.
        entry_points: names by which the tests reach the program: what it defines, or its module.
        module: what the tests import names of the program from; empty where they share its namespace.

    Raises:
        SyntaxError: it is no Python.
    """

    def __init__(self, tests: str, entry_points: Iterable[str], module: str = "") -> None:
        with quietly():
            self.tree = ast.parse(tests)
        nodes = list(ast.walk(self.tree))
        imported = [one for one in nodes if isinstance(one, ast.ImportFrom) and module and one.module == module]
        names = {each.asname or each.name for one in imported for each in one.names}
        self._entry_points = frozenset(entry_points) | names
        self._place = {id(node): place for place, node in enumerate(nodes)}
        self._lines = {place: getattr(node, "lineno", 0) for place, node in enumerate(nodes)}
        self._cases = parametrized(nodes)
        self.classes = [node.name for node in _top(self.tree.body) if isinstance(node, ast.ClassDef)]
        self.names = list(_test_names(self.tree.body))

    def assertions(self, chance: random.Random) -> list[Assertion]:
        """Every assertion statement, in order of the source."""
        found: list[Assertion] = []
        for scope in _scopes(self.tree):
            known = KnownNames(scope, self._entry_points, self._cases)
            found += [
                self._assertion(node, straight, known, chance) for node, straight in _asserting(scope.body, True)
            ]
        return sorted(found, key=lambda one: self._lines[one.place])

    def _assertion(self, node: ast.stmt, straight: bool, known: KnownNames, chance: random.Random) -> Assertion:
        call = _call_of(node)
        name = called_name(call)
        raising = name in RAISING
        tried = [
            Edit(tuple((self._place[id(old)], new) for old, new in changes), decisive)
            for changes, decisive in changes_of(node, call, name, known, chance)
        ]
        # Behind a few changes the last is what always fails.
        tried = [*tried[: MOST_TRIED - 1], *tried[MOST_TRIED - 1 :][-1:]]
        return Assertion(self._place[id(node)], raising, straight, tuple(tried))

    def compiled(self, watched: dict[int, int], edits: Iterable[Edit], watch_name: str) -> bytes:
        """Marshalled code of the suite with changes, and each watched assertion in a `with` of its own.

        Args:
            watched: places of assertions, each with its number.
            edits: changes.
            watch_name: what the `with` calls with the number.
        """
        changed = {place: source for edit in edits for place, source in edit.places}
        with quietly():
            # A copy keeps the order of a walk, which is what a place is.
            tree = deepcopy(self.tree)
            nodes = {id(node): place for place, node in enumerate(ast.walk(tree))}
            _Rewriter(nodes, changed, watched, watch_name).visit(tree)
            code = compile(ast.fix_missing_locations(tree), "__test__.py", "exec", dont_inherit=True)
        return marshal.dumps(code)


class _Rewriter(ast.NodeTransformer):
    def __init__(
        self, nodes: dict[int, int], changed: dict[int, str], watched: dict[int, int], watch_name: str
    ) -> None:
        self._nodes, self._changed, self._watched, self._name = nodes, changed, watched, watch_name

    def visit(self, node: ast.AST) -> ast.AST:
        place = self._nodes.get(id(node), -1)
        if place in self._changed and isinstance(node, ast.expr):
            return ast.copy_location(ast.parse(self._changed[place], mode="eval").body, node)
        visited: ast.AST = self.generic_visit(node)
        if place not in self._watched or not isinstance(visited, ast.stmt):
            return visited
        call = ast.Call(ast.Name(self._name, ast.Load()), [ast.Constant(self._watched[place])], [])
        return ast.copy_location(ast.With([ast.withitem(call)], [visited]), node)


# ------------------------------------------------------------------------------------------------ structure

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _top(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a module, those under its conditions included."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from _top([one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt)])


def _test_names(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Tests by qualified name."""
    for node in _top(body):
        if isinstance(node, _FUNCTIONS) and node.name.startswith("test"):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, _FUNCTIONS) and each.name.startswith("test"):
                    yield f"{node.name}.{each.name}"


def _scopes(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions that stand in the module or its classes; functions inside them are part of them."""
    for node in _top(tree.body):
        if isinstance(node, _FUNCTIONS):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from (each for each in node.body if isinstance(each, _FUNCTIONS))


def _asserting(body: Iterable[ast.stmt], straight: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """Assertion statements, and whether they are always come to."""
    for node in body:
        if _is_assertion(node):
            yield node, straight
        if isinstance(node, ast.With) and _is_assertion(node):
            continue  # assertions in it may be meant to fail: `with assertRaises(AssertionError): ...`
        inner = straight and isinstance(node, ast.With | ast.AsyncWith)
        for name in ("body", "orelse", "finalbody"):
            yield from _asserting(getattr(node, name, []) or [], inner)
        for handler in getattr(node, "handlers", []):
            yield from _asserting(handler.body, False)


def _is_assertion(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assert):
        return True
    call = _call_of(node)
    name = called_name(call)
    return name.startswith("assert") or (isinstance(node, ast.With | ast.AsyncWith) and name in RAISING)


def _call_of(node: ast.stmt) -> ast.Call | None:
    """The call that a statement is, or that a `with` statement begins with."""
    value = node.value if isinstance(node, ast.Expr) else None
    if isinstance(node, ast.With):
        value = node.items[0].context_expr
        return value if isinstance(value, ast.Call) and called_name(value) in RAISING else None
    return value if isinstance(value, ast.Call) else None
