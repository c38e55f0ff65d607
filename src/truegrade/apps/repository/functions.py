"""The functions of a package: where each stands, what the tests did with it, and whether its calls can decide."""

from __future__ import annotations

import ast
import base64
import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import msgspec
from msgspec import structs

from truegrade.apps.repository.doctests import doctest_arguments, examples_in
from truegrade.apps.repository.jailed import runner_source
from truegrade.apps.repository.source import (
    RepositoryFile,
    SourceTree,
    import_root,
    lines_of,
    options_of_pytest,
    suite_files,
    warnings_configured,
)
from truegrade.datasets.executions import RecordedCase
from truegrade.errors import UserError
from truegrade.extraction.parsing import evaluate, is_literal, parse_expression, quietly
from truegrade.files import syntax
from truegrade.sandbox import Sandbox
from truegrade.sandbox.outcome import Outcome

# -------------------- One run of a repository's tests in the jail, and what was recorded of each of its functions.


_CALLS, _CALLS_OF_TESTS, _VALUES = 40, 200, 12
"""Different calls kept of a function; then the first one of each test; then those that give a parameter one of its
first so many values."""
MOST_CHARS = 800
"""Characters of a call's arguments, and of what it returns."""
_LOOKED_AT = 200
"""Calls of a function by one test whose arguments are looked at, besides those that bring a new value."""
TEST_SECONDS = 20
"""CPU seconds of one test."""


class RecordedCall(msgspec.Struct, frozen=True):
    """A call that a test made, directly or by way of other functions."""

    arguments: str
    """A literal: a dictionary of parameters, a tuple of further arguments, a dictionary of further keywords."""
    kind: str
    """``value``, ``raised``, ``items`` of a generator, or empty where it never came back."""
    result: str | None = None
    """The literal that it returned, where it returned one."""


class SeenOfFunction(msgspec.Struct, frozen=True, kw_only=True):
    """What the run saw of one function."""

    path: str
    line: int
    """Its first, a decorator's included."""
    seen: int
    """Calls."""
    tests: tuple[str, ...]
    """Tests that reach it."""
    crossing: int
    """Calls looked at whose arguments are plain values."""
    changes: bool
    """Whether a call left its arguments other than it found them."""
    patched: bool = False
    """Whether a test had changed what a name of its module stands for that it reads."""
    at_import: bool = False
    """Whether it is called while modules are loaded, which no measure in a loaded process sees."""
    calls: tuple[RecordedCall, ...]
    """Different ones with plain arguments."""


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of the tests showed."""

    tests: int = 0
    """Tests run."""
    failed: Mapping[str, str] = {}
    """Tests, and files that could not be collected, that failed in the jail, each with its last line."""
    cut: bool = False
    """Time was up before all tests had run."""
    why_none: str = ""
    """Why there is nothing; empty where the run ended."""
    starting: tuple[str, ...] = ()
    """Tests that start processes, which may reach any function."""
    functions: tuple[SeenOfFunction, ...] = ()

    def by_place(self) -> dict[tuple[str, int], SeenOfFunction]:
        """Functions by path and first line."""
        return {(one.path, one.line): one for one in self.functions}


class _ToldOfFunction(msgspec.Struct, frozen=True, kw_only=True):
    """What the recorder writes of a function: tests by their numbers."""

    path: str
    line: int
    seen: int
    tests: tuple[int, ...]
    crossing: int
    changes: bool
    patched: bool
    at_import: bool
    calls: tuple[RecordedCall, ...]


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    """What the recorder writes."""

    exit_code: int
    tests: int
    failed: dict[str, str]
    cut: bool
    names: list[str]
    starting: list[int]
    functions: tuple[_ToldOfFunction, ...]

    def functions_named(self) -> tuple[SeenOfFunction, ...]:
        """The same with the tests' names, of tests alone."""
        return tuple(
            SeenOfFunction(
                **{**structs.asdict(one), "tests": tuple(self.names[each] for each in one.tests if each >= 0)}
            )
            for one in self.functions
        )


def record_tests(
    tree: SourceTree, modules: Sequence[RepositoryFile], sandbox: Sandbox, seconds: float
) -> Recording:
    """Run the tests of a tree once, under the recorder, and the doctests that belong to them.

    Args:
        tree: laid out in the jail's scratch folder.
        modules: files whose functions are recorded.
        sandbox: whose limits allow pytest and what the tests import, and two processes more at least.
        seconds: CPU time of the whole run.

    Raises:
        SandboxError: the machine failed.
    """
    tests = asked_of_pytest(tree, modules)
    unnamed = {path: "pytest takes no path with [ or ::" for path in suite_files(tree) if not _may_be_asked(path)}
    if not tests:
        why = "there are no tests: no test_*.py, *_test.py or doctest"
        return Recording(failed=unnamed, why_none=next((f"{path}: {unnamed[path]}" for path in unnamed), why))
    given = {
        "files": {path: base64.b85encode(content).decode() for path, content in laid_out(tree).items()},
        "import_root": import_root(tree),
        "modules": [module.path for module in modules],
        "tests": tests,
        "options": {
            "calls": _CALLS,
            "calls_of_tests": _CALLS_OF_TESTS,
            "values": _VALUES,
            "chars": MOST_CHARS,
            "looked_at": _LOOKED_AT,
            "seconds": seconds,
            "test_seconds": TEST_SECONDS,
        },
    }
    outcome = sandbox.script(
        runner_source("recorder"), json.dumps(given), wall_s=4 * seconds, cpu_s=seconds + 3 * TEST_SECONDS
    )
    recording = _read(outcome)
    return msgspec.structs.replace(recording, failed={**unnamed, **recording.failed})


def asked_of_pytest(tree: SourceTree, modules: Sequence[RepositoryFile]) -> list[str]:
    """The files of a tree's tests, and what has pytest run the doctests that belong to them; empty without any."""
    suites = [f"./{path}" if path.startswith("-") else path for path in suite_files(tree) if _may_be_asked(path)]
    modes = [f"--import-mode={mode}" for mode in options_of_pytest(tree, "--import-mode")]
    warned = [word for each in warnings_configured(tree) for word in ("-W", each)]
    asked = [*suites, *doctest_arguments(tree, modules)]
    return [*modes, *warned, *asked] if asked else []


def _may_be_asked(path: str) -> bool:
    """Whether pytest takes a path for one: what stands behind ``[`` or ``::`` is a test's."""
    return "[" not in path and "::" not in path


def laid_out(tree: SourceTree) -> dict[str, bytes]:
    """The files of a tree, and the metadata by which `importlib.metadata` finds its version."""
    said = f"Metadata-Version: 2.1\nName: {tree.name}\nVersion: {tree.version or '0'}\n"
    place = f"{import_root(tree)}{tree.name.replace('-', '_')}-{tree.version or '0'}.dist-info/METADATA"
    return {place: said.encode(), **tree.files}


def _read(outcome: Outcome) -> Recording:
    try:
        told = msgspec.json.decode(outcome.stdout, type=_Told)
    except (msgspec.DecodeError, UnicodeEncodeError):
        last = outcome.detail or outcome.stderr.strip().rpartition("\n")[2] or outcome.stdout[:200]
        return Recording(why_none=f"the test run did not end: {last}"[:300])
    if not told.tests:
        first = next(
            (f"{name}: {why}" for name, why in told.failed.items()), f"pytest's exit code {told.exit_code}"
        )
        return Recording(failed=told.failed, why_none=f"no test could be run: {first}")
    return Recording(
        tests=told.tests,
        failed=told.failed,
        cut=told.cut,
        starting=tuple(told.names[number] for number in told.starting),
        functions=told.functions_named(),
    )


# --------------------------------------------------------------------------- Recorded arguments as calls again.


class CallForm(msgspec.Struct, frozen=True):
    """How a function's arguments are written."""

    first: tuple[str, ...]
    """Parameters given by their place: those without a default, and positional-only ones."""
    places: tuple[str, ...]
    """All that can be given by their place."""
    defaults: Mapping[str, Any]
    """Parameters whose default is a literal, and that."""


def form_of(function: ast.FunctionDef) -> CallForm:
    """How calls of a function are written."""
    arguments = function.args
    places = [*arguments.posonlyargs, *arguments.args]
    first = max(len(places) - len(arguments.defaults), len(arguments.posonlyargs))
    return CallForm(
        first=tuple(one.arg for one in places[:first]),
        places=tuple(one.arg for one in places),
        defaults={name: evaluate(value) for name, value in defaults_of(arguments).items() if is_literal(value)},
    )


def defaults_of(arguments: ast.arguments) -> dict[str, ast.expr]:
    """Parameters that have a default, and that."""
    places = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(places[len(places) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return {one.arg: value for one, value in pairs if value is not None}


def case_of(call: RecordedCall, form: CallForm) -> RecordedCase:
    """The arguments of a recorded call as somebody would write them: defaults left out, options by name.

    Raises:
        UserError: the text is no recorded call.
    """
    try:
        named, rest, more = evaluate(parse_expression(call.arguments))  # type: ignore[arg-type]  # or a fault
        first = form.places if rest else form.first
        given = list(first)
        while given and not rest and _is_default(given[-1], named[given[-1]], form.defaults):
            given.pop()
        args = tuple(named[name] for name in given) + tuple(rest)
        kwargs = {
            name: value
            for name, value in named.items()
            if name not in first and not _is_default(name, value, form.defaults)
        }
    except (TypeError, ValueError, KeyError, AttributeError):
        raise UserError(f"a recorded call is not readable: {call.arguments[:80]}") from None
    return RecordedCase(args, {**kwargs, **more})


def _is_default(name: str, value: Any, defaults: Mapping[str, Any]) -> bool:
    return name in defaults and repr(defaults[name]) == repr(value)


# --------------------------------------------- The functions: where each stands, and whether its calls can decide.


LEAST_CALLS = 3
"""Different recorded calls that a function needs for its problems to be decided by calls."""
UNREACHED = "no test reaches it"
AT_IMPORT = "it is called while modules are loaded, of which a measure in a loaded process sees nothing"
_METHOD = "it is a method, whose object does not cross"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def first_line_of(node: ast.stmt) -> int:
    """The line on which a statement begins, decorators included."""
    decorators = node.decorator_list if isinstance(node, _SCOPES) else []
    return min([node.lineno, *(one.lineno for one in decorators)])


class FunctionPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A function and where it stands."""

    module: RepositoryFile
    name: str
    """As in ``Class.method``."""
    node: ast.FunctionDef | ast.AsyncFunctionDef
    seen: SeenOfFunction | None
    """What the tests did with it; None where none reaches it."""
    obstacle: str
    """Why nothing can decide about answers to it, whatever is recorded; empty where nothing is in the way."""

    @property
    def place(self) -> str:
        """Where it stands, for a person."""
        return f"{self.module.path}:{self.node.lineno} {self.name}"

    @property
    def id(self) -> str:
        """Its dotted name."""
        return f"{self.module.dotted}.{self.name}"

    @property
    def first_line(self) -> int:
        """Its first line, decorators included."""
        return first_line_of(self.node)

    @property
    def source(self) -> str:
        """Its text as it stands in the file, decorators included; a method as the plain function that it is."""
        if self.is_method:
            return bare(self.node) + "\n"
        return "".join(lines_of(self.module.text)[self.first_line - 1 : self.node.end_lineno])

    @property
    def is_method(self) -> bool:
        """Whether it stands in a class."""
        return "." in self.name

    @property
    def outside_obstacle(self) -> str:
        """Why its calls cannot decide, whatever is recorded; empty where nothing is in the way."""
        return _METHOD if self.is_method else self.obstacle

    @property
    def form(self) -> CallForm:
        """How its arguments are written."""
        assert isinstance(self.node, ast.FunctionDef)
        return form_of(self.node)

    def recorded(self) -> list[tuple[RecordedCase, RecordedCall]]:
        """Its recorded calls that came back, each as it would be written and as it was seen."""
        calls = self.seen.calls if self.seen is not None else ()
        return [(case_of(call, self.form), call) for call in calls if call.kind]

    def examples(self) -> list[RecordedCase]:
        """Calls of it in the examples of its docstring, those with literal arguments."""
        found = []
        for line in examples_in(ast.get_docstring(self.node) or ""):
            with suppress(SyntaxError, ValueError, RecursionError):
                for call in ast.walk(syntax.parse(line)):
                    match call:
                        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name == self.node.name:
                            named = [(each.arg or "", evaluate(each.value)) for each in call.keywords]
                            found.append(RecordedCase(tuple(map(evaluate, call.args)), dict(named)))
        return [case for case in found if "" not in case.kwargs]  # it stands for a dictionary of them

    def why_not_outside(self, least: int = LEAST_CALLS) -> str:
        """Why it cannot be decided by calls, of which so many must be recorded; empty where it may be."""
        if self.outside_obstacle or self.seen is None:
            return self.outside_obstacle or UNREACHED
        calls = [one for one in ast.walk(self.node) if isinstance(one, ast.Call)]
        reasons = (
            (not self.seen.crossing, "no recorded call has arguments that are plain values"),
            (
                any(_name_of(call.func) == "warn" for call in calls),
                "it warns, which does not come back from another process",
            ),
            (self.seen.patched, "tests put other values into its module while it is called"),
            (self.seen.changes, "it changes its arguments, which do not come back from another process"),
            (
                len(self.seen.calls) < least,
                f"fewer than {least} different calls with plain arguments were recorded",
            ),
        )
        return next((why for holds, why in reasons if holds), "")


class ParsedModule:
    """A module and its tree.

    Args:
        file: whose text parses.
    """

    def __init__(self, file: RepositoryFile) -> None:
        self.file = file

    @cached_property
    def tree(self) -> ast.Module:
        """Its tree; not to be changed."""
        with quietly():
            return syntax.parse(self.file.text)


def list_functions(modules: Sequence[ParsedModule], recording: Recording) -> Iterator[FunctionPlace]:
    """The functions of modules, in their order; those within functions are parts of these and not listed."""
    seen = recording.by_place()
    for module in modules:
        names = [one.name for one in module.tree.body if isinstance(one, _SCOPES)]
        generated = "its file says that it is generated" if module.file.is_generated else ""
        for name, node, around in _found(module.tree.body, "", ""):
            twice = "its name is bound more than once" if names.count(name) > 1 else ""
            if name != node.name and node.name in names:
                twice = "its module has a function or class of its name, which the answer would replace"
            yield FunctionPlace(
                module=module.file,
                name=name,
                node=node,
                seen=seen.get((module.file.path, first_line_of(node))),
                obstacle=generated or twice or around or _obstacle_in(node, "." in name),
            )


def _found(
    body: Sequence[ast.stmt], above: str, obstacle: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{above}{node.name}", node, obstacle
        elif isinstance(node, ast.ClassDef):
            names = [one.name for one in node.body if isinstance(one, _SCOPES)]
            for name, method, around in _found(node.body, f"{above}{node.name}.", obstacle):
                twice = names.count(method.name) > 1
                yield name, method, "its class binds its name more than once" if twice else around
        elif isinstance(node, ast.If | ast.Try):
            inner = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt)]
            inner += [one for part in getattr(node, "handlers", ()) for one in part.body]
            yield from _found(inner, above, obstacle or "it is defined under a condition")


def bare(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """A function's text without decorators and comments."""
    return ast.unparse(undecorated(node))


def undecorated(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """A copy of a definition without decorators; its body is the same."""
    made = copy.copy(node)
    made.decorator_list = []
    return made


def bare_function(function: FunctionPlace) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """A copy of a definition without decorators and docstring."""
    bare = undecorated(function.node)
    if ast.get_docstring(bare) is not None and len(bare.body) > 1:
        bare.body = bare.body[1:]
    return bare


def _hangs_on_class(node: ast.AST) -> bool:
    """Whether it means something else outside the body of a class."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "super" and not node.args
    if isinstance(node, ast.Name) and node.id == "__class__":
        return True
    name = getattr(node, "id", "") or getattr(node, "attr", "")
    return name.startswith("__") and not name.endswith("__")


def _name_of(called: ast.expr) -> str:
    return ast.unparse(called).rpartition(".")[2]


def _obstacle_in(node: ast.FunctionDef | ast.AsyncFunctionDef, in_class: bool) -> str:
    if isinstance(node, ast.AsyncFunctionDef):
        return "it is async"
    if any(isinstance(part, ast.Global) for part in ast.walk(node)):
        return "it binds names of its module anew"
    if not in_class and node.name.startswith("__"):
        return "it is a hook of the module"
    if in_class and any(map(_hangs_on_class, ast.walk(node))):
        return "it uses what only the text of its class has: super() or names that begin with __"
    if any(ast.unparse(one).rpartition(".")[2] == "overload" for one in node.decorator_list):
        return "it is a declaration for type checkers"
    return ""
