"""Recorded outputs: literals only, the same in every process, and the same again or not at all."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.builders.mutation.file import check_rows
from truegrade.datasets.executions import (
    ExecutionRow,
    NotRecorded,
    Preserved,
    RecordedCase,
    call_text,
    literal_text,
    read_rows,
    record,
    run_cases,
    write_rows,
)
from truegrade.datasets.identity import free_names, identity
from truegrade.errors import BadRecord, UserError
from truegrade.sandbox import Limits, Sandbox


@pytest.fixture(scope="module")
def jail():
    with Sandbox(Limits(cpu_s=3), workers=1, allow_unsafe=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def witness():
    with Sandbox(Limits(cpu_s=3), workers=1, allow_unsafe=True, hash_seed=1) as opened:
        yield opened


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary()
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.sets(st.integers() | st.text(), min_size=1, max_size=4)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_a_literal_text_reads_back_as_the_value(value):
    text = literal_text(value, 10**6)
    assert text is not None
    assert repr(ast.literal_eval(text)) == repr(value) or ast.literal_eval(text) == value
    assert type(ast.literal_eval(text)) is type(value)


def test_what_is_no_literal():
    endless = []
    endless.append(endless)
    for value in (
        float("nan"),
        float("inf"),
        complex("nan"),
        object(),
        len,
        endless,
        10**5000,
        [object()],
        range(3),
    ):
        assert literal_text(value) is None
    assert literal_text("x" * 2000) is None
    assert literal_text({"b", "a", "c"}) == "{'a', 'b', 'c'}"
    assert literal_text(set()) == "set()" and literal_text(frozenset({2, 1})) == "frozenset({1, 2})"
    assert call_text("f", ([1],), {"k": (2,)}) == "f([1], k=(2,))"
    assert call_text("f", (object(),), {}) is None


def test_each_case_is_answered_on_its_own(jail):
    program = "def f(n):\n    if n == 2:\n        raise KeyError(n)\n    return [n] * 500 if n == 3 else {n}\n"
    given_ = run_cases(
        jail, program, "f", [RecordedCase((n,)) for n in (1, 2, 3)] + [RecordedCase(kwargs={"n": 4})]
    )
    assert [one.text for one in given_] == ["{1}", None, None, "{4}"]
    assert "KeyError" in given_[1].why and "too long" in given_[2].why
    cases = [RecordedCase((0,)), RecordedCase((1,)), RecordedCase((0,))]
    with Sandbox(Limits(cpu_s=0.5), workers=1, allow_unsafe=True) as brief:
        endless = run_cases(brief, "def f(n):\n    while n: pass\n", "f", cases)
    assert [one.text for one in endless] == ["None", None, None] and "time_limit" in endless[1].why


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return list({'a', 'b', 'c', 'd', 'e', 'f'})", "not deterministic"),
        ("seen.append(n); return len(seen)", "not deterministic"),
        ("import time; return time.perf_counter_ns()", "not deterministic"),
        ("return hash('x' * n)", "not deterministic"),
        ("return lambda: n", "no literal"),
        ("return 1 // 0", "ZeroDivisionError"),
        ("import os; os._exit(0)", "runtime_error"),
    ],
)
def test_what_does_not_repeat_is_not_recorded(jail, witness, body, why):
    program = f"seen = []\ndef f(n):\n    {body}\n"
    with pytest.raises(NotRecorded, match=why):
        record(jail, witness, program, "f", [RecordedCase((1,)), RecordedCase((2,))])


def test_what_repeats_is_recorded(jail, witness):
    recorded = record(
        jail, witness, "def f(a, b=2):\n    return {str(a), 'b'}, b\n", "f", [RecordedCase((1,), {"b": 3})]
    )
    assert recorded.conditions == ("f(1, b=3) == ({'1', 'b'}, 3)",)


def row(**changes):
    fields = {"id": 1, "function_name": "f", "code": "def f(n):\n    return n + 1\n", "input": ("f(1)", "n=2")}
    return ExecutionRow(**(fields | {"output": ("2", "3")} | changes))


def test_check_names_every_output_that_differs(jail, tmp_path):
    rows = [
        row(),
        row(id=2, output=("2", "3.0"), mutated_code="def f(n):\n    return n - 1\n", mutated_output=("0", "7")),
        row(id=3, preserved=(Preserved(rewriting="rename", code="def g(n):\n    return n + 1\n"),
                             Preserved(rewriting="wrong", code="def f(m):\n    return m\n"))),
        row(id=4, code="def f(n):\n    raise ValueError(n)\n", input="f(1)", output="2"),
        row(id=5, code="def f(n):\n    return 'a'\n", input="1", output='"a"'),
    ]  # fmt: skip
    checked = list(check_rows(tmp_path, rows, jail))
    found = [(one.id, one.program, one.case) for each in checked for one in each.differences]
    assert found == [("2", "original", 1), ("2", "mutant", 1), ("3", "preserved: wrong", 0),
                     ("3", "preserved: wrong", 1), ("4", "original", 0)]  # fmt: skip
    assert sum(each.outputs for each in checked) == 2 + 4 + 6 + 1 + 1


def test_rows_that_contradict_themselves_are_refused(jail, tmp_path):
    for bad, words in ((row(output="2"), "2 inputs but 1"), (row(input=("f(x)", "1")), "no literals")):
        with pytest.raises(BadRecord, match=words):
            list(check_rows(tmp_path / "rows.jsonl", [bad], jail))


def test_rows_are_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "rows.jsonl"
    digest = write_rows(path, [row(), row(id=2)])
    assert read_rows(path) == (row(), row(id=2)) and len(digest) == 64
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(UserError, match="`out`"):
        write_rows(path / "below", [row()])


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("def g(b):\n  '''Says so.'''\n  c = b\n  return (c)", True),
        ("def g(b: int) -> int:\n    c: int = b  # so\n    return c", True),
        ("def g(b):\n    c = b\n    return b", False),
        ("def g(b):\n    c = b\n    return len", False),
    ],
)
def test_programs_are_the_same_but_for_names_and_layout(other, same):
    assert (identity("def f(a):\n    x = a\n    return x\n") == identity(other)) is same


def test_free_names_are_those_that_nothing_binds():
    code = (
        "import re\nfrom math import pi as p\nX = 1\ndef f(a, *b, c=d):\n    e = [g for g in h]\n"
        "    def i(): return e, j\n    return len(re.k), X, p, i\n"
    )
    assert free_names(code) == ("d", "h", "j")
    assert free_names("def top(a, *, b=2):\n    c = a * b\n    return c + d\n") == ("d",)
