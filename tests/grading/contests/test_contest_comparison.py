"""When two outputs are the same; every row of the table was given to the published grader as well."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.grading.contests.output_comparison import as_json, get_stripped_lines, same_output

SAME = [
    ("7\n", "7"), (" 7 \n\n", "7"), ("1 2\n3", "1 2 \n3\n"), ("1e3", "1000"), ("+5", "5"), ("1_000", "1000"),
    ("1.0  2", "1 2.00"), ("inf", "Infinity"), ("-0", "0"), ("٣", "3"), ("", "\n"),
]  # fmt: skip
DIFFERENT = [
    ("7", "8"), ("7\n8", "7"), ("a 1.0", "a 1"), ("nan", "NaN"), ("sNaN", "sNaN1"), ("0.1", "0.10000001"),
    ("1\n\n2", "1\n2"), ("1 2", "1\n2"), ("yes", "YES"), ("", "0"),
]  # fmt: skip


@pytest.mark.parametrize(("got", "expected"), SAME)
def test_same(got, expected):
    assert same_output(got, expected)


@pytest.mark.parametrize(("got", "expected"), DIFFERENT)
def test_different(got, expected):
    assert not same_output(got, expected)


@given(st.text(alphabet="01 .\n-eNnaif", max_size=30), st.text(alphabet="01 .\n-eNnaif", max_size=30))
def test_any_text_is_compared_and_the_order_does_not_matter(one, other):
    assert same_output(one, other) == same_output(other, one)
    assert len(get_stripped_lines(one)) == one.strip().count("\n") + 1


@given(st.lists(st.integers(), max_size=5), st.sampled_from([" ", "  ", "\t"]))
def test_numbers_are_the_same_however_they_are_written(numbers, blank):
    assert same_output(blank.join(f"{n}.0" for n in numbers), " ".join(map(str, numbers)))


def test_as_json_has_lists_for_tuples_at_any_depth():
    assert as_json(((1, (2,)), {"a": (3,)})) == [[1, [2]], {"a": [3]}]
