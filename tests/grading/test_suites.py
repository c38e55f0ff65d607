"""What the tests of a repair are, one by one, and how outputs are compared."""

import gc
import math
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.extraction.parsing import Fault, parse_module
from truegrade.grading.repairs import matches, suite_of
from truegrade.kinds import kind_of
from truegrade.records import Case, CasesTask, FunctionTask

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)


def task(tests, **more):
    return FunctionTask(prompt="", entry_point="f", tests=tests, reference="", buggy="x", **more)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.lists(PLAIN, max_size=3), PLAIN), min_size=1, max_size=4))
def test_assertions_of_literals_become_calls(rows):
    tests = "\n".join(f"assert f({', '.join(map(repr, args))}) == {value!r}" for args, value in rows)
    suite = suite_of(task(tests))
    assert [(list(case.arguments), case.expected) for case in suite.cases] == rows
    assert suite.size == len(rows) and not suite.statements


@pytest.mark.parametrize(
    "odd", ["assert f(x) == 1", "assert f(1) != 2", "assert g(1) == 2", "assert f(a=1) == 2", "assert f(1)"]
)
def test_one_other_assertion_makes_them_all_statements(odd):
    suite = suite_of(task(f"assert f(1) == 2\n{odd}"))
    assert suite.statements == ("assert f(1) == 2", odd) and not suite.cases and suite.classes is None


def test_definitions_are_context_and_calls_are_tests():
    suite = suite_of(task("def test():\n    assert f(1)\nx = 3\ntest()", setup="class A: ..."))
    assert suite.statements == ("test()",)
    assert "class A" in suite.trusted and "x = 3" in suite.context


def test_of_the_setup_only_classes_get_to_the_program():
    setup = "import math\nclass A: ...\nsecret = 7\nbox = A()"
    suite = suite_of(task("assert f(box) == secret", setup=setup, plain_arguments=False))
    assert suite.classes == () and suite.trusted.split("\n") == ["", "import math", "", "class A:", "    ...", ""]
    assert suite.context.split() == ["secret", "=", "7", "box", "=", "A()"]


def test_classes_of_the_program_are_told_from_modules():
    assert suite_of(task("assert f(G(), sys)", tests_use=("G", "sys"))).classes == ("G",)
    plain = suite_of(task("assert f(sys.maxsize)", tests_use=("sys",)))
    assert plain.classes is None and plain.trusted.startswith("import sys\n")


def test_cases_are_taken_as_they_are():
    cases = (Case(arguments=(1,), expected=2), Case(arguments=(3,), expected=4))
    task = CasesTask(entry_point="f", buggy="", reference="", cases=cases, comparator="list", skipped=(1,))
    suite = kind_of(task).suite(task)
    assert (suite.cases, suite.comparator, suite.skipped, suite.size) == (cases, "list", (1,), 2)


@pytest.mark.parametrize(
    ("comparator", "arguments", "expected", "got", "right"),
    [
        ("eq", (), [1], [1], True),
        ("eq", (), [1], (1,), False),
        ("eq", (), [1, 2], iter([1, 2]), False),
        ("list", (), [1, 2], iter([1, 2]), True),
        ("list", (), [1, 2], (1, 2), True),
        ("list", (), [1, 2], 3, False),
        ("list", (), [1, 2], None, False),
        ("tuple_rows", (), [[1, 2]], [(1, 2)], True),
        ("tuple_rows", (), [[1, 2]], [[1, 2]], False),
        ("tuple_rows", (), [], [], True),
        ("approx_abs_last_input", (2, 0.01), 1.4166666666666667, 1.4142, True),
        ("approx_abs_last_input", (2, 0.0001), 1.4166666666666667, 1.4142, False),
        ("approx_abs_last_input", (2, 0.01), 1.41, "1.41", False),
        ("approx_abs_last_input", (2, 0.01), 1.41, math.nan, False),
        ("approx_abs_last_input", (2, 0.01), 1.41, None, False),
    ],
)
def test_comparators(comparator, arguments, expected, got, right):
    assert matches(comparator, Case(arguments=arguments, expected=expected), got) is right


def test_suites_are_read_while_another_thread_reads_answers():
    """CPython 3.11 mixes up trees that two threads build at once, where collecting garbage runs Python."""
    source = "def test():\n    x = {" + "(1, 2): [3], " * 200 + "}\ntest()"
    wanted = task(source)
    before, pause = gc.get_threshold(), sys.getswitchinterval()

    def callback(phase, info):
        sum(range(20))

    gc.callbacks.append(callback)
    gc.set_threshold(50)
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as pool:
            trees = pool.map(parse_module, [source] * 60)
            suites = pool.map(suite_of, [wanted] * 60)
            assert all(suite.statements == ("test()",) for suite in suites)
            assert not any(isinstance(tree, Fault) for tree in trees)
    finally:
        gc.callbacks.remove(callback)
        gc.set_threshold(*before)
        sys.setswitchinterval(pause)
