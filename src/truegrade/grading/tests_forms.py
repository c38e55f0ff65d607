"""The tests of a problem as graders of others take them (``tests_as``)."""

from __future__ import annotations

import ast
import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, get_args

import msgspec
from msgspec import structs

from truegrade.errors import UserError
from truegrade.files import syntax
from truegrade.grading.problem_tests import CallTests, ProblemTests, ReferenceTests, SourceTests, StreamTests
from truegrade.grading.programs import statements
from truegrade.records import Case

TestsForm = Literal["asserts", "check", "stdio", "taco", "lcb", "pytest"]
"""``asserts``: a list of assert statements. ``check``: source that defines ``check(candidate)`` (HumanEval).
``stdio``: ``{"inputs": [text], "outputs": [text]}``. ``taco``: the same, for functions with ``fn_name``, lists of
arguments as inputs and each value in a list of one as output (APPS, TACO). ``lcb``: a list of ``{"input",
"output", "testtype", "metadata"}`` (LiveCodeBench). ``pytest``: source of a module that imports ``solution``."""

TESTS_FORMS: tuple[TestsForm, ...] = get_args(TestsForm)

Outputs = Sequence[tuple[Sequence[Any], Any]]
"""Arguments and the value that the reference returns for them."""


class PutTests(msgspec.Struct, frozen=True):
    """Tests in one of the shapes, or why there are none."""

    tests: Any = None
    why_not: str = ""
    """Empty where there are tests."""


class CannotPut(Exception):
    """The tests of this problem have no such shape; says why."""


def tests_form(name: str) -> TestsForm:
    """The shape of that name.

    Raises:
        UserError: there is none.
    """
    for form in TESTS_FORMS:
        if form == name:
            return form
    raise UserError(f"`tests_as`: {name!r} is none of {', '.join(TESTS_FORMS)}")


def put_tests(
    problem_id: str, tests: ProblemTests | str, form: TestsForm, outputs: Outputs | None = None
) -> PutTests:
    """The tests of a problem in one of the forms.

    Args:
        problem_id: named where they cannot be put so.
        tests: those of the problem, or why it has none.
        form: what they are wanted as.
        outputs: where a reference stands in place of expected values: what that returns.

    Returns:
        The tests, or the reason why the form cannot hold them: they would mean something else.
    """
    try:
        if isinstance(tests, str):
            raise CannotPut(tests)
        return PutTests(tests=_MAKERS[form](tests, outputs))
    except CannotPut as why:
        return PutTests(why_not=f"{problem_id}: {why}, so `tests_as={form}` cannot hold its tests")


# ------------------------------------------------------------------------------------------ what is there


def calls_in(tests: ProblemTests | str, outputs: Outputs | None) -> tuple[Case, ...]:
    """The tests as calls that return plain values.

    Raises:
        CannotPut: they are none.
    """
    match tests:
        case CallTests(comparator="eq"):
            return tuple(case for number, case in enumerate(tests.cases) if number not in tests.skipped)
        case CallTests():
            raise CannotPut(f"its outputs are compared by the rule {tests.comparator!r}")
        case ReferenceTests():
            if tests.comparator != "equal" or tests.atol:
                raise CannotPut("its outputs are compared by a rule of its own")
            if outputs is None:
                raise CannotPut("it has a reference in place of expected values, which has not been run")
            return tuple(Case(arguments=tuple(arguments), expected=value) for arguments, value in outputs)
        case SourceTests():
            cases = tests.cases or _cases_of_check(tests)
            if not cases:
                raise CannotPut("its tests are more than calls that return plain values")
            return cases
    raise CannotPut("it asks for no function")


def _cases_of_check(tests: SourceTests) -> tuple[Case, ...]:
    """The calls in the body of ``check(candidate)``, if it holds nothing else."""
    defined = _check(tests)
    if defined is None:
        return ()
    body = "\n".join(map(ast.unparse, defined.body))
    return structs.replace(tests, source=body, entry_point=defined.args.args[0].arg).cases


def _check(tests: ProblemTests) -> ast.FunctionDef | None:
    if not isinstance(tests, SourceTests):
        return None
    found = [
        node for node in statements(tests.source) if isinstance(node, ast.FunctionDef) and node.name == "check"
    ]
    return found[0] if found and len(found[0].args.args) == 1 else None


def _some(tests: StreamTests) -> StreamTests:
    if not tests.inputs:
        raise CannotPut("it has no tests")
    return tests


# -------------------------------------------------------------------------------------------- the shapes


def _asserts(tests: ProblemTests, outputs: Outputs | None) -> list[str]:
    if isinstance(tests, SourceTests) and (body := statements(tests.source)):
        if all(isinstance(node, ast.Assert) for node in body):
            first = [tests.setup.rstrip()] if tests.setup.strip() else []
            return ["\n".join([*first, ast.unparse(node)]) for node in body]
        cases = _cases_of_check(tests)
        if not cases:
            held = getattr(_check(tests), "body", ())
            only = held and all(isinstance(node, ast.Assert) for node in held)
            raise CannotPut(
                "its assertions are of more than a call that equals a plain value"
                if only
                else "its tests are more than assert statements"
            )
    else:
        cases = calls_in(tests, outputs)
    return [f"assert {_call(str(tests.entry_point), case)} == {_literal(case.expected)}" for case in cases]


def _check_source(tests: ProblemTests, outputs: Outputs | None) -> str:
    if isinstance(tests, SourceTests) and _check(tests) is not None:
        body = [
            node
            for node in statements(tests.source)
            if not (isinstance(node, ast.Expr) and ast.unparse(node).startswith("check("))
        ]
        return "\n\n".join([*filter(None, [tests.setup.rstrip()]), *map(ast.unparse, body)]) + "\n"
    try:
        cases = calls_in(tests, outputs)
    except CannotPut as why:
        return _wrapped(tests, str(why))
    lines = [f"    assert {_call('candidate', case)} == {_literal(case.expected)}" for case in cases]
    return "\n".join(["def check(candidate):", *(lines or ["    pass"])]) + "\n"


def _wrapped(tests: ProblemTests, why: str) -> str:
    """Test statements of any kind as the body of ``check(candidate)``.

    Raises:
        CannotPut: they would not run there: for the reason ``why``, or since assertions stand in definitions.
    """
    body = statements(tests.source) if isinstance(tests, SourceTests) else []
    run = [node for node in body if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    held = [part for node in run for part in ast.walk(node)]
    stars = any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in held)
    asserted = sum(isinstance(part, ast.Assert) for part in held)
    every = sum(isinstance(part, ast.Assert) for node in body for part in ast.walk(node))
    if not isinstance(tests, SourceTests) or stars or not asserted or asserted < every:
        raise CannotPut(why)
    if not any(isinstance(part, ast.Name) and part.id == tests.entry_point for part in held):
        raise CannotPut(why)
    lines = [f"{tests.entry_point} = candidate", *map(ast.unparse, body)]
    setup = [tests.setup.rstrip()] if tests.setup.strip() else []
    return "\n\n".join([*setup, f"def check(candidate):\n{textwrap.indent(chr(10).join(lines), '    ')}"]) + "\n"


def other_form(problems: Sequence[ProblemTests | str]) -> str:
    """Which form holds the tests of most problems: `` `tests_as=check` holds them``; empty if none does."""
    held = {form: sum(not put_tests("", tests, form).why_not for tests in problems) for form in TESTS_FORMS}
    best = max(TESTS_FORMS, key=lambda form: held[form])
    if not held[best]:
        return ""
    return f"`tests_as={best}` holds {'them' if held[best] == len(problems) else f'those of {held[best]}'}"


def _stdio(tests: ProblemTests, outputs: Outputs | None) -> dict[str, Any]:
    if not isinstance(tests, StreamTests) or tests.function is not None:
        raise CannotPut("it asks for a function and not for a program on stdin")
    return {"inputs": list(_some(tests).inputs), "outputs": list(tests.outputs)}


def _taco(tests: ProblemTests, outputs: Outputs | None) -> dict[str, Any]:
    if tests.entry_point is None:
        return _stdio(tests, outputs)
    if isinstance(tests, StreamTests):
        try:
            inputs = [[json.loads(line) for line in text.split("\n")] for text in _some(tests).inputs]
            wanted = [[json.loads(text)] for text in tests.outputs]
        except (ValueError, RecursionError):
            raise CannotPut("its tests hold values that are no JSON") from None
    else:
        cases = calls_in(tests, outputs)
        inputs = [[_json_value(value) for value in case.arguments] for case in cases]
        wanted = [[_json_value(case.expected)] for case in cases]
    return {"inputs": inputs, "outputs": wanted, "fn_name": tests.entry_point}


def _lcb(tests: ProblemTests, outputs: Outputs | None) -> list[dict[str, Any]]:
    if isinstance(tests, StreamTests):
        pairs = list(zip(_some(tests).inputs, tests.outputs, strict=True))
    else:
        pairs = [
            ("\n".join(json.dumps(_json_value(value)) for value in case.arguments),
             json.dumps(_json_value(case.expected)))
            for case in calls_in(tests, outputs)
        ]  # fmt: skip
    name = tests.entry_point
    kind = "stdin" if name is None else "functional"
    return [
        {"input": given, "output": wanted, "testtype": kind, "metadata": {"func_name": name}}
        for given, wanted in pairs
    ]


def _pytest(tests: ProblemTests, outputs: Outputs | None) -> str:
    name = tests.entry_point
    if name is None:
        raise CannotPut("it asks for a program on stdin")
    if _check(tests) is not None:
        body = f"{_check_source(tests, outputs)}\n\ndef test_check():\n    check({name})\n"
    else:
        asserts = _asserts(tests, outputs)
        parts = [f"def test_{n}():\n{textwrap.indent(test, '    ')}\n" for n, test in enumerate(asserts)]
        body = "\n\n".join(parts)
    return f"from solution import {name}\n\n\n{body}"


_MAKERS: Mapping[TestsForm, Any] = MappingProxyType(
    {
        "asserts": _asserts,
        "check": _check_source,
        "stdio": _stdio,
        "taco": _taco,
        "lcb": _lcb,
        "pytest": _pytest,
    }
)


# ------------------------------------------------------------------------------------------------ values


def _call(name: str, case: Case) -> str:
    return f"{name}({', '.join(map(_literal, case.arguments))})"


def _literal(value: object) -> str:
    """Source that gives the value back.

    Raises:
        CannotPut: there is none.
    """
    text = repr(value)
    try:
        if syntax.literal_eval(text) == value:
            return text
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    raise CannotPut(f"the value {text[:60]} has no literal")


def _json_value(value: Any) -> Any:
    """The value as JSON has it: tuples as lists.

    Raises:
        CannotPut: JSON would change it otherwise.
    """
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _json_value(item) for key, item in value.items()}
    raise CannotPut(f"JSON has no {type(value).__name__} as in {str(value)[:60]}")
