"""The calls of the agent `edit` are read in time that grows with the reply, and mean what patterns say."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cpu import cpu_within
from truegrade.apps.repository.agent import MAX_LINE_DIGITS, lines_asked, search_and_replace

SEARCH = "<<<<<<< SEARCH\n"
REPLACED = re.compile(r"<{7} SEARCH\n(.+?)^={7}\n(.*?)^>{7} REPLACE\s*", re.DOTALL | re.MULTILINE)
LINES = re.compile(rf"(.+?)(?:\s+(\d{{1,{MAX_LINE_DIGITS}}}))?(?:\s+(\d{{1,{MAX_LINE_DIGITS}}}))?")
PARTS = st.lists(
    st.sampled_from(
        [SEARCH, "=======\n", "=======", ">>>>>>> REPLACE\n", ">>>>>>> REPLACE", "\n", "a", " ", "\x85"]
    ),
    max_size=9,
).map("".join)
WORDS = st.lists(st.sampled_from(["a.py", "1", "23", " ", "\t", "\u0663", "-", "0" * 10]), min_size=1, max_size=9)


WHOLE = PARTS.map(lambda middle: f"{SEARCH}a\n=======\n{middle}\n>>>>>>> REPLACE")


@given(st.one_of(PARTS, PARTS.map(SEARCH.__add__), WHOLE))
def test_what_is_replaced_is_what_the_pattern_finds(body):
    found = REPLACED.fullmatch(body)
    assert search_and_replace(body) == (None if found is None else found.groups())


@given(WORDS.map(lambda parts: "".join(parts).strip()).filter(bool))
def test_the_lines_asked_for_are_what_the_pattern_finds(rest):
    found = LINES.fullmatch(rest)
    path, *numbers = found.groups()
    assert lines_asked(rest) == (path, [int(number) for number in numbers if number])


@pytest.mark.parametrize(
    "body",
    [
        "=======\n" * 16_000,
        "a\n=======\n" + ">>>>>>> REPLACE\n" * 8_000 + "x",
        "a\n=======\n" + " \n" * 64_000 + "x",
    ],
)
def test_long_replies_take_little_time(body):
    with cpu_within(0.3):
        search_and_replace(SEARCH + body)
        lines_asked("a" + " " * 128_000 + "x")
