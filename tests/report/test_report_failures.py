"""A verdict's line of detail, taken apart again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cpu import cpu_within
from truegrade.report.chosen_samples import FailureLine, read_failure


@pytest.mark.parametrize(
    ("detail", "failure"),
    [
        ("answered [1, 3], expected [1]", FailureLine(expected="[1]", got="[1, 3]")),
        ("f(2) gave 5, expected 4", FailureLine(test="f(2)", expected="4", got="5")),
        ("printed '3\\n', expected '4'", FailureLine(expected="'4'", got="'3\\n'")),
        ("solve returned [1], expected [2]", FailureLine(test="solve", expected="[2]", got="[1]")),
        (
            "`assert candidate([]) == False` failed; the program returned None",
            FailureLine(test="assert candidate([]) == False", expected="False", got="None"),
        ),
        (
            "`assert f(x) == y` failed; expected 7; the program returned 8",
            FailureLine(test="assert f(x) == y", expected="7", got="8"),
        ),
        (
            "IndexError: pop from empty list, in `assert f([], 7) == []`",
            FailureLine(test="assert f([], 7) == []", expected="[]", got="IndexError: pop from empty list"),
        ),
        ("f([]) raised ValueError: no", FailureLine(test="f([])", got="ValueError: no")),
        ("SyntaxError: invalid syntax (<program>, line 13)", None),
        ("over 10 CPU seconds", None),
        ("", None),
    ],
)
def test_shapes(detail: str, failure: FailureLine | None) -> None:
    assert read_failure(detail) == failure


TEXTS = st.text(st.sampled_from("ab 12'[](),`"), min_size=1, max_size=30)


@given(TEXTS, TEXTS.filter(lambda text: ", expected " not in text))
def test_what_was_answered_comes_back(got: str, expected: str) -> None:
    failure = read_failure(f"answered {got}, expected {expected}")
    assert failure == FailureLine(expected=expected, got=got)


@given(st.text(st.sampled_from("` failed; the program returned , expected in gave assert ==")))
def test_nothing_makes_it_raise(detail: str) -> None:
    read_failure(detail)


def test_hostile_lines_are_read_in_linear_time() -> None:
    for detail in ("`" * 200_000, " gave " * 50_000, "answered " + ", expected " * 30_000, ", in `" * 50_000):
        with cpu_within(2):
            read_failure(detail)
