"""The functions of a package: where each stands, what the tests did with it, and whether its calls can decide."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property

import msgspec

from truegrade.apps.repository.recording import CallForm, RecordedCall, Recording, SeenOfFunction, case_of, form_of
from truegrade.apps.repository.source import RepositoryFile, lines_of
from truegrade.datasets.executions import RecordedCase
from truegrade.extraction.parsing import quietly

LEAST_CALLS = 3
"""Different recorded calls that a function needs for its problems to be decided by calls."""
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
    """Why its calls cannot decide, whatever is recorded; empty where nothing is in the way."""

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
        """Its text as it stands in the file, decorators included; of a method still indented."""
        return "".join(lines_of(self.module.text)[self.first_line - 1 : self.node.end_lineno])

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
        if self.obstacle:
            return self.obstacle
        if self.seen is None:
            return "no test reaches it"
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
            twice = "its name is bound more than once" if names.count(name) > 1 else ""
            yield FunctionPlace(
                module=module.file,
                name=name,
                node=node,
                seen=seen.get((module.file.path, first_line_of(node))),
                obstacle=generated or twice or around or _obstacle_in(node),
            )


def _found(
    body: Sequence[ast.stmt], above: str, obstacle: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{above}{node.name}", node, obstacle
        elif isinstance(node, ast.ClassDef):
            yield from _found(node.body, f"{above}{node.name}.", "it is a method, whose object does not cross")
        elif isinstance(node, ast.If | ast.Try):
            inner = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt)]
            inner += [one for part in getattr(node, "handlers", ()) for one in part.body]
            yield from _found(inner, above, obstacle or "it is defined under a condition")


def _obstacle_in(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if isinstance(node, ast.AsyncFunctionDef):
        return "it is async"
    if any(isinstance(part, ast.Global) for part in ast.walk(node)):
        return "it binds names of its module anew"
    if node.name.startswith("__"):
        return "it is a hook of the module"
    if any(ast.unparse(one).rpartition(".")[2] == "overload" for one in node.decorator_list):
        return "it is a declaration for type checkers"
    return ""
