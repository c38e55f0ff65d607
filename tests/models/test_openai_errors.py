"""Error bodies as services shape them, and waits as they word them."""

from email.utils import formatdate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.models.service_errors import (
    MAX_ERROR_CHARACTERS,
    error_text,
    one_line,
    retry_after_s,
    status_failure,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["error", "message", "detail", "loc", "msg", "code"]), inner, max_size=3)
    ),
)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"error": {"message": "no\n way", "code": "x"}}, "no way"),
        ([{"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}}], "bad"),
        ({"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra"}]}, "'seed': Extra"),
        ({"detail": "Not Found"}, "Not Found"),
        ({"error": "model 'x' not found"}, "model 'x' not found"),
        ({"object": "error", "message": "too long"}, "too long"),
        ("<html>Bad gateway</html>", "<html>Bad gateway</html>"),
        ({"status": 3}, '{"status": 3}'),
    ],
)
def test_error_text(document, text):
    assert error_text(document) == text


@settings(derandomize=True, deadline=None)
@given(JSON)
def test_any_body_gives_one_short_line(document):
    text = error_text(document)
    assert len(text) <= MAX_ERROR_CHARACTERS
    assert "\n" not in text


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": formatdate(1_000_030, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(999_000, usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
def test_retry_after(headers, seconds):
    assert retry_after_s(headers, now=1_000_000.0) == seconds


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}


@pytest.mark.parametrize(
    ("details", "headers", "seconds"),
    [
        ([{"@type": "type.googleapis.com/google.rpc.Help"}, RETRY], {}, 34.07),
        ([RETRY], {"retry-after": "2"}, 2.0),
        ([{**RETRY, "retryDelay": "soon"}, 3, None], {}, None),
        ("none", {}, None),
    ],
)
def test_gemini_says_in_the_body_how_long_to_wait(details, headers, seconds):
    body = [{"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": details}}]
    assert status_failure(429, body, headers).wait_s == seconds
    assert status_failure(400, body, headers).wait_s is None


@settings(derandomize=True, deadline=None)
@given(st.text(), st.text())
def test_any_header_gives_a_finite_wait_or_none(seconds, milliseconds):
    wait_s = retry_after_s({"retry-after": seconds, "retry-after-ms": milliseconds}, now=0.0)
    assert wait_s is None or 0 <= wait_s < float("inf")


def test_one_line_is_shortened_visibly():
    assert one_line("a\n b\t c") == "a b c"
    assert len(one_line("x" * 999)) == MAX_ERROR_CHARACTERS
    assert one_line("x" * 999).endswith("…")
