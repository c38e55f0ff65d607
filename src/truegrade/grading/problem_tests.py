"""What decides about a program, in the four shapes that kinds of problems say of theirs."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import structs

from truegrade.files import syntax
from truegrade.grading.contests.tests import Tests
from truegrade.grading.programs import statements
from truegrade.records import Case


class CallTests(msgspec.Struct, frozen=True, kw_only=True):
    """Calls with plain values, and what each should return."""

    entry_point: str
    cases: tuple[Case, ...]
    comparator: str = "eq"
    """Name of the rule in `truegrade.grading.repairs`."""
    skipped: tuple[int, ...] = ()
    """0-based cases that are not run."""
    slow: tuple[int, ...] = ()
    """0-based cases that take long."""

    @property
    def quick(self) -> list[int]:
        """The other cases."""
        return [number for number in range(len(self.cases)) if number not in {*self.skipped, *self.slow}]


class SourceTests(msgspec.Struct, frozen=True, kw_only=True):
    """Python that calls the function, and raises unless it is right."""

    entry_point: str
    source: str
    setup: str = ""
    """What runs ahead of it."""
    shown: tuple[str, ...] = ()
    """Tests that a prompt may show, one statement each."""
    plain_arguments: bool = True
    """Whether plain values alone are passed."""
    method_call: str = ""
    """The function with which the source begins where it calls a method; empty where it calls a function."""
    owner: str = ""
    """The class of that method."""

    @property
    def cases(self) -> tuple[Case, ...]:
        """The tests as calls with plain values; none where a single one is anything else.

        Raises:
            SyntaxError: the source is no Python.
        """
        if self.setup or not self.plain_arguments:
            return ()
        cases = [_plain_case(node, self.entry_point) for node in statements(self.source)]
        return () if None in cases else tuple(case for case in cases if case is not None)


class ReferenceTests(msgspec.Struct, frozen=True, kw_only=True):
    """Calls whose outputs are compared with those of a right program."""

    entry_point: str
    reference: str
    inputs: tuple[tuple[Any, ...], ...]
    """Arguments of each."""
    further: tuple[tuple[Any, ...], ...] = ()
    """Arguments that an extended benchmark adds."""
    comparator: str = "equal"
    """Name of the rule in `truegrade.grading.functions`."""
    atol: float = 0.0


StreamTests = Tests
"""Texts on standard input, or of a method's arguments, as contests have them."""

ProblemTests = CallTests | SourceTests | ReferenceTests | StreamTests


def first_tests(tests: ProblemTests, most: int) -> ProblemTests:
    """The first of the tests alone, at least one.

    Raises:
        SyntaxError: their source is no Python.
    """
    match tests:
        case CallTests():
            return structs.replace(tests, cases=tests.cases[:most])
        case ReferenceTests():
            left = max(0, most - len(tests.inputs))
            return structs.replace(tests, inputs=tests.inputs[:most], further=tests.further[:left])
        case StreamTests():
            return structs.replace(
                tests, inputs=tests.inputs[:most], outputs=tests.outputs[:most], or_outputs=tests.or_outputs[:most]
            )
        case SourceTests():
            body = statements(tests.source)
            left_out = {id(node) for node in [node for node in body if is_test(node)][most:]}
            return structs.replace(tests, source=_source([node for node in body if id(node) not in left_out]))


def is_test(node: ast.stmt) -> bool:
    """Whether a top-level statement of tests is a test of its own."""
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))


def _source(body: Sequence[ast.stmt]) -> str:
    return ast.unparse(ast.Module([*body], []))


def _plain_case(node: ast.stmt, entry_point: str) -> Case | None:
    """The call and value of ``assert f(1, [2]) == 3``; None for any other statement."""
    match node:
        case ast.Assert(
            test=ast.Compare(
                left=ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]),
                ops=[ast.Eq()],
                comparators=[expected],
            )
        ) if name == entry_point:
            try:
                values = tuple(syntax.literal_eval(argument) for argument in arguments)
                return Case(arguments=values, expected=syntax.literal_eval(expected))
            except ValueError:
                return None
    return None
