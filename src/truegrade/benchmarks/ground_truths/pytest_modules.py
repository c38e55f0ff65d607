"""Modules of pytest (KodCode) as scripts: pytest itself is not needed where they run.

What of it such modules use is `_STAND_IN`: ``raises``, ``approx``, ``fail``, ``param`` and marks. Fixtures that
the module defines are called; those of pytest are refused, as they reach into a process that is not the program's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from truegrade.benchmarks.ground_truths.plain_values import Unreadable
from truegrade.grading.programs import statements

_STAND_IN = """
class _TestPytest:
    class raises:
        def __init__(self, expected, *rest, match=None):
            self.expected = expected if isinstance(expected, tuple) else (expected,)
            self.match, self.value, self.type = match, None, None
            if rest:
                with self:
                    rest[0](*rest[1:])

        def __enter__(self):
            return self

        def __exit__(self, kind, value, traceback):
            assert kind is not None, "nothing was raised"
            names = {each.__name__ for each in kind.__mro__}
            if not any(
                each in names if isinstance(each, str) else issubclass(kind, each) for each in self.expected
            ):
                return False
            self.type, self.value = kind, value
            if self.match is not None:
                import re
                assert re.search(self.match, str(value)), str(value)
            return True

    class approx:
        def __init__(self, expected, rel=None, abs=None, nan_ok=False):
            self.expected, self.rel, self.abs, self.nan_ok = expected, rel, abs, nan_ok

        def __eq__(self, got):
            return self._same(got, self.expected)

        def __ne__(self, got):
            return not self._same(got, self.expected)

        def __repr__(self):
            return f"approx({self.expected!r})"

        def _same(self, got, expected):
            if isinstance(expected, dict):
                return isinstance(got, dict) and got.keys() == expected.keys() and all(
                    self._same(got[key], value) for key, value in expected.items()
                )
            if isinstance(expected, (list, tuple)):
                return isinstance(got, (list, tuple)) and len(got) == len(expected) and all(
                    self._same(*pair) for pair in zip(got, expected)
                )
            if got == expected:
                return True
            if isinstance(expected, (bool, str)) or not isinstance(got, (int, float, complex)):
                return False
            if expected != expected:
                return self.nan_ok and got != got
            if abs(expected) == float("inf"):
                return False
            least = 1e-12 if self.abs is None else self.abs
            share = (1e-6 if self.abs is None else 0.0) if self.rel is None else self.rel
            return abs(got - expected) <= max(least, share * abs(expected))

        __hash__ = None

    class _Mark:
        def parametrize(self, names, values, **_):
            names = names.replace(",", " ").split() if isinstance(names, str) else list(names)

            def around(test):
                def each(*given, **named):
                    for value in values:
                        test(*given, **named, **dict(zip(names, [value] if len(names) == 1 else value)))

                return each

            return around

        def __getattr__(self, name):
            return lambda *given, **named: given[0] if given and callable(given[0]) else lambda test: test

    mark = _Mark()

    @staticmethod
    def param(*values, **_):
        return values if len(values) > 1 else values[0]

    @staticmethod
    def fail(reason="", pytrace=True):
        raise AssertionError(reason)


pytest = _TestPytest()
"""
_UNSUPPORTED = frozenset({"skip", "skipif", "xfail", "importorskip", "warns", "monkeypatch", "mock", "patch"})


def is_pytest(body: Iterable[ast.stmt]) -> bool:
    """Whether a module holds tests that pytest or unittest would collect."""
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and node.name.lower().startswith("test")
        for node in body
    )


def as_script(body: Sequence[ast.stmt], module: str) -> list[ast.stmt]:
    """The statements of a module of tests, and a call for each of its tests.

    Args:
        body: the module's.
        module: what it imports the program as; these imports are left out, and ``module.name`` becomes ``name``.

    Raises:
        Unreadable: it uses what has no counterpart outside pytest.
    """
    imports = _Imports(module)
    kept = [imports.visit(node) for node in body]
    kept = [ast.fix_missing_locations(node) for node in kept if not isinstance(node, ast.Pass)]
    for node in kept:
        _refuse(node)
    fixtures = {node.name: node for node in kept if isinstance(node, ast.FunctionDef) and _is_fixture(node)}
    for fixture in fixtures.values():
        fixture.decorator_list = []
    calls: list[str] = []
    for node in kept:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test") and node.name not in fixtures:
            calls.append(f"{node.name}({_given(node, node.args.args, fixtures)})")
        elif isinstance(node, ast.ClassDef) and node.name.lower().startswith("test"):
            calls += _of_class(node, fixtures)
    if not calls:
        raise Unreadable("it holds no test function")
    # A bare call is a test, and what is defined is none: see `truegrade.grading.suites`.
    head = statements(_STAND_IN) if imports.pytest else []
    return [*head, *kept, *statements("\n".join(calls))]


def _of_class(node: ast.ClassDef, fixtures: Mapping[str, ast.FunctionDef]) -> list[str]:
    """Calls of a class's tests, each on a fresh object."""
    methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    tests = [each for name, each in methods.items() if name.startswith("test")]
    if any("TestCase" in ast.unparse(base) for base in node.bases):
        return [f"{node.name}({test.name!r}).debug()" for test in tests]
    if methods.keys() & {"setup_method", "setup_class", "setup", "teardown_method", "teardown_class"}:
        raise Unreadable(f"the class {node.name} is set up by pytest")
    return [f"{node.name}().{test.name}({_given(test, test.args.args[1:], fixtures)})" for test in tests]


def _given(test: ast.FunctionDef, parameters: Sequence[ast.arg], fixtures: Mapping[str, ast.FunctionDef]) -> str:
    """The arguments of a test that are fixtures, as source."""
    named = {
        name
        for each in test.decorator_list
        if isinstance(each, ast.Call) and ast.unparse(each.func).endswith("parametrize") and each.args
        for name in _names_of(each.args[0])
    }
    parts = []
    for parameter in parameters:
        if parameter.arg in fixtures:
            parts.append(f"{parameter.arg}={_call_of(fixtures[parameter.arg], fixtures)}")
        elif parameter.arg not in named:
            raise Unreadable(f"{test.name} needs the fixture {parameter.arg}, which only pytest gives")
    return ", ".join(parts)


def _names_of(node: ast.expr) -> list[str]:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return []
    return value.replace(",", " ").split() if isinstance(value, str) else [str(name) for name in value]


def _call_of(fixture: ast.FunctionDef, fixtures: Mapping[str, ast.FunctionDef]) -> str:
    if any(isinstance(node, ast.Yield) for node in ast.walk(fixture)) or fixture.args.args:
        raise Unreadable(f"the fixture {fixture.name} is more than a function without arguments")
    return f"{fixture.name}()"


def _is_fixture(node: ast.FunctionDef) -> bool:
    return any("fixture" in ast.unparse(each) for each in node.decorator_list)


def _refuse(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
        if isinstance(node, ast.Attribute) and name in _UNSUPPORTED and "pytest" in ast.unparse(node.value):
            raise Unreadable(f"it uses pytest's {name}")
        if isinstance(node, ast.ImportFrom | ast.Import) and "mock" in ast.unparse(node):
            raise Unreadable("it replaces parts of a program, which runs in a process of its own")
        if isinstance(node, ast.AsyncFunctionDef | ast.Await):
            raise Unreadable("its tests are asynchronous")


class _Imports(ast.NodeTransformer):
    """Leaves out imports of the program and of pytest, and takes names of the program off its module."""

    def __init__(self, module: str) -> None:
        self._module, self._aliases = module, {module}
        self._names: set[str] = set()
        self.pytest = False

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if node.module == "pytest":
            raise Unreadable("it imports names from pytest")
        if node.module != self._module:
            return node
        self._names.update(each.asname or each.name for each in node.names)
        renamed = [f"{each.asname} = {each.name}" for each in node.names if each.asname not in (None, each.name)]
        return statements("; ".join(renamed))[0] if len(renamed) == 1 else self._left_out(renamed)

    def visit_Import(self, node: ast.Import) -> ast.AST:
        kept = []
        for each in node.names:
            if each.name == self._module:
                self._aliases.add(each.asname or each.name)
            elif each.name == "pytest":
                self.pytest = True
                if each.asname not in (None, "pytest"):
                    raise Unreadable("it imports pytest under another name")
            else:
                kept.append(each)
        return ast.Import(names=kept) if kept else ast.Pass()

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self._aliases:
            return ast.Name(id=node.attr, ctx=node.ctx)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if ast.unparse(node.func) == "pytest.raises" and node.args:
            # Exceptions of the program are rebuilt where its tests run, as classes of the same name.
            given = node.args[0]
            if isinstance(given, ast.Tuple):
                given.elts = [self._by_name(each) for each in given.elts]
            node.args[0] = self._by_name(given)
        elif isinstance(node.func, ast.Attribute) and node.func.attr.startswith("assertRaises") and node.args:
            self._own_exception(node.args[0])
        return self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        if node.type is not None:
            self._own_exception(node.type)
        return self.generic_visit(node)

    def _by_name(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self._aliases:
            return ast.Constant(node.attr)
        return ast.Constant(node.id) if isinstance(node, ast.Name) and node.id in self._names else node

    def _own_exception(self, node: ast.expr) -> None:
        if any(self._by_name(each) is not each for each in ast.walk(node) if isinstance(each, ast.expr)):
            raise Unreadable("it catches an exception class of the program, which runs in a process of its own")

    def _left_out(self, renamed: Sequence[str]) -> ast.AST:
        if renamed:
            raise Unreadable(f"it gives several names of {self._module} other names in one import")
        return ast.Pass()
