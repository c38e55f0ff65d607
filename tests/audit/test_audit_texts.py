"""Is there a program, and does it end inside a statement? Flags and upstream fields read from rows."""

import msgspec
import pytest
from audit_files import problem, upstream
from hypothesis import given
from hypothesis import strategies as st

from support.cpu import cpu_within
from truegrade.analysis.audit.nested import differences, read_flags
from truegrade.analysis.audit.survey import ends_inside_statement, holds_program, is_own_program
from truegrade.records import FunctionTask

PROGRAMS = (
    "def f(x):\n    return x\n",
    "    return x + 1\n",
    "```python\nimport math\nf = math.sqrt\n```",
    "    if x:\n        raise ValueError\n",
    "class A:\n    pass\n",
    "total += 1",
    "    pass",
    "print('yes')",
)
NOT_PROGRAMS = (
    "",
    "  \n\n",
    "# only a comment\n",
    "```python\n```",
    "I am sorry, I cannot do that.",
    "\t# TODO: code",
)


@pytest.mark.parametrize("text", PROGRAMS)
def test_code_is_a_program(text):
    assert holds_program(text)


@pytest.mark.parametrize("text", NOT_PROGRAMS)
def test_blanks_comments_and_prose_are_none(text):
    assert not holds_program(text)


PREFIX = "def f(x):\n"
CUT = (
    "    return sum([x,\n",
    '    """An explanation that never',
    "    y = x +",
    "    for i in range(x):",
    "    y = 1\n    if x == 'abc",
    "    y = 1\n    for i in range(x):\n        y = y *",
    "```python\ndef f(x):\n    return (x +",
    "y = [x,",
    "    y = x + \\",
    "    try:\n        return x\n",
)
WHOLE = (
    # A body at the margin, as published files hold it: its last line is a whole one.
    "total = 0\nfor x in y:\n    total += x\nreturn total\n",
    # Brackets that do not match, and one that is never closed, with the program going on behind them.
    "def f(x):\n    return [x[0][1])\n\ndef g(x):\n    return x\n",
    "def f(x):\n    y = [x for x in range(len(x)]\n\n    return y\n",
    "def f(x):\n    y = (x + 1\n    return y\n",
    # Mistakes in the last line.
    "    return x)",
    "    y = 1\n    retrun x",
    "    return x 5",
    "    y = x +\n",
    "    y = 'abc\n",
    "```python\ndef f(x):\n    return (x +\n```",
    "def f(x):\n    return x\n\nThat's all",
    "    return x\n",
    "def f(x):\n    return x\n",
    "```python\ndef f(x):\n    return x\n```\nThat is all (really",
    "    retrun x\n    return 1\n",
    "def f(x:\n    return x\n\ndef g():\n    return 1)\n",
    "No code (at all",
    "",
)


@pytest.mark.parametrize("text", CUT)
def test_texts_that_stop_in_the_middle(text):
    assert ends_inside_statement(text, PREFIX)


@pytest.mark.parametrize("text", WHOLE)
def test_whole_texts_and_ordinary_syntax_errors(text):
    assert not ends_inside_statement(text, PREFIX)


@given(st.text(max_size=300))
def test_no_text_makes_them_fail(text):
    ends_inside_statement(text, PREFIX)
    holds_program(text)
    ends_inside_statement("    return (" + text)


def test_deep_and_long_texts_are_read_in_time():
    for text in ("(" * 50_000, "return " + "[" * 90_000, "x=1\n" * 100_000, "    " * 60_000, "a b" * 60_000):
        with cpu_within(5):
            ends_inside_statement(text, PREFIX)
            holds_program(text)


GRADED = "import math\nfrom typing import *\n\n{}\n\nassert f(1) == 1\nassert f(2) == 2"


@pytest.mark.parametrize("text", ["def f(x):\n    return x\n", "\n# [BEGIN]\ndef f(x):\n    return x\n# [DONE]\n"])
def test_the_program_that_was_graded_is_the_completion_between_imports_and_tests(text):
    assert is_own_program(GRADED.format(text), text, "", "assert f(1) == 1\nassert f(2) == 2")
    check = "METADATA = {}\n\ndef check(candidate):\n    assert candidate(1) == 1\n"
    assert is_own_program(f"{text}\n{check}\ncheck(f)\n", text, "", check)
    body = "    return x"
    assert is_own_program(f"from typing import *\n\ndef f(x):\n{body}\n{check}", body, "def f(x):\n", check)


@pytest.mark.parametrize(
    "graded",
    [
        "thon\n# [BEGIN]\ndef f(x):\n    return x\n# [DONE]\n",
        "def f(x):\n    return x\n    print(x)\n",
        "def f(x):\n    return x\n\n\ndef f(x):\n    return -x\n",
        "def g(x):\n    return 1\n\ndef f(x):\n    return x\n",
        "def f(x):\n    return x + 1\n",
        "",
    ],
)
def test_a_program_that_only_holds_the_completion_is_another_one(graded):
    """In the first, from a published file, a cut fence tag stands before the text and made it fail."""
    text = "\n# [BEGIN]\ndef f(x):\n    return x\n# [DONE]\n" if "BEGIN" in graded else "def f(x):\n    return x"
    assert not is_own_program(GRADED.format(graded), text, "", "")


# --------------------------------------------------------------------------------------------- flags


def test_every_kind_of_flag_is_read():
    row = {"is_solved": True, "passed": False, "result": "passed", "need_reproduce": False}
    row |= {"report_result": "failed: x", "base_status": "pass"}
    assert {flag.name: flag.value for flag in read_flags(row)} == {
        "is_solved": True,
        "passed": False,
        "result": True,
        "report_result": False,
        "base_status": True,
        "need_reproduce": True,
    }


def test_values_that_are_no_verdict_are_passed_over():
    assert read_flags({"passed": None, "result": "42", "is_solved": 1, "graded_list": "x"}) == ()
    assert [f.value for f in read_flags({"result": "timed out"})] == [False]


def test_lists_speak_of_each_text():
    assert [(f.sample, f.value) for f in read_flags({"graded_list": [True, False]})] == [(0, True), (1, False)]


# ------------------------------------------------------------------------------------------ upstream


def test_a_faithful_row_differs_in_nothing():
    assert list(differences(upstream(3), problem(3))) == []
    assert list(differences({"task_id": "Toy/3"}, problem(3))) == []


@pytest.mark.parametrize(
    ("field", "value", "part", "blanks"),
    [
        ("test", "def check(candidate):\n    pass\n", "test", False),
        ("prompt", "def add_3(x):\n", "prompt", False),
        ("prompt", 'def add_3(x):\r\n    """Add 3."""\r\n', "prompt", True),
        ("entry_point", "add_4", "reference", False),
        ("canonical_solution", "    return x + 4\n", "reference", False),
    ],
)
def test_a_changed_field_is_found_by_hash(field, value, part, blanks):
    (found,) = differences({**upstream(3), field: value}, problem(3))
    assert (found.part, found.field, found.only_blanks, found.problem_id) == (part, field, blanks, "Toy/3")
    assert found.found_sha256 != found.upstream_sha256


def test_a_program_called_code_is_not_held_for_the_data_sets_own():
    task = FunctionTask(
        prompt="p", entry_point="f", tests="assert f()", reference="r", shown_tests=("assert f()",), setup=""
    )
    mbpp = msgspec.structs.replace(problem(3), task=task)
    assert list(differences({"code": "def f(): pass"}, mbpp)) == []
    (found,) = differences({"code": "def f(): pass", "test_list": ["assert f()"]}, mbpp)
    assert found.field == "code"


def test_a_wording_around_the_whole_prompt_is_no_change():
    row = {**upstream(3), "prompt": "Complete this:\n" + upstream(3)["prompt"] + "\nThank you."}
    assert list(differences(row, problem(3))) == []
