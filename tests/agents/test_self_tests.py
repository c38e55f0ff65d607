"""Asserts out of a test designer's reply: read, never run."""

import ast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.cpu import cpu_within
from truegrade.agents.session import MAX_TESTS, parse_tests


@pytest.mark.parametrize(
    ("reply", "tests"),
    [
        ("```python\nassert f(1) == 2\nassert f(2) == 3, 'three'\n```",
         ("assert f(1) == 2", "assert f(2) == 3, 'three'")),
        ("assert f(1) == 2", ("assert f(1) == 2",)),
        ("<think>assert f(0) == 0</think>\nassert f(1) == 2", ("assert f(1) == 2",)),
        ("```python\nassert f(1) == 2\nassert f(1) == 2\n```", ("assert f(1) == 2",)),
        ("```\nx = [1,\n     2]\nassert f(x) == x\n```", ("x = [1,\n     2]\nassert f(x) == x",)),
        ("```python\nassert not f(\n    1\n)\n```", ("assert not f(\n    1\n)",)),
        # what is no test of the function, or would bring the function along
        ("```python\nassert True\nassert g(1) == 2\nassert f\n```", ()),
        ("```python\nimport sys\nsys.exit(0)\nassert f(1) == 2\n```", ("import sys\nassert f(1) == 2",)),
        ("```python\nwhile True: pass\nassert f(1) == 2\n```", ("assert f(1) == 2",)),
        ("```python\nassert f(1) == 2; __import__('os').abort()\n```", ("assert f(1) == 2",)),
        ("```python\ndef f(x):\n    return x + 1\nassert f(1) == 2\n```", ("assert f(1) == 2",)),
        ("```python\nf = lambda *a: 2\nassert f(1) == 2\n```", ("assert f(1) == 2",)),
        ("```python\nfrom os import *\nfrom os import abort as f\nassert f(1) == 2\n```", ("assert f(1) == 2",)),
        # a block that does not parse keeps the asserts that do
        ("```python\nassert f(1) == 2\nassert f(3) == \nassert f(4) == [\n  5,\n]\n",
         ("assert f(1) == 2", "assert f(4) == [\n  5,\n]")),
        ("```python\n- assert f(1) == 2\n    assert f(2) == 3\n```", ("assert f(2) == 3",)),
        ("", ()),
    ],
)  # fmt: skip
def test_what_is_a_test(reply, tests):
    assert parse_tests(reply, "f") == tests


def test_a_flood_of_asserts_is_bounded():
    reply = "\n".join(f"assert f({number}) == 1" for number in range(5000))
    assert len(parse_tests(reply, "f")) == MAX_TESTS


def test_a_flood_of_statements_is_read_in_linear_time():
    with cpu_within(10):  # 0.3 s; half a minute where each statement splits the source anew
        assert parse_tests("x = 1\n" * 16_000 + "assert f(x) == 1", "f")


LINES = st.lists(
    st.sampled_from(
        ["assert f(1) == 2", "assert f(", "```python", "```", "x = 3", "def f(): pass", "import os", ")", "assert",
         "assert g(1)", "    assert f(x)", "\x00", "f = 1", "exit()"]
    )
)  # fmt: skip


@given(st.one_of(st.text(), LINES.map("\n".join)))
@example("assert f(" + "(" * 5000)
@example("assert f(" + "-" * 50_000 + "1)")
@example("assert f(1) == " + "+".join("1" * 4000))
def test_nothing_raises_and_every_test_is_one_assert_on_the_function(reply):
    for test in parse_tests(reply, "f"):
        *setup, last = ast.parse(test).body
        assert isinstance(last, ast.Assert)
        assert "f(" in ast.get_source_segment(test, last)
        assert not any(isinstance(part, ast.Expr) for part in setup)
