"""The functions of a package: where each stands, what the tests did with it, and whether its calls can decide."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from functools import cached_property

import msgspec

from truegrade.apps.repository.recording import CallForm, RecordedCall, Recording, SeenOfFunction, case_of, form_of
from truegrade.apps.repository.source import RepositoryFile, lines_of
from truegrade.datasets.executions import RecordedCase
from truegrade.extraction.parsing import quietly

LEAST_CALLS = 3
"""Different recorded calls that a function needs for its problems to be decided by calls."""
UNREACHED = "no test reaches it"
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

    def why_not_outside(self, least: int = LEAST_CALLS) -> str:
        """Why it cannot be decided by calls, of which so many must be recorded; empty where it may be."""
        if self.outside_obstacle:
            return self.outside_obstacle
        if self.seen is None:
            return UNREACHED
        if not self.seen.crossing:
            return "no recorded call has arguments that are plain values"
        if self.seen.changes:
            return "it changes its arguments, which do not come back from another process"
        if len(self.seen.calls) < least:
            return f"fewer than {least} different calls with plain arguments were recorded"
        return ""


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
            return ast.parse(self.file.text)


def list_functions(modules: Sequence[ParsedModule], recording: Recording) -> Iterator[FunctionPlace]:
    """The functions of modules, in their order; those within functions are parts of these and not listed."""
    seen = recording.by_place()
    for module in modules:
        names = [one.name for one in module.tree.body if isinstance(one, _SCOPES)]
        generated = "its file says that it is generated" if module.file.is_generated else ""
        for name, node, around in _found(module.tree.body, "", ""):
            others = names.count(name) if "." not in name else 1 + names.count(node.name)
            twice = "its name is bound more than once" if others > 1 else ""
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


def _hangs_on_class(node: ast.AST) -> bool:
    """Whether it means something else outside the body of a class."""
    name = getattr(node, "id", "") or getattr(node, "attr", "")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "super" and not node.args
    return name == "__class__" or (name.startswith("__") and not name.endswith("__"))


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
