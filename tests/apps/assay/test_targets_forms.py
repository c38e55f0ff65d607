"""The tests of problems in the shapes of others: right programs pass them and wrong ones do not."""

from __future__ import annotations

import json
import types

import pytest
from targets_support import RIGHT, WRONG, add_problem, cases_problem, problem_of

from truegrade.errors import UserError
from truegrade.grading import tests_forms as forms
from truegrade.kinds import kind_of
from truegrade.records import ContestTask, FunctionTask, OracleTask

CHECK = """METADATA = {}

def check(candidate):
    assert candidate(1, 2) == 3
    assert candidate(0, -4) == -4

check(add)"""


def held(problem):
    return kind_of(problem.task).tests(problem.task)


def put_in(problem, form, outputs=None):
    return forms.put_tests(problem.id, held(problem), form, outputs)


def accepted(form: str, tests: object, program: str) -> bool:
    """What a plain grader says of a program by such tests."""
    space: dict[str, object] = {}
    exec(program, space)
    try:
        if form == "asserts":
            for test in tests:
                exec(test, space)
        elif form == "check":
            exec(tests, space)
            space["check"](space["add"])
        elif form == "pytest":
            solution = types.SimpleNamespace(**space)
            exec(tests.replace("from solution import add", ""), space | vars(solution))
            names = [line[4:-3] for line in tests.splitlines() if line.startswith("def test_")]
            for name in names:
                exec(f"{tests.replace('from solution import add', '')}\n{name}()", dict(space))
        elif form == "taco":
            for given, wanted in zip(tests["inputs"], tests["outputs"], strict=True):
                assert [space[tests["fn_name"]](*given)] == wanted
        else:
            for case in tests:
                given = map(json.loads, case["input"].split("\n"))
                assert space[case["metadata"]["func_name"]](*given) == json.loads(case["output"])
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("source", ["asserts", "check", "cases", "oracle"])
@pytest.mark.parametrize("form", ["asserts", "check", "taco", "lcb", "pytest"])
def test_a_function_in_every_shape(form, source):
    outputs = None
    if source == "asserts":
        problem = add_problem()
    elif source == "check":
        task = FunctionTask(prompt="", entry_point="add", tests=CHECK, reference=RIGHT)
        problem = problem_of(task, "add")
    elif source == "cases":
        problem = cases_problem(((1, 2), 3), ((0, -4), -4))
        problem = problem_of(type(problem.task)(
            entry_point="add", buggy="", reference="", cases=problem.task.cases), "add")  # fmt: skip
    else:
        task = OracleTask(prompt="", entry_point="add", reference=RIGHT, base_inputs=((1, 2), (0, -4)))
        problem = problem_of(task, "add")
        outputs = [((1, 2), 3), ((0, -4), -4)]
    put = put_in(problem, form, outputs)
    assert put.why_not == ""
    assert accepted(form, put.tests, RIGHT)
    assert not accepted(form, put.tests, WRONG)


def test_programs_on_stdin():
    stored = json.dumps([{"input": "1\n", "output": "2\n", "testtype": "stdin"}])
    task = ContestTask(title="", question="", public_tests=stored, private_tests="[]")
    problem = problem_of(task, "p")
    wanted = {"inputs": ["1\n"], "outputs": ["2\n"]}
    assert put_in(problem, "stdio").tests == put_in(problem, "taco").tests == wanted
    case = {"input": "1\n", "output": "2\n", "testtype": "stdin", "metadata": {"func_name": None}}
    assert put_in(problem, "lcb").tests == [case]
    for form in ("asserts", "check", "pytest"):
        assert "so `tests_as=" in put_in(problem, form).why_not


def test_methods_of_contests():
    stored = json.dumps([{"input": "[1, 2]\n3", "output": "true", "testtype": "functional"}])
    task = ContestTask(title="", question="", function="has", public_tests=stored, private_tests="[]")
    problem = problem_of(task, "p")
    assert put_in(problem, "taco").tests == {
        "inputs": [[[1, 2], 3]],
        "outputs": [[True]],
        "fn_name": "has",
    }
    assert put_in(problem, "lcb").tests[0]["metadata"] == {"func_name": "has"}
    assert put_in(problem, "stdio").tests is None


@pytest.mark.parametrize(
    ("problem", "form", "why"),
    [
        (add_problem(), "stdio", "asks for a function"),
        (cases_problem((({1, 2},), {3})), "taco", "JSON has no set"),
        (cases_problem(((1,), float("nan"))), "asserts", "has no literal"),
        (cases_problem(((1,), {1: 2})), "lcb", "JSON has no dict"),
        (
            problem_of(FunctionTask(prompt="", entry_point="f", reference="",
                                    tests="for n in range(3):\n    assert f(n) == n"), "p"),
            "asserts",
            "more than assert statements",
        ),
        (
            problem_of(OracleTask(prompt="", entry_point="f", reference="", base_inputs=((1,),)), "p"),
            "asserts",
            "a reference in place of expected values",
        ),
    ],
)  # fmt: skip
def test_what_a_shape_cannot_hold_is_said(problem, form, why):
    put = put_in(problem, form)
    assert put.tests is None
    assert why in put.why_not
    assert problem.id in put.why_not


def test_statements_of_any_kind_fit_into_check():
    tests = "for n in range(3):\n    assert add(n, 1) == n + 1"
    problem = problem_of(FunctionTask(prompt="", entry_point="add", reference="", tests=tests), "p")
    put = put_in(problem, "check")
    assert accepted("check", put.tests, RIGHT) and not accepted("check", put.tests, WRONG)
    assert forms.other_form([held(problem)]) == "`tests_as=check` holds them"
    assert forms.other_form([*map(held, [problem, add_problem(), cases_problem(((1,), float("nan")))])]) == (
        "`tests_as=check` holds those of 2"
    )


@pytest.mark.parametrize(
    "tests",
    [
        "def test_one():\n    assert add(1, 2) == 3",  # would not be called
        "from math import *\nassert add(1, 2) == floor(3)",
        "total = add(1, 2)",
        "assert other(1) == sum([1])",
    ],
)
def test_statements_that_would_mean_something_else_in_check_are_refused(tests):
    problem = problem_of(FunctionTask(prompt="", entry_point="add", reference="", tests=tests), "p")
    assert put_in(problem, "check").tests is None


def test_setup_goes_along():
    task = FunctionTask(
        prompt="", entry_point="f", reference="", setup="import math", tests="assert f(4) == math.sqrt(16)"
    )
    problem = problem_of(task, "p")
    assert put_in(problem, "asserts").tests == ["import math\nassert f(4) == math.sqrt(16)"]
    assert "import math" in put_in(problem, "pytest").tests
    with pytest.raises(UserError, match=", ".join(forms.TESTS_FORMS)):
        forms.tests_form("json")
