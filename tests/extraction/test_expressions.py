"""How far an expression reaches into text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.extraction.equalities import expression_ends


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("5", ["5"]),
        ("5. The end", ["5"]),
        ("5.5 points", ["5.5"]),
        ("1.e3", ["1.e3"]),
        ("-5 [", ["-5"]),
        ("f(1) == 5 or 6, done", ["f", "f(1)", "f(1) == 5", "f(1) == 5 or 6"]),
        ("f(1) == 5 (as) it", ["f", "f(1)", "f(1) == 5", "f(1) == 5 (as)"]),
        ("a.b[0]\nc", ["a", "a.b", "a.b[0]"]),
        ("'a' 'b' c", ["'a' 'b'"]),
        ("'''a\nb''' + rb'c'", ["'''a\nb'''", "'''a\nb''' + rb'c'"]),
        ("[1, # ]\n 2] x", ["[1, # ]\n 2]"]),
        ("{')': '}'}", ["{')': '}'}"]),
        ("not x is not None", ["not x", "not x is not None"]),
        ("x \\\n == 5", ["x", "x \\\n == 5"]),
        ("x ==\n5", ["x"]),
        ("x == ??", ["x"]),
        ("[1, 2", []),
        ("(1]", []),
        ("['it]", []),
        ("'open", []),
        ("assert x", []),
        ("", []),
    ],
)
def test_ends(text, ends):
    assert [text[:end] for end in expression_ends(text, 0, len(text)).ends] == ends


def test_nothing_behind_the_limit_is_read():
    reach = expression_ends("x == [1, 2]", 0, 8)
    assert reach.ends == [1]
    assert reach.read_to <= 8


@given(st.text(alphabet="f1 .,([{}])'\"=+-or\n\\#", max_size=60), st.integers(0, 70))
def test_ends_grow_and_stay_inside_the_limit(text, limit):
    reach = expression_ends(text, 0, limit)
    assert reach.ends == sorted(set(reach.ends))
    assert all(0 < end <= min(limit, len(text)) for end in reach.ends)
