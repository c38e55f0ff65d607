"""The assertions of a suite of unit tests, what can be changed in each, and the suite's code with such changes.

A place in a module is the number of a node in the order of `ast.walk`. A change replaces the expression at a
place by another, which is kept as source, so that it can be stored.
"""

from __future__ import annotations

import ast
import marshal
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy

import msgspec

from truegrade.extraction.parsing import quietly
from truegrade.grading.suite_versions import (
    RAISING,
    Changeable,
    Elsewhere,
    KnownNames,
    called_name,
    choices_of,
    literals,
    tokens_of,
)


class Assertion(msgspec.Struct, frozen=True):
    """An assertion statement of the suite."""

    place: int
    raising: bool
    """Whether it expects an exception, so that a change lets one through."""
    test: str
    """The test in which every run comes to it that passes; empty where a condition or a loop is between."""
    programs: bool
    """Whether it is about a value of the program's, as far as the source shows."""
    choices: tuple[Changeable, ...]
    """What can be changed, best first."""


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
        self._nodes = list(ast.walk(self.tree))
        imported = [one for one in self._nodes if isinstance(one, ast.ImportFrom) and module == one.module != ""]
        names = {each.asname or each.name for one in imported for each in one.names}
        self._entry_points = frozenset(entry_points) | names
        self._place = {id(node): place for place, node in enumerate(self._nodes)}
        self.classes = [node.name for node in _top(self.tree.body) if isinstance(node, ast.ClassDef)]
        self.names = list(_test_names(self.tree.body))
        self._scope = {id(node): name for name, scope in _scopes(self.tree) for node in ast.walk(scope)}
        self.spelled = " ".join(
            getattr(node, "id", "") or getattr(node, "attr", "") or getattr(node, "name", "") or ""
            for node in self._nodes
        )
        """The names that it spells."""

    def assertions(self) -> list[Assertion]:
        """Every assertion statement, in order of the source."""
        found: list[Assertion] = []
        for name, scope in _scopes(self.tree):
            known = KnownNames(scope, self._entry_points)
            test = name if name in self.names else ""
            found += [
                self._assertion(node, test if straight else "", known)
                for node, straight in _asserting(scope.body, True)
            ]
        return sorted(found, key=lambda one: self.line(one.place))

    def _assertion(self, node: ast.stmt, test: str, known: KnownNames) -> Assertion:
        call = _call_of(node)
        name = called_name(call)
        return Assertion(
            place=self._place[id(node)],
            raising=name in RAISING,
            test=test,
            programs=known.is_programs(node),
            choices=tuple(choices_of(node, call, name, known, self._place)),
        )

    def asserts_in_turns(self) -> bool:
        """Whether how often the program's value has a next item may decide how much is asserted.

        What a function is given counts as the program's, and so does every name in a loop over such a value.
        """
        functions = [one for one in self._nodes if isinstance(one, _FUNCTIONS)]
        asserting = {one.name for one in functions if any(map(_may_fail, ast.walk(one)))}
        for _, scope in _scopes(self.tree):
            nodes = list(ast.walk(scope))
            names = self._entry_points | {one.arg for one in nodes if isinstance(one, ast.arg)} - {"self"}
            known = KnownNames(scope, names)
            for node in nodes:
                if isinstance(node, ast.For | ast.AsyncFor) and known.is_programs(node.iter):
                    names |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - {"self"}
            known = KnownNames(scope, names)
            if any(known.is_programs(one) for node in nodes for one in _turns(node, asserting)):
                return True
        return False

    def line(self, place: int) -> int:
        """Where a node stands in the source."""
        return getattr(self._nodes[place], "lineno", 0)

    def text(self, place: int) -> str:
        """What a node says, its first line."""
        return ast.unparse(self._nodes[place]).partition("\n")[0]

    def decides_otherwise(self, assertions: Iterable[Assertion]) -> bool:
        """Whether tests call for a failure by other means than these statements."""
        inside = {id(one) for each in assertions for one in ast.walk(self._head(each.place))}
        return any(id(node) not in inside and _may_fail(node) for node in self._nodes)

    def _head(self, place: int) -> ast.AST:
        node = self._nodes[place]
        return node.items[0] if isinstance(node, ast.With) else node

    def elsewhere(self, chosen: Iterable[Changeable], told: str) -> Elsewhere:
        """Words and numbers of the suite but for what is changed.

        Args:
            chosen: what is changed.
            told: the task as its author was told.
        """
        changed: dict[int, set[int]] = {}
        for one in chosen:
            changed.setdefault(one.place, set()).add(one.part)
        found: dict[str, set[str]] = {}
        for constant in literals(self.tree):
            place = self._place[id(constant)]
            for token in tokens_of(constant.value, changed.get(place, ())):
                found.setdefault(token, set()).add(self._scope.get(id(constant), ""))
        return Elsewhere(found, told)

    def compiled(self, watched: Mapping[int, int], changed: Mapping[int, str], watch_name: str) -> bytes:
        """Marshalled code of the suite with changes, and each watched assertion in a `with` of its own.

        It is compiled from text that is printed anew, so that lines and columns tell nothing of what was changed.

        Args:
            watched: places of assertions, each with its number.
            changed: places of expressions, each with the source of what takes its place.
            watch_name: what the `with` calls with the number.
        """
        with quietly():
            # A copy keeps the order of a walk, which is what a place is.
            tree = deepcopy(self.tree)
            nodes = {id(node): place for place, node in enumerate(ast.walk(tree))}
            _Rewriter(nodes, changed, watched, watch_name).visit(tree)
            printed = ast.unparse(ast.fix_missing_locations(tree))
            code = compile(printed, "__test__.py", "exec", dont_inherit=True)
        return marshal.dumps(code)


class _Rewriter(ast.NodeTransformer):
    def __init__(
        self, nodes: Mapping[int, int], changed: Mapping[int, str], watched: Mapping[int, int], watch_name: str
    ) -> None:
        self._nodes, self._changed, self._watched, self._name = nodes, changed, watched, watch_name

    def visit(self, node: ast.AST) -> ast.AST:
        place = self._nodes.get(id(node), -1)
        if place in self._changed:
            return ast.parse(self._changed[place], mode="eval").body
        visited: ast.AST = self.generic_visit(node)
        if place not in self._watched or not isinstance(visited, ast.stmt):
            return visited
        call = ast.Call(ast.Name(self._name, ast.Load()), [ast.Constant(self._watched[place])], [])
        return ast.With([ast.withitem(call)], [visited])


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


def _scopes(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions that stand in the module or its classes, by name; functions inside them are part of them."""
    for node in _top(tree.body):
        if isinstance(node, _FUNCTIONS):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{each.name}", each) for each in node.body if isinstance(each, _FUNCTIONS))


def _may_fail(node: ast.AST) -> bool:
    """Whether it is an assertion or something like it."""
    name = called_name(node) if isinstance(node, ast.Call) else ""
    return (
        isinstance(node, ast.Assert | ast.Raise) or name == "fail" or name.startswith("assert") or name in RAISING
    )


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


def _turns(node: ast.AST, asserting: set[str]) -> list[ast.expr]:
    """What the turns of a loop that asserts hang on, or of `all` or `any`.

    Args:
        node: any.
        asserting: functions that assert, by name.
    """
    name = called_name(node) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and name in {"all", "any"}:
        return node.args
    calls = {called_name(one) for one in ast.walk(node) if isinstance(one, ast.Call)}
    if asserting.isdisjoint(calls) and not any(map(_may_fail, ast.walk(node))):
        return []
    if isinstance(node, ast.Call):
        return node.args if name == "map" else []
    if isinstance(node, ast.While):
        return [node.test]
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        return [one.iter for one in node.generators]
    return [node.iter] if isinstance(node, ast.For | ast.AsyncFor) else []


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
