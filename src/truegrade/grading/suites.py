"""The tests of a program to repair, one by one, so that it can be said how many pass.

Two kinds. Calls with plain values: the program gets arguments, and outputs are compared outside its process.
Other statements: each runs in a judge process, which calls the program in its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.grading.programs import arrange, statements
from truegrade.records import Case, CasesTask, FunctionTask

RepairTask = CasesTask | FunctionTask


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a program; ``cases`` or ``statements`` are given, never both."""

    entry_point: str
    cases: tuple[Case, ...] = ()
    comparator: str = "eq"
    context: str = ""
    """Definitions that the statements need."""
    statements: tuple[str, ...] = ()
    """Each is a test: it raises unless the program is right."""
    trusted: str = ""
    """What runs ahead of that; where objects cross, in the program's process too."""
    classes: tuple[str, ...] | None = None
    """Given, objects cross, see `truegrade.grading.executor.Executor.judge`."""
    skipped: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Number of tests, those skipped included."""
        return len(self.cases) or len(self.statements)


def suite_of(task: RepairTask) -> Suite:
    """The tests of a task.

    Top-level assertions and bare calls of a `FunctionTask`'s tests are a test each, everything else is context.
    If all are ``assert f(literals) == literal``, they become calls with plain values.
    """
    if isinstance(task, CasesTask):
        return Suite(
            entry_point=task.entry_point, cases=task.cases, comparator=task.comparator, skipped=task.skipped
        )
    body = statements(task.tests)
    tests = [node for node in body if is_test(node)]
    cases = [case for node in tests if (case := _plain_case(node, task.entry_point)) is not None]
    # Calls are compared outside, several to a process; every other kind of test costs a run of its own.
    if len(cases) == len(body) and task.plain_arguments and not task.setup:
        return Suite(entry_point=task.entry_point, cases=tuple(cases))
    context = ast.Module([node for node in body if not is_test(node)], [])
    arranged = arrange(task)
    return Suite(
        entry_point=task.entry_point,
        context=f"{arranged.setup}{ast.unparse(context)}",
        statements=tuple(map(ast.unparse, tests)),
        trusted=arranged.trusted,
        classes=arranged.classes,
    )


def is_test(node: ast.stmt) -> bool:
    """Whether a top-level statement of tests is a test of its own."""
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))


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
                values = tuple(ast.literal_eval(argument) for argument in arguments)
                return Case(arguments=values, expected=ast.literal_eval(expected))
            except ValueError:
                return None
    return None


# ------------------------------------------------------------------------------------------- comparison

Comparator = Callable[[Sequence[Any], Any, Any], bool]


def matches(comparator: str, case: Case, got: Any) -> bool:
    """Whether an output is right for a case; an output of a type that the rule cannot compare is wrong."""
    try:
        return COMPARATORS[comparator](case.arguments, case.expected, got)
    except (TypeError, ValueError, ArithmeticError, RecursionError, RuntimeError):
        return False  # RuntimeError: an iterator with more items than are carried over


def _eq(arguments: Sequence[Any], expected: Any, got: Any) -> bool:
    return bool(got == expected)


def _list(arguments: Sequence[Any], expected: Any, got: Any) -> bool:
    """``list(output) == expected``: generators."""
    if isinstance(got, range) and len(got) != len(expected):  # it may be of any length
        return False
    return bool(list(got) == expected)


def _tuple_rows(arguments: Sequence[Any], expected: Any, got: Any) -> bool:
    """The rows of the expected list, which JSON holds as lists, are tuples."""
    return bool(got == [tuple(row) for row in expected])


def _approx_abs_last_input(arguments: Sequence[Any], expected: Any, got: Any) -> bool:
    """Off by no more than the last argument, as ``pytest.approx(expected, abs=epsilon)``."""
    return bool(got == expected) or bool(abs(got - expected) <= arguments[-1])


COMPARATORS: Mapping[str, Comparator] = MappingProxyType(
    {"eq": _eq, "list": _list, "tuple_rows": _tuple_rows, "approx_abs_last_input": _approx_abs_last_input}
)
"""The rules of jkoppel/QuixBugs@4257f44 ``python_testcases/test_*.py``, by name."""
