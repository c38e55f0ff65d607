"""When two outputs are the same; every row of the table was given to the published grader as well."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.grading.contests.output_comparison import as_json, get_stripped_lines, same_output
from truegrade.grading.contests.separate import printed_right

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


@pytest.mark.parametrize(
    ("printed", "expected"),
    [*((got, wanted) for got, wanted in SAME if got.isascii() and wanted.isascii()
       and got not in ("1_000", "inf")),
     ("+5 .5 5. -0 -0.0 1E+3 1e-05", "5 0.5 5 0 0 1000 0.00001"), ("7\r\n8\r\n", "7\n8"),
     ("1\t2\v3\f4", "1 2 3 4"),
     ("011", "011"), ("nan", "nan"), ("٣", "٣"), ("a\xa0b", "a\xa0b"), ("1e99999999999999999999",) * 2],
)  # fmt: skip
def test_outputs_that_strict_takes_for_the_same(printed, expected):
    assert printed_right(printed, expected)


EVERY = "".join(map(chr, range(sys.maxunicode + 1)))
BLANKS = re.findall(r"(?![ \t\n\r\f\v])\s", EVERY)


@pytest.mark.parametrize(
    ("printed", "expected"),
    [*DIFFERENT, ("1_000", "1000"), ("0_1", "1"), ("_1", "1"), ("011", "11"), ("00", "0"), ("-01", "-1"),
     ("inf", "Infinity"), ("NaN", "nan"), ("１２", "12"), ("٣", "3"), ("1．5", "1.5"), ("−5", "-5"), ("＋5", "5"),
     ("1e３", "1000"), ("5\x00", "5"), ("\ufeff5", "5"), ("5\u200b", "5"), ("0x5", "5"), ("5j", "5"), ("5L", "5"),
     ("1e99999999999999999999", "1"), ("1,000", "1000"), ("+", "0"), (".", "0"), ("e5", "0"), ("5e", "5"),
     *((f"1{blank}2", "1 2") for blank in BLANKS), *((f"5{blank}", "5") for blank in BLANKS),
     *((f"{blank}5", "5") for blank in BLANKS)],
)  # fmt: skip
def test_outputs_that_strict_takes_for_different(printed, expected):
    assert not printed_right(printed, expected)
    assert not printed_right(expected, printed)


def test_no_digit_beyond_ascii_is_a_number_under_strict():
    foreign = [digit for digit in EVERY[0x80:] if digit.isdigit() or digit.isnumeric()]
    assert len(BLANKS) > 20 and len(foreign) > 700
    assert not [digit for digit in foreign for number in range(10) if printed_right(digit, str(number))]


@given(st.text(alphabet="01 .\n-eE+_٣\xa0", max_size=30), st.text(alphabet="01 .\n-eE+", max_size=30))
def test_strict_takes_nothing_for_the_same_that_the_published_rule_does_not(printed, expected):
    if printed_right(printed, expected):
        assert same_output(printed, expected)


@given(st.text(alphabet="01 .\n-eNnaif", max_size=30), st.text(alphabet="01 .\n-eNnaif", max_size=30))
def test_any_text_is_compared_and_the_order_does_not_matter(one, other):
    assert same_output(one, other) == same_output(other, one)
    assert len(get_stripped_lines(one)) == one.strip().count("\n") + 1


@given(st.lists(st.integers(), max_size=5), st.sampled_from([" ", "  ", "\t"]))
def test_numbers_are_the_same_however_they_are_written(numbers, blank):
    assert same_output(blank.join(f"{n}.0" for n in numbers), " ".join(map(str, numbers)))


def test_as_json_has_lists_for_tuples_at_any_depth():
    assert as_json(((1, (2,)), {"a": (3,)})) == [[1, [2]], {"a": [3]}]
