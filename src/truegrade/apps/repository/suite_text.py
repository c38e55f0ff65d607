"""One module out of a repository's files of tests and fixtures, which holds the tests that are wanted."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from random import Random
from typing import NamedTuple

from truegrade.apps.repository.functions import ParsedModule
from truegrade.files import syntax

_SET_UP = frozenset({"setup_module", "teardown_module", "setup_function", "teardown_function"})
"""Functions of a file that pytest calls by their names."""


def suite_text(files: Sequence[tuple[Sequence[ParsedModule], Collection[str]]], *, exact: bool) -> str:
    """Fixtures and tests of files in one module: of the tests those that are wanted, by ``Class.test``.

    What stands in several files is there once. A name that a later file gives another meaning is changed, in what
    uses it too, and marks and fixtures that hold for a whole file hold for its own tests alone.

    Args:
        files: for each its modules, the tests last, and the tests that are wanted; of one that a class inherits,
            the name is that of the heir unless it is exact.
        exact: whether names are those of the source.

    Raises:
        ValueError: a name of a later file cannot be changed.
    """
    futures: dict[str, None] = {}
    body: list[ast.stmt] = []
    there: set[str] = set()
    bound: set[str] = set()
    for number, (modules, wanted) in enumerate(files):
        whole = _with_fixtures_apart([*_wanted_of(modules, wanted, exact, futures)])
        asked = _of_whole_file(whole) if files[1:] else []
        fresh = [node for node in whole if ast.dump(node) not in there]
        clashing = more = {name for node in fresh for name in _bound_by(node)} & bound
        while more:
            fresh = [node for node in whole if node in fresh or not clashing.isdisjoint(_names_in(node))]
            more = ({name for node in fresh for name in _bound_by(node)} & bound) - clashing
            clashing |= more
        if not clashing.isdisjoint(_SET_UP):
            raise ValueError("files that set themselves up do not go together")
        if clashing:
            fresh = _renamed(fresh, {name: f"{name}_{number + 1}" for name in clashing})
        if asked:
            _mark(fresh, ", ".join(repr(each.name) for each in asked))
        there.update(map(ast.dump, fresh))
        bound.update(name for node in fresh for name in _bound_by(node))
        body += fresh
    head = f"from __future__ import {', '.join(futures)}\n" if futures else ""
    return head + ast.unparse(ast.Module(body, [])) + "\n"


def _wanted_of(
    modules: Sequence[ParsedModule], wanted: Collection[str], exact: bool, futures: dict[str, None]
) -> Iterator[ast.stmt]:
    """The statements of modules without the tests that are not wanted; what they want of the future is noted."""
    defined = {name for name, _ in tests_in(modules[-1].tree.body, "")}
    heirs = set() if exact else {name.rpartition(".")[2] for name in {*wanted} - defined}
    for module in modules:
        tree = copy.deepcopy(module.tree)
        _Absolute(module).visit(tree)
        _Wanted({*wanted}, heirs).visit(tree)
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                futures |= dict.fromkeys(alias.name for alias in node.names)
            elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                yield node


def _with_fixtures_apart(nodes: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, changed: a fixture that another one of its name asks for has another name there."""
    latest: dict[str, tuple[int, ast.FunctionDef | ast.AsyncFunctionDef]] = {}
    for node in nodes:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not any("fixture" in ast.dump(one) for one in node.decorator_list):
            continue
        count, above = latest.get(node.name, (0, None))
        if above is not None and any(one.arg == node.name for one in node.args.args):
            above.name = f"{node.name}_above_{count}"
            decorators, node.decorator_list = node.decorator_list, []
            name = node.name
            _Renaming({name: above.name}).visit(node)
            node.name, node.decorator_list = name, decorators
        latest[node.name] = count + 1, node
    return nodes


def _of_whole_file(nodes: list[ast.stmt]) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The fixtures that each test of a file asks for, which are to be named now; its marks become each test's own.

    Raises:
        ValueError: marks are no list of them.
    """
    asked = []
    for node in [*nodes]:
        if isinstance(node, ast.Assign) and [ast.unparse(one) for one in node.targets] == ["pytestmark"]:
            marks = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
            if not all(isinstance(one, ast.Call | ast.Attribute) for one in marks):
                raise ValueError("marks of several files cannot be told apart")
            nodes.remove(node)
            for test in _tests_at(nodes):
                test.decorator_list = [*marks, *test.decorator_list]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for call in (one for one in node.decorator_list if isinstance(one, ast.Call)):
                if any(each.arg == "autouse" and ast.unparse(each.value) == "True" for each in call.keywords):
                    call.keywords = [each for each in call.keywords if each.arg != "autouse"]
                    asked.append(node)
    return asked


def _tests_at(nodes: Sequence[ast.stmt]) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes:
        is_test = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
        if isinstance(node, ast.ClassDef) or is_test:
            yield node  # type: ignore[misc]  # one of these


def _mark(nodes: Sequence[ast.stmt], fixtures: str) -> None:
    """Have each test ask for fixtures."""
    for test in _tests_at(nodes):
        asking = syntax.parse(f"__import__('pytest').mark.usefixtures({fixtures})", mode="eval").body
        test.decorator_list = [asking, *test.decorator_list]


def _names_in(node: ast.stmt) -> Iterator[str]:
    """The names that a statement uses, fixtures among them."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.arg):
            yield part.arg


def _bound_by(node: ast.stmt) -> Iterator[str]:
    """The names of its module that a statement binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    else:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id
            elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield part.name
            elif isinstance(part, ast.alias):
                yield part.asname or part.name.partition(".")[0]


def _renamed(nodes: Sequence[ast.stmt], names: Mapping[str, str]) -> list[ast.stmt]:
    """Statements with other names for what they bind, fixtures among it, also where a text asks for one.

    Raises:
        ValueError: a name stands where it cannot be changed.
    """
    for part in (part for node in nodes for part in ast.walk(node)):
        held: Sequence[str] = ()
        if isinstance(part, ast.Global | ast.Nonlocal):
            held = part.names
        elif isinstance(part, ast.Subscript) and ast.unparse(part.value) in ("globals()", "vars()"):
            held = [getattr(part.slice, "value", "")]
        elif isinstance(part, ast.Call) and (asked := _ASKING.get(ast.unparse(part.func).rpartition(".")[2])):
            for text in (one for each in asked(part) for one in ast.walk(each) if isinstance(one, ast.Constant)):
                words = text.value.split(",") if isinstance(text.value, str) else []
                if any(word.strip() in names for word in words):
                    text.value = ",".join(names.get(word.strip(), word.strip()) for word in words)
        if found := names.keys() & {*held}:
            raise ValueError(f"a name of several files cannot be changed: {min(found)}")
    made = _Renaming(names)
    return [made.visit(node) for node in nodes]


_ASKING: Mapping[str, Callable[[ast.Call], Sequence[ast.expr]]] = {
    "usefixtures": lambda call: call.args,
    "getfixturevalue": lambda call: call.args,
    "parametrize": lambda call: [
        *call.args[:1], *(each.value for each in call.keywords if each.arg in ("argnames", "indirect"))
    ],
}  # fmt: skip
"""Calls that name fixtures or parameters in texts, to where these stand."""


class _Renaming(ast.NodeTransformer):
    """Gives names of a module others; those of attributes and keywords stay."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._in_class = False

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self._names.get(node.arg, node.arg)
        return node

    def visit_alias(self, node: ast.alias) -> ast.alias:
        bound = node.asname or node.name.partition(".")[0]
        if bound in self._names:
            if not node.asname and "." in node.name:
                raise ValueError(f"an import of several files cannot be changed: {node.name}")
            node.asname = self._names[bound]
        return node

    def _definition(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
        node.name = node.name if self._in_class else self._names.get(node.name, node.name)
        before, self._in_class = self._in_class, isinstance(node, ast.ClassDef)
        self.generic_visit(node)
        self._in_class = before
        return node

    visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = _definition  # noqa: N815


def tests_in(body: Sequence[ast.stmt], above: str) -> Iterator[tuple[str, ast.stmt]]:
    """The tests of a module's body, or of a class's, by ``Class.test``."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from tests_in(node.body, f"{above}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield f"{above}{node.name}", node


def with_usual_names(tree: ast.Module, patterns: NamesOfTests) -> ast.Module:
    """The tree, changed: tests that a configuration calls otherwise have the names that pytest looks for."""
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    _Renaming({name: patterns.of_class(name) for name in classes}).visit(tree)
    for holder in ast.walk(tree):
        if isinstance(holder, ast.Module | ast.ClassDef):
            for node in holder.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    node.name = patterns.of_function(node.name)
    return tree


class NamesOfTests(NamedTuple):
    """What a tree calls its tests: words that their names begin with, or patterns."""

    functions: Sequence[str]
    classes: Sequence[str]

    def of_function(self, name: str) -> str:
        """The name of a function, with ``test_`` in front if it is a test without."""
        return f"test_{name}" if not name.startswith("test") and _fits(name, self.functions) else name

    def of_class(self, name: str) -> str:
        """The name of a class, with ``Test`` in front if it holds tests and has it not."""
        return f"Test{name}" if not name.startswith("Test") and _fits(name, self.classes) else name

    def of_test(self, name: str) -> str:
        """The name of a test, ``Class.test``."""
        *classes, function = name.split(".")
        return ".".join([*map(self.of_class, classes), self.of_function(function)])


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(name.startswith(each) or fnmatch(name, each) for each in patterns)


class _Absolute(ast.NodeTransformer):
    """Makes relative imports absolute."""

    def __init__(self, module: ParsedModule) -> None:
        parts = module.file.dotted.split(".")
        self._package = parts if module.file.is_package else parts[:-1]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        if node.level:
            base = self._package[: len(self._package) - node.level + 1]
            node.module, node.level = ".".join([*base, *([node.module] if node.module else [])]), 0
        return node


class _Wanted(ast.NodeTransformer):
    """Takes out the tests that are not wanted."""

    def __init__(self, wanted: set[str], heirs: set[str]) -> None:
        self._wanted, self._heirs, self._above = wanted, heirs, ""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        above, self._above = self._above, f"{self._above}{node.name}."
        self.generic_visit(node)
        self._above = above
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt | None:
        name = f"{self._above}{node.name}"
        kept = name in self._wanted or (self._above != "" and node.name in self._heirs)
        return node if kept or not node.name.startswith("test") else None

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.ClassDef | ast.If | ast.Try) and not node.body:
            node.body = [ast.Pass()]
        return node


def shuffled(tests: str, seed: int) -> str:
    """The module with its tests in another order; 0 leaves it as it is."""
    if not seed:
        return tests
    tree, random = syntax.parse(tests), Random(seed)
    holders: list[ast.Module | ast.ClassDef] = [tree]
    for holder in [*holders, *(node for node in tree.body if isinstance(node, ast.ClassDef))]:
        own = [node for _, node in tests_in(holder.body, "") if node in holder.body]
        rest = [node for node in holder.body if node not in own]
        holder.body[:] = [*rest, *random.sample(own, len(own))]
    return ast.unparse(tree) + "\n"
