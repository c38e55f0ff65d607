"""The tests of a problem as graders of others take them (``tests_as``), or some of them alone."""

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
from truegrade.grading.contests.tests import decode
from truegrade.grading.programs import statements
from truegrade.grading.repairs import is_test, suite_of
from truegrade.records import Case, CasesTask, ContestTask, FunctionTask, OracleTask, Problem, Task

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


def tests_of(problem: Problem, form: TestsForm, outputs: Outputs | None = None) -> PutTests:
    """The tests of a problem in one of the shapes.

    Args:
        problem: whose task is a function to write or repair, or a contest problem.
        form: the shape.
        outputs: of a problem that holds a reference in place of expected values: what that returns.

    Returns:
        The tests, or the reason why the shape cannot hold them: they would mean something else.
    """
    try:
        return PutTests(tests=_MAKERS[form](problem, outputs))
    except CannotPut as why:
        return PutTests(why_not=f"{problem.id}: {why}, so `tests_as={form}` cannot hold its tests")


# ------------------------------------------------------------------------------------------ what is there


def entry_point_of(problem: Problem) -> str | None:
    """The function that tests call; None for programs on stdin."""
    task = problem.task
    if isinstance(task, FunctionTask | OracleTask | CasesTask):
        return task.entry_point
    return task.function if isinstance(task, ContestTask) else None


def words_of(problem: Problem) -> str:
    """What a model was asked, as the data set words it."""
    task = problem.task
    for name in ("prompt", "question", "buggy"):
        if isinstance(words := getattr(task, name, None), str):
            return words
    return problem.id


def calls_of(problem: Problem, outputs: Outputs | None) -> tuple[Case, ...]:
    """The tests as calls that return plain values."""
    task = problem.task
    if isinstance(task, CasesTask):
        if task.comparator != "eq":
            raise CannotPut(f"its outputs are compared by the rule {task.comparator!r}")
        return tuple(case for number, case in enumerate(task.cases) if number not in task.skipped)
    if isinstance(task, OracleTask):
        if task.comparator != "equal" or task.atol:
            raise CannotPut("its outputs are compared by a rule of its own")
        if outputs is None:
            raise CannotPut("it has a reference in place of expected values, which has not been run")
        return tuple(Case(arguments=tuple(arguments), expected=value) for arguments, value in outputs)
    if isinstance(task, FunctionTask):
        cases = suite_of(task).cases or _cases_of_check(task)
        if not cases:
            raise CannotPut("its tests are more than calls that return plain values")
        return cases
    raise CannotPut("it asks for no function")


def _cases_of_check(task: FunctionTask) -> tuple[Case, ...]:
    """The calls in the body of ``check(candidate)``, if it holds nothing else."""
    defined = _check(task)
    if defined is None or task.setup or not task.plain_arguments:
        return ()
    body = "\n".join(map(ast.unparse, defined.body))
    name = defined.args.args[0].arg
    renamed = msgspec.structs.replace(task, tests=body, entry_point=name)
    return suite_of(renamed).cases


def _check(task: FunctionTask) -> ast.FunctionDef | None:
    found = [node for node in statements(task.tests) if isinstance(node, ast.FunctionDef) and node.name == "check"]
    return found[0] if found and len(found[0].args.args) == 1 else None


def _stdin_tests(task: ContestTask) -> tuple[list[str], list[str]]:
    tests = decode(task)
    if not tests.inputs:
        raise CannotPut("it has no tests")
    return list(tests.inputs), list(tests.outputs)


# -------------------------------------------------------------------------------------------- the shapes


def _asserts(problem: Problem, outputs: Outputs | None) -> list[str]:
    task = problem.task
    if isinstance(task, FunctionTask) and (body := statements(task.tests)):
        if all(isinstance(node, ast.Assert) for node in body):
            first = [task.setup.rstrip()] if task.setup.strip() else []
            return ["\n".join([*first, ast.unparse(node)]) for node in body]
        cases = _cases_of_check(task)
        if not cases:
            held = getattr(_check(task), "body", ())
            only = held and all(isinstance(node, ast.Assert) for node in held)
            raise CannotPut(
                "its assertions are of more than a call that equals a plain value"
                if only
                else "its tests are more than assert statements"
            )
    else:
        cases = calls_of(problem, outputs)
    name = entry_point_of(problem)
    return [f"assert {_call(str(name), case)} == {_literal(case.expected)}" for case in cases]


def _check_source(problem: Problem, outputs: Outputs | None) -> str:
    task = problem.task
    if isinstance(task, FunctionTask) and _check(task) is not None:
        body = [
            node
            for node in statements(task.tests)
            if not (isinstance(node, ast.Expr) and ast.unparse(node).startswith("check("))
        ]
        return "\n\n".join([*filter(None, [task.setup.rstrip()]), *map(ast.unparse, body)]) + "\n"
    try:
        cases = calls_of(problem, outputs)
    except CannotPut as why:
        return _wrapped(task, str(why))
    lines = [f"    assert {_call('candidate', case)} == {_literal(case.expected)}" for case in cases]
    return "\n".join(["def check(candidate):", *(lines or ["    pass"])]) + "\n"


def _wrapped(task: object, why: str) -> str:
    """Test statements of any kind as the body of ``check(candidate)``.

    Raises:
        CannotPut: they would not run there: for the reason ``why``, or since assertions stand in definitions.
    """
    body = statements(task.tests) if isinstance(task, FunctionTask) else []
    run = [node for node in body if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    held = [part for node in run for part in ast.walk(node)]
    stars = any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in held)
    asserted = sum(isinstance(part, ast.Assert) for part in held)
    every = sum(isinstance(part, ast.Assert) for node in body for part in ast.walk(node))
    if not isinstance(task, FunctionTask) or stars or not asserted or asserted < every:
        raise CannotPut(why)
    if not any(isinstance(part, ast.Name) and part.id == task.entry_point for part in held):
        raise CannotPut(why)
    lines = [f"{task.entry_point} = candidate", *map(ast.unparse, body)]
    setup = [task.setup.rstrip()] if task.setup.strip() else []
    return "\n\n".join([*setup, f"def check(candidate):\n{textwrap.indent(chr(10).join(lines), '    ')}"]) + "\n"


def other_form(problems: Sequence[Problem]) -> str:
    """Which other shape holds the tests of most problems: `` `tests_as=check` holds them``; empty if none does."""
    held = {form: sum(not tests_of(problem, form).why_not for problem in problems) for form in TESTS_FORMS}
    best = max(TESTS_FORMS, key=lambda form: held[form])
    if not held[best]:
        return ""
    return f"`tests_as={best}` holds {'them' if held[best] == len(problems) else f'those of {held[best]}'}"


def _stdio(problem: Problem, outputs: Outputs | None) -> dict[str, Any]:
    task = problem.task
    if not isinstance(task, ContestTask) or task.function is not None:
        raise CannotPut("it asks for a function and not for a program on stdin")
    inputs, wanted = _stdin_tests(task)
    return {"inputs": inputs, "outputs": wanted}


def _taco(problem: Problem, outputs: Outputs | None) -> dict[str, Any]:
    if entry_point_of(problem) is None:
        return _stdio(problem, outputs)
    task = problem.task
    if isinstance(task, ContestTask):
        asked, told = _stdin_tests(task)
        try:
            inputs = [[json.loads(line) for line in text.split("\n")] for text in asked]
            wanted = [[json.loads(text)] for text in told]
        except (ValueError, RecursionError):
            raise CannotPut("its tests hold values that are no JSON") from None
    else:
        cases = calls_of(problem, outputs)
        inputs = [[_json_value(value) for value in case.arguments] for case in cases]
        wanted = [[_json_value(case.expected)] for case in cases]
    return {"inputs": inputs, "outputs": wanted, "fn_name": entry_point_of(problem)}


def _lcb(problem: Problem, outputs: Outputs | None) -> list[dict[str, Any]]:
    task, name = problem.task, entry_point_of(problem)
    if isinstance(task, ContestTask):
        pairs = list(zip(*_stdin_tests(task), strict=True))
    else:
        cases = calls_of(problem, outputs)
        pairs = [
            ("\n".join(json.dumps(_json_value(value)) for value in case.arguments),
             json.dumps(_json_value(case.expected)))
            for case in cases
        ]  # fmt: skip
    kind = "stdin" if name is None else "functional"
    return [
        {"input": given, "output": wanted, "testtype": kind, "metadata": {"func_name": name}}
        for given, wanted in pairs
    ]


def _pytest(problem: Problem, outputs: Outputs | None) -> str:
    name = entry_point_of(problem)
    if name is None:
        raise CannotPut("it asks for a program on stdin")
    task = problem.task
    if isinstance(task, FunctionTask) and _check(task) is not None:
        body = f"{_check_source(problem, outputs)}\n\ndef test_check():\n    check({name})\n"
    else:
        tests = _asserts(problem, outputs)
        parts = [f"def test_{n}():\n{textwrap.indent(test, '    ')}\n" for n, test in enumerate(tests)]
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


# ------------------------------------- A problem with some of its tests alone, for rewards that count no more.


def first_tests(problem: Problem, most: int) -> Problem:
    """The problem with its first tests alone; for counting, since a right answer passes all of them.

    Args:
        problem: whose kind has tests that can be counted; another is returned as it is.
        most: tests that are left, at least 1.

    Raises:
        UndecodableTests: the tests of a contest problem cannot be read.
        SyntaxError: those of a function are no Python.
    """
    # What is kept of a reference's outputs goes by this hash, and fewer inputs have fewer outputs.
    identity = f"{problem.dataset_sha256}:{most}"
    return structs.replace(problem, task=_shortened(problem.task, most), dataset_sha256=identity)


def _shortened(task: Task, most: int) -> Task:
    if isinstance(task, ContestTask):
        tests = decode(task)
        rows = [{"input": i, "output": o} for i, o in zip(tests.inputs[:most], tests.outputs[:most], strict=True)]
        return structs.replace(task, public_tests=json.dumps(rows), private_tests="[]")
    if isinstance(task, OracleTask):
        left = max(0, most - len(task.base_inputs))
        return structs.replace(task, base_inputs=task.base_inputs[:most], plus_inputs=task.plus_inputs[:left])
    if isinstance(task, CasesTask):
        return structs.replace(task, cases=task.cases[:most])
    if isinstance(task, FunctionTask):
        body = statements(task.tests)
        left_out = {id(node) for node in [node for node in body if is_test(node)][most:]}
        kept = [node for node in body if id(node) not in left_out]
        return structs.replace(task, tests=ast.unparse(ast.Module(kept, [])))
    return task
