"""Whether tests behind a program are the statements that they are alone is decided as by comparing their trees."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from truegrade.grading.joined_tests import stand_apart, with_joined
from truegrade.grading.judgement import Judgement
from truegrade.records import Reason

FUNCTION = "def f(x):\n    return 0\n"
CHECK = "def check(candidate):\n    assert candidate(1) == 2\n\ncheck(f)"
ASSERTS = "assert f(1) == 2\nassert f(2) == 3"
TESTS = (
    CHECK,
    ASSERTS,
    f"\n\nMETADATA = {{}}\n\n\n{CHECK}",
    "class Tests:\n    '''Some.'''\n    x = f(1)\n",
    "check(f)",
)
ENDS = (
    *(
        "@(lambda g: print)",
        "@staticmethod\n",
        "async \\",
        "async \\\n",
        "if 0: \\",
        "while 0: \\",
        "for _ in (): \\",
    ),
    *("lambda: \\", "x = \\", "x = 1 \\", "try: \\", "with f(0): \\", "class A: \\", "def g(): \\", "else: \\"),
    *(
        "if 0:",
        "def g():",
        "class A:",
        "try:",
        "(",
        "[",
        "f(",
        "'''",
        '"""',
        "'",
        "# more",
        "# more \\",
        "#\\",
        "x = 1;",
    ),
    *(
        "if 0: pass",
        "if 0: pass;",
        "    return 1",
        "    if x: \\",
        "    # x",
        "\t",
        "    ",
        "\r",
        "\f",
        "\\",
        ";",
        "x = 1",
    ),
    *(
        "global f",
        "return 1",
        "    yield",
        "async def g():\n    await g()",
        "if 0:\n    pass\nelse: \\",
        "\x00",
        "",
    ),
)
LINES = st.sampled_from(ENDS) | st.text("@#\\:()'\"; \n\tfx01=", max_size=8)


def dumped(statements):
    return [ast.dump(one) for one in statements]


@given(
    st.lists(LINES, max_size=3).map("\n".join),
    st.sampled_from(("", "\n", "\n\n", "\n    ")),
    st.sampled_from(TESTS),
)
@example("@(lambda g: print)", "\n", CHECK)
@example("# more", "", ASSERTS)
@example("x = 1 \\", "\n", TESTS[2])
@example("", "\n    ", ASSERTS)
def test_tests_stand_apart_exactly_where_their_trees_are_the_same(end, between, tests):
    source = f"{FUNCTION}{end}{between}{tests}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "source", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return  # which no harness passes
        alone = dumped(ast.parse(tests).body)
        same = dumped(ast.parse(source).body)[-len(alone) :] == alone
    assert stand_apart(source, tests) == same


@pytest.mark.parametrize(
    ("source", "tests"),
    [("", ""), (FUNCTION, ""), (FUNCTION, CHECK), (CHECK, CHECK), (f"{CHECK}\n{FUNCTION}", CHECK)],
)
def test_nothing_is_joined_where_no_program_stands_in_front_of_tests(source, tests):
    assert stand_apart(source, tests)


def test_the_last_of_equal_texts_are_the_tests():
    assert not stand_apart(f"{FUNCTION}{CHECK}\n@print\n{CHECK}", CHECK)
    assert stand_apart(f"{FUNCTION}{CHECK}\n{CHECK}", CHECK)


def test_neither_length_nor_depth_hides_an_end():
    long = f"{FUNCTION}# {'.' * 300_000}\n"
    deep = f"{FUNCTION}x = {'(' * 150}1{')' * 150}\n"
    chained = f"{FUNCTION}x = {'+'.join('1' * 5000)}\n"
    for program in (long, deep, chained):
        assert not stand_apart(f"{program}async \\\n{CHECK}", CHECK)
    assert stand_apart(f"{long}{CHECK}", CHECK) and stand_apart(f"{deep}{CHECK}", CHECK)


def test_a_failure_has_no_mark():
    failed = Judgement(reason=Reason.WRONG_ANSWER, marks=("tests-inside",))
    assert with_joined(failed, f"{FUNCTION}async \\\n{CHECK}", CHECK) == failed
    passed = Judgement(reason=Reason.PASSED, marks=("tests-inside",))
    assert with_joined(passed, f"{FUNCTION}async \\\n{CHECK}", CHECK).marks == ("tests-inside", "joined-tests")
    assert with_joined(passed, f"{FUNCTION}{CHECK}", CHECK) == passed
