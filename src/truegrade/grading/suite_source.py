"""A module of unit tests, as its source shows it: names of tests and classes, and loops that assert."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from truegrade.extraction.parsing import quietly
from truegrade.files import syntax


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
            self.tree = syntax.parse(tests)
        self._nodes = list(ast.walk(self.tree))
        imported = [one for one in self._nodes if isinstance(one, ast.ImportFrom) and module == one.module != ""]
        names = {each.asname or each.name for one in imported for each in one.names}
        self.entry_points = frozenset(entry_points) | names
        self.classes = [node.name for node in _top(self.tree.body) if isinstance(node, ast.ClassDef)]
        self.names = list(_test_names(self.tree.body))
        self.spelled = " ".join(
            getattr(node, "id", "") or getattr(node, "attr", "") or getattr(node, "name", "") or ""
            for node in self._nodes
        )
        """The names that it spells."""

    def asserts_in_turns(self) -> bool:
        """Whether how often the program's value has a next item may decide how much is asserted.

        What a function is given counts as the program's, and so does every name in a loop over such a value.
        """
        functions = [one for one in self._nodes if isinstance(one, _FUNCTIONS)]
        asserting = {one.name for one in functions if any(map(_may_fail, ast.walk(one)))}
        for scope in _scopes(self.tree):
            nodes = list(ast.walk(scope))
            names = self.entry_points | {one.arg for one in nodes if isinstance(one, ast.arg)} - {"self"}
            programs = _ProgramsNames(scope, names)
            for node in nodes:
                if isinstance(node, ast.For | ast.AsyncFor) and programs.hold(node.iter):
                    names |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - {"self"}
            programs = _ProgramsNames(scope, names)
            if any(programs.hold(one) for node in nodes for one in _turns(node, asserting)):
                return True
        return False


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


class _ProgramsNames:
    """Which names of a function hold values of the program, as far as its source shows.

    Args:
        scope: the function.
        entry_points: names that stand for the program.
    """

    def __init__(self, scope: ast.FunctionDef | ast.AsyncFunctionDef, entry_points: frozenset[str]) -> None:
        self._names = set(entry_points)
        assigned = [
            node for node in ast.walk(scope) if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign)
        ]
        for _ in range(3):  # a name may get its value by way of two others
            for node in assigned:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if node.value is not None and self.hold(node.value):
                    self._names.update(
                        one.id
                        for each in targets
                        for one in ast.walk(each)
                        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
                    )

    def hold(self, node: ast.AST) -> bool:
        """Whether an expression's value comes from the program."""
        return any(
            (isinstance(one, ast.Name) and one.id in self._names)
            or (isinstance(one, ast.Attribute) and _is_own(one))
            for one in ast.walk(node)
        )


def _is_own(node: ast.Attribute) -> bool:
    """Whether it is ``self.name``, and no assertion."""
    owner = isinstance(node.value, ast.Name) and node.value.id == "self"
    return owner and not node.attr.startswith("assert")


def called_name(call: ast.Call) -> str:
    """The last part of the name that is called."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _may_fail(node: ast.AST) -> bool:
    """Whether it is an assertion or something like it."""
    name = called_name(node) if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.Assert | ast.Raise) or name in {"fail", "raises"} or name.startswith("assert")


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
