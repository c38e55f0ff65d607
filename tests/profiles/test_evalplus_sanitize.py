"""EvalPlus' sanitizer: its quirks, and parity with its own code."""

import ast
import time
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from peer_process import ask
from peer_replies import REPLIES
from sanitizer_programs import QUIRKS, programs

from truegrade.profiles.evalplus import longest_span, sanitize

NOTHING = {"sanitize": [], "replies": [], "checks": [], "prompt": ""}


@pytest.mark.parametrize("name", QUIRKS)
def test_what_is_kept(name):
    reply, kept = QUIRKS[name]
    assert sanitize(reply, "add").strip() == kept.strip()


# What code_extract of evalplus@26d6d00 returned for these texts.
SPANS = {
    "x = 1": "x = 1",
    "Sure thing!\nHere you go": "Sure thing!",
    "": "",
    "\n\nx = 1\n\n": "\n\nx = 1",
    "x = (\n1\ny = 2\nz = 3": "1\ny = 2\nz = 3",
    '"""\nx = 1\ny = 2': "x = 1\ny = 2",
    "if a:\n    b\nelse:\n    c\nprose here\nd\ne": "if a:\n    b\nelse:\n    c",
    "a = 1 \\\n\nword word": "a = 1 \\",
}


@pytest.mark.parametrize("text", SPANS)
def test_the_longest_span(text):
    assert longest_span(text) == SPANS[text]


LINES = st.sampled_from(
    ["", "x = 1", "def f(x):", "    return x", "if x:", "else:", "    y", "x = (", ")", '"""', "'", "a \\", "@d",
     "try:", "except E:", "    # note", "# note", "Here it is", "```", "\tz", "  ", "f'''{", "'''", "\r", "'\\d'",
     "class A:", "for i in x:", "x = [", "1,", "]", "async def g():", "match x:", "    case 1:", "        pass",
     "x = 1; \\", "# \\", "\\", "a; b", "finally:", "x = 1\r", "y\rif x:", "    \\",
     "\ufeffz", "\x0cw", "def h(): pass"]
)  # fmt: skip


def longest_span_by_trying_all(text):
    """The rule, word for word: of all spans of two or more lines that parse, the first with most filled lines."""
    lines, best, most = text.split("\n"), (0, 0), 0
    for first in range(len(lines)):
        for last in range(first + 1, len(lines)):
            filled = sum(bool(line.strip()) for line in lines[first : last + 1])
            if filled > most and parses("\n".join(lines[first : last + 1])):
                best, most = (first, last), filled
    return "\n".join(lines[best[0] : best[1] + 1])


def parses(source):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except SyntaxError:
        return False
    return True


@given(st.lists(LINES, max_size=14).map("\n".join))
def test_the_fast_search_finds_what_trying_all_finds(text):
    assert longest_span(text) == longest_span_by_trying_all(text)


@pytest.mark.parametrize(
    "text", ["x = '\0'\ny = 1", "x = '\ud800'\ny = 1", "(" * 5000 + "\n1", "-" * 5000 + "1\nx"]
)
def test_hostile_text_is_no_crash(text):
    assert isinstance(sanitize(text, "add"), str)


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n" * 3000,
        "It is a line of prose.\n" * 3000,
        "import re\n" + '    """open\n' * 1000,
        "x = 1\n" * 200 + 'def add(a, b):\n    """text\n' + "    more of it\n" * 500,
        "x = (\n" * 1000,
        "if x:\n  y\nelse:\n" * 300,
        "def add(a, b):\n    return a\n" + "    \r\n" * 3000 + "x = 1\n",
    ],
)
def test_long_replies_are_read_in_seconds(text):
    started = time.process_time()
    sanitize(text, "add")
    assert time.process_time() - started < 8


@pytest.mark.slow
def test_parity_with_the_sanitizer_itself():
    quirks = [reply for reply, _ in QUIRKS.values()]
    replies = [*quirks, *REPLIES, *programs(400)]
    peer = ask("evalplus", NOTHING | {"replies": replies, "sanitize": [(reply, "add") for reply in replies]})
    assert [longest_span(reply) for reply in replies] == peer["spans"]
    assert len(replies) > 600
    for reply, theirs in zip(replies, peer["sanitized"], strict=True):
        assert sanitize(reply, "add") == theirs, reply
    assert len(peer["published"]) == 4
    for reply, entry_point, kept in peer["published"]:
        assert sanitize(reply, entry_point) == kept
