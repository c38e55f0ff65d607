"""Tests as calls with plain values, and calls as tests: what a changed problem keeps are the inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import msgspec

from truegrade.datasets.executions import RecordedCase
from truegrade.datasets.literal_text import literal_text
from truegrade.extraction.literals import Literal, parse_literal
from truegrade.grading.programs import statements

CANDIDATE = "candidate"
"""The parameter of ``check`` in the tests of HumanEval and LeetCodeDataset."""
TOLERANCE = "1e-06"
"""Absolute tolerance of new tests whose value is a float."""
_WRAPPERS = frozenset({"set", "sorted", "tuple", "list", "frozenset"})
_MAX_CHARS = 20_000


class TestCall(msgspec.Struct, frozen=True):
    """One call of the tests."""

    case: RecordedCase
    wrapper: str = ""
    """Built-in function that the test puts around the value, such as ``set``; empty for none."""

    def assertion(self, function: str, value: str) -> str:
        """The test that the call returns a value, given as a literal."""
        call = self.call(function)
        if self.wrapper:
            return f"assert {self.wrapper}({call}) == {self.wrapper}({value})"
        if isinstance(ast.literal_eval(value), float):
            return f"assert abs({call} - {value}) < {TOLERANCE}"
        return f"assert {call} == {value}"

    def call(self, function: str) -> str:
        """``f(1, k=2)``."""
        args = [literal_text(value, _MAX_CHARS) or "" for value in self.case.args]
        args += [f"{name}={literal_text(value, _MAX_CHARS)}" for name, value in self.case.kwargs.items()]
        return f"{function}({', '.join(args)})"


def calls_of_tests(tests: str, function: str) -> list[TestCall]:
    """The calls of the assertions that compare one call with plain arguments, each call once.

    Args:
        tests: source: top-level assertions, or the assertions of a function ``check(candidate)``.
        function: the function under test.
    """
    found: dict[str, TestCall] = {}
    for node in _assertions(tests):
        calls = [
            one for one in ast.walk(node) if isinstance(one, ast.Call) and _named(one) in {function, CANDIDATE}
        ]
        if len(calls) == 1 and (case := case_of(calls[0])) is not None:
            one = TestCall(case, _wrapper(node, calls[0]))
            found.setdefault(one.call(function), one)
    return list(found.values())


def case_of(call: ast.Call) -> RecordedCase | None:
    """The arguments of a call; None where one is no literal, or too long to be written again."""
    try:
        args = tuple(ast.literal_eval(value) for value in call.args)
        kwargs = {str(given.arg): ast.literal_eval(given.value) for given in call.keywords if given.arg}
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if len(kwargs) < len(call.keywords):
        return None
    written = all(literal_text(value, _MAX_CHARS) is not None for value in (*args, *kwargs.values()))
    return RecordedCase(args=args, kwargs=kwargs) if written else None


def is_plain(value: str) -> bool:
    """Whether a literal can be compared by ``==``, or is a float: no float stands inside a container."""
    read = parse_literal(value)
    return isinstance(read, Literal) and (isinstance(read.value, float) or not _holds_float(read.value))


def as_tests(calls: list[TestCall], values: list[str], function: str, *, check: bool) -> str:
    """The test source.

    Args:
        calls: of the tests.
        values: what each must return, as literals.
        function: the function under test.
        check: a function ``check(candidate)`` that is called with it; else top-level assertions.
    """
    if not check:
        return "\n".join(one.assertion(function, value) for one, value in zip(calls, values, strict=True))
    lines = [f"    {one.assertion(CANDIDATE, value)}" for one, value in zip(calls, values, strict=True)]
    return "\n".join([f"def check({CANDIDATE}):", *lines, "", "", f"check({function})"])


def has_check(tests: str) -> bool:
    """Whether the tests stand in a function ``check``."""
    return any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in statements(tests))


def _assertions(tests: str) -> Iterator[ast.Assert]:
    for node in statements(tests):
        inside = node.body if isinstance(node, ast.FunctionDef) and node.name == "check" else [node]
        yield from (one for one in inside if isinstance(one, ast.Assert))


def _named(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ast.unparse(call.func)


def _wrapper(test: ast.Assert, call: ast.Call) -> str:
    match test.test:
        case ast.Compare(left=ast.Call(func=ast.Name(id=name), args=[inner]), ops=[ast.Eq()]) if inner is call:
            return name if name in _WRAPPERS else ""
    return ""


def _holds_float(value: Any) -> bool:
    if isinstance(value, float | complex):
        return True
    items = value.values() if isinstance(value, dict) else value
    return not isinstance(value, str | bytes) and hasattr(items, "__iter__") and any(map(_holds_float, items))
