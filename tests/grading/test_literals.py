"""Three policies of comparison, and where they disagree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.grading.literals import SHOWN_CHARS, compare

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, -0.0, 1.0, float("nan")])
    | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.integers(0, 2) | st.booleans(), inner, max_size=2)
    ),
    max_leaves=6,
)


def policies(expected, got):
    result = compare(expected, got)
    return result.python_eq, result.strict_typed, result.repr_exact


@pytest.mark.parametrize(
    ("expected", "got", "expected_policies", "why"),
    [
        ("5", "5", (True, True, True), ""),
        ("'a'", '"a"', (True, True, True), ""),
        ("[1,2]", "[1, 2]", (True, True, True), ""),
        ("{1, 2}", "{2, 1}", (True, True, True), ""),
        ("16", "0x10", (True, True, True), ""),
        ("1", "True", (True, False, False), "bool for int"),
        ("[1, 4.0]", "[1, 4]", (True, False, False), "int for float"),
        ("{1: 'a'}", "{True: 'a'}", (True, False, False), "bool for int"),
        ("{'a': 1}", "{'a': 1.0}", (True, False, False), "float for int"),
        ("{1}", "{1.0}", (True, False, False), "float for int"),
        ("{1}", "frozenset({1})", (True, False, False), "frozenset for set"),
        ("0.0", "-0.0", (True, True, False), "sign of zero"),
        ("{1: 2, 3: 4}", "{3: 4, 1: 2}", (True, True, False), "another order"),
        ("[1]", "(1,)", (False, False, False), "expected [1], got (1,)"),
        ("0.3", "0.30000000000000004", (False, False, False), "expected 0.3"),
        ("'a'", "b'a'", (False, False, False), "expected 'a'"),
        ("1", "x", (False, False, False), "not a literal: the name `x`"),
        ("nan", "float('nan')", (True, True, True), ""),
        ("[nan, {nan}]", "[nan, {float('nan')}]", (True, True, True), ""),
        ("{nan: nan}", "{nan: nan}", (True, True, True), ""),
        ("nan", "nanj", (False, False, False), "expected nan, got nanj"),
        ("nan", "0.0", (False, False, False), "expected nan"),
        ("inf", "float('inf')", (True, True, True), ""),
        ("set()", "{}", (False, False, False), "expected set()"),
        ("defaultdict(int, {})", " defaultdict(int, {}) ", (True, True, True), "compared as text"),
        ("defaultdict(int, {})", "{}", (False, False, False), "compared as text"),
    ],
)
def test_policies(expected, got, expected_policies, why):
    assert policies(expected, got) == expected_policies
    assert why in compare(expected, got).why
    assert bool(why) == bool(compare(expected, got).why)


@given(VALUES, VALUES)
def test_stricter_policies_imply_laxer_ones_and_agree_with_python(one, other):
    python_eq, strict_typed, repr_exact = policies(repr(one), repr(other))
    assert python_eq >= strict_typed >= repr_exact
    if "nan" not in repr((one, other)):
        assert python_eq == (one == other)
    assert repr_exact == (repr(one) == repr(other))


@given(VALUES, VALUES)
def test_comparison_is_symmetric(one, other):
    assert policies(repr(one), repr(other)) == policies(repr(other), repr(one))


def test_long_values_are_compared_whole_and_shown_cut():
    long = "'" + "a" * 5000
    result = compare(long + "b'", long + "c'")
    assert not result.python_eq
    assert len(result.why) < 3 * SHOWN_CHARS


def test_integers_too_long_for_decimal_digits_are_compared():
    huge = "0x" + "f" * 50_000
    assert policies(huge, huge.upper().replace("X", "x")) == (True, True, True)


@pytest.mark.parametrize("text", ["[" * 100_000, "-" * 100_000 + "1", "[" * 95 + "]" * 95, "\0", "'\ud800'"])
def test_hostile_text_is_compared_without_failing(text):
    assert compare("1", text).python_eq is False
    assert compare(text, "1").python_eq is False


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared(one, other):
    assert compare(one, one).repr_exact or "not a literal" in compare(one, one).why
    assert compare(one, other).python_eq in {True, False}
