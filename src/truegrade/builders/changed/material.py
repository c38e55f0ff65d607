"""What a rule sees of a problem, what it proposes, and the parts of programs that several rules ask for."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from truegrade.builders.changed.statement import Statement, TestCall
from truegrade.records.pairing import Family

Edit = tuple[int, int, str]
"""Begin and end in the prompt, and the text that takes the place."""


class Proposal(msgspec.Struct, frozen=True):
    """A changed reference and the edits of the prompt that say the same."""

    reference: str
    edits: tuple[Edit, ...]
    entry_point: str


class ChangeRule(NamedTuple):
    """A transformation of the reference tied to an edit of the statement."""

    name: str
    kind: str
    family: Family
    summary: str
    propose: Callable[[Material], Proposal | None]
    """None where the rule has nothing to change here."""
    on_result: bool = False
    """Whether it is a demand on what is returned, and nothing else."""


class Material:
    """One problem.

    Args:
        statement: its prompt, read.
        entry_point: the function or method under test.
        reference: a right program.
        calls: of its tests.
        values: what the reference returns for them.
    """

    def __init__(
        self,
        statement: Statement,
        entry_point: str,
        reference: ast.Module,
        calls: Sequence[TestCall],
        values: Sequence[Any],
    ) -> None:
        self.statement, self.entry_point, self._reference = statement, entry_point, reference
        self.calls, self.values = calls, values
        self.prose = statement.prose

    def tree(self) -> ast.Module:
        """The reference, to be changed in place."""
        return copy.deepcopy(self._reference)

    def function(self, tree: ast.Module) -> ast.FunctionDef | None:
        """The function under test in the reference."""
        found = [
            one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) and one.name == self.entry_point
        ]
        return found[0] if found else None

    def parameters(self) -> dict[str, list[Any]]:
        """The values that the tests pass, by parameter; empty where that is not plain."""
        function = self.function(self._reference)
        if function is None or function.args.vararg or function.args.kwarg or function.args.kwonlyargs:
            return {}
        names = [one.arg for one in function.args.args if one.arg != "self"]
        table: dict[str, list[Any]] = {name: [] for name in names}
        for call in self.calls:
            given = dict(zip(names, call.case.args, strict=False)) | call.case.kwargs
            if set(given) != set(names):
                return {}
            for name, value in given.items():
                table[name].append(value)
        return table

    @property
    def is_recursive(self) -> bool:
        """Whether the reference calls the function under test, or yields instead of returning."""
        function = self.function(self._reference)
        inside = list(ast.walk(function)) if function is not None else []
        names = {one.id for one in inside if isinstance(one, ast.Name)}
        attributes = {one.attr for one in inside if isinstance(one, ast.Attribute)}
        return self.entry_point in names | attributes or any(
            isinstance(one, ast.Yield | ast.YieldFrom) for one in inside
        )

    def says(self, pattern: str) -> bool:
        """Whether the prose matches, whatever the case."""
        return re.search(pattern, self.prose, re.IGNORECASE) is not None


def own_returns(function: ast.FunctionDef) -> Iterator[ast.Return]:
    """The function's own return statements, not those of functions inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Return):
            yield node
        waiting += ast.iter_child_nodes(node)


def expression(source: str) -> ast.expr:
    """The tree of an expression."""
    return ast.parse(source, mode="eval").body
