"""Grading test by test: every test is counted, whatever another one does to the process."""

import pytest

from truegrade.grading.repairs import Suite, grade_repair
from truegrade.records import Case
from truegrade.sandbox import Limits, Sandbox


@pytest.fixture(scope="module")
def jail():
    with Sandbox(Limits(cpu_s=15), workers=1, allow_unsafe=True) as opened:
        yield opened


SQUARES = Suite(entry_point="f", cases=tuple(Case(arguments=(n,), expected=n * n) for n in range(5)))
LOOP = "while True: pass"


def graded(jail, program, suite=SQUARES, cpu_s=15, **more):
    judgement = grade_repair(suite, program, jail, cpu_s=cpu_s, **more)
    return judgement, judgement.harness["results"]


def test_all_right(jail):
    judgement, results = graded(jail, "def f(n): return n * n")
    assert judgement.passed and results == ["passed"] * 5 and judgement.marks == ()
    assert (judgement.harness["tests"], judgement.harness["passed"]) == (5, 5)


def test_each_failure_is_counted_and_the_first_is_told(jail):
    program = "def f(n):\n    if n == 3: raise KeyError(n)\n    return n * n if n != 2 else 5"
    judgement, results = graded(jail, program)
    assert results == ["passed", "passed", "wrong_answer", "runtime_error", "passed"]
    assert judgement.reason == "wrong_answer"
    assert judgement.detail == "3 of 5 tests; test 3: f(2) gave 5, expected 4"


def test_a_test_that_never_ends_fails_and_the_next_is_run(jail):
    judgement, results = graded(jail, f"def f(n):\n    if n == 1:\n        {LOOP}\n    return n * n", cpu_s=1)
    assert results == ["passed", "time_limit", "passed", "passed", "passed"]
    assert judgement.reason == "time_limit"
    assert judgement.cpu_s < 4


def test_after_so_many_the_rest_is_given_up(jail):
    _, results = graded(jail, f"def f(n):\n    if n:\n        {LOOP}\n    return 0", cpu_s=1, timeouts=1)
    assert results == ["passed", "time_limit", "not_run", "not_run", "not_run"]


def test_time_that_others_used_does_not_count_against_a_test(jail):
    """Each test takes most of the limit: together far over it."""
    busy = (
        "import time\ndef f(n):\n    end = time.process_time() + .8\n    while time.process_time() < end: pass\n"
    )
    two = Suite(entry_point="f", cases=SQUARES.cases[:2])
    judgement, results = graded(jail, busy + "    return n * n", two, cpu_s=1.3)
    assert judgement.passed, results


def test_a_crash_costs_one_test(jail):
    _, results = graded(jail, "import os\ndef f(n):\n    if n == 2: os._exit(0)\n    return n * n")
    assert results == ["passed", "passed", "runtime_error", "passed", "passed"]


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("def f(n:", "syntax_error"),
        ("def g(n): return n * n", "runtime_error"),
        ("raise SystemExit", "runtime_error"),
    ],
)
def test_a_program_that_does_not_come_up_fails_every_test(jail, program, reason):
    judgement, results = graded(jail, program)
    assert results == [reason] * 5 and judgement.harness["passed"] == 0


def test_inputs_are_fresh_for_every_test(jail):
    rows = [1]
    suite = Suite(entry_point="f", cases=(Case(arguments=(rows,), expected=[1, 2]),) * 2)
    judgement, _ = graded(jail, "def f(rows):\n    rows.append(2)\n    return rows", suite)
    assert judgement.passed and rows == [1]


def test_skipped_tests_do_not_count_and_are_marked(jail):
    suite = Suite(entry_point="f", cases=SQUARES.cases, skipped=(4,))
    judgement, results = graded(jail, "def f(n): return n * n if n < 4 else None", suite)
    assert judgement.passed and results[4] == "skipped" and judgement.harness["tests"] == 4
    assert judgement.marks == ("tests-skipped",)
    nothing = grade_repair(Suite(entry_point="f"), "def f(): ...", jail, cpu_s=0.5)
    assert nothing.reason == "grader_error"


def test_a_test_that_is_itself_at_fault_is_not_the_program_s_failure(jail):
    suite = Suite(entry_point="f", context="", statements=("assert f(1) == 2", "assert no_such_name(f(1))"))
    judgement, results = graded(jail, "def f(n): return n", suite)
    assert results == ["wrong_answer", "grader_error"] and judgement.reason == "grader_error"


def test_a_generator_is_an_iterator_in_the_detail(jail):
    suite = Suite(entry_point="f", cases=(Case(arguments=(2,), expected=[0, 1]),))
    generator = "def f(n):\n    yield from range(n)"
    assert graded(jail, generator, suite)[0].detail.endswith("f(2) gave an iterator, expected [0, 1]")
    assert graded(jail, generator, Suite(entry_point="f", cases=suite.cases, comparator="list"))[0].passed


NODES = Suite(
    entry_point="f",
    trusted="class Box:\n    def __init__(self, held): self.held = held",
    classes=(),
    context="box = Box([])",
    statements=("assert f(box) == []", "box.held.append(1)\nassert f(box) == [1]", "assert f(box) == [2]"),
)


def test_statements_about_objects_run_outside(jail):
    judgement, results = graded(jail, "def f(box): return box.held", NODES)
    assert results == ["passed", "passed", "wrong_answer"] and judgement.marks == ()
    assert judgement.detail == ("2 of 3 tests; test 3: `assert f(box) == [2]` failed; the program returned []")


def test_the_program_s_names_are_not_the_tests_names(jail):
    program = "held, Box, box = 1, 2, 3\ndef f(box): return box.held if held == 1 else None"
    _, results = graded(jail, program, NODES)
    assert results[:2] == ["passed"] * 2


def test_statements_about_plain_values_run_outside(jail):
    statements = ("assert f(1) == {1}", "assert f(2) == {1}", "assert sorted(f(3)) == [3]", "assert f(9)")
    suite = Suite(entry_point="f", context="import math", statements=statements)
    program = (
        f"def f(n):\n    if n == 9:\n        {LOOP}\n    assert 'statements' not in globals()\n    return {{n}}"
    )
    judgement, results = graded(jail, program, suite, cpu_s=1, timeouts=1)
    assert results == ["passed", "wrong_answer", "passed", "time_limit"] and judgement.marks == ()
