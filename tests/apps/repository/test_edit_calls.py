"""What the agent `edit` reads in a reply: as the patterns that it was first written by, in linear time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cpu import cpu_within
from truegrade.apps.repository.agent import _called, _lines, _path_and_lines, _search_and_replace

LINES = re.compile(r"(.+?)(?:\s+(\d+))?(?:\s+(\d+))?")
REPLACE = re.compile(r"<{7} SEARCH\n(.+?)^={7}\n(.*?)^>{7} REPLACE\s*", re.DOTALL | re.MULTILINE)

WORDS = st.text(alphabet="a. \t\r1290/\u0663\x1f", max_size=12).map(str.strip)
PIECES = ["<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "x", "", " ", "======= ", "========", "\n", "\r", "\f"]
BODIES = st.lists(st.sampled_from(PIECES), max_size=9).map("\n".join)


@given(WORDS)
def test_a_path_and_its_lines(rest):
    old = LINES.fullmatch(rest)
    path, numbers = _path_and_lines(rest)
    assert (path, numbers) == (("", []) if old is None else (old[1], [int(n) for n in old.groups()[1:] if n]))


@given(BODIES | BODIES.map("<<<<<<< SEARCH\nx\n{}\n>>>>>>> REPLACE\n".format))
def test_the_parts_of_a_replacement(body):
    old = REPLACE.fullmatch(body)
    assert _search_and_replace(body) == (None if old is None else (old[1], old[2]))


@pytest.mark.parametrize(
    "rest", ["a" + " " * 128_000 + "x", "1 " * 64_000 + "x", "1" * 128_000, "a " + "1" * 128_000, "a\t" * 64_000]
)
def test_reading_a_call_takes_linear_time(rest):
    with cpu_within(1.0):
        name, words, _ = _called(f"```call\nread {rest}\n```")
        assert name == "read"
        assert _lines({"a": "first\n"}, words).startswith("error: ")


@pytest.mark.parametrize(
    "body",
    ["=======\n" * 16_000, "=======\n>>>>>>> REPLACE\n" * 6_000, "<<<<<<< SEARCH\n" * 9_000, "\n" * 128_000],
)
def test_reading_a_replacement_takes_linear_time(body):
    with cpu_within(1.0):
        assert _search_and_replace(f"<<<<<<< SEARCH\n{body}.") is None
