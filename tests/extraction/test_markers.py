"""The markers of MBPP's few-shot prompts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cpu import cpu_within
from truegrade.extraction.blocks import between_markers

CODE = "def f(x):\n    return x\n"
QUOTING = 'def f(x):\n    """Marks.\n\n    [DONE]\n    [BEGIN]\n[DONE]\n    """\n    return x\n'


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"[BEGIN]\n{CODE}[DONE]", CODE),
        (f"{CODE}[DONE]\n\nYou are an expert", CODE),
        (f"Sure:\n[BEGIN]\r\n{CODE}[DONE]\r\n", CODE),
        (f"{CODE}# [DONE] or not\n", f"{CODE}# [DONE] or not\n"),
        ("x = [BEGIN]\n", "x = [BEGIN]\n"),
        (f"[BEGIN] {CODE}[DONE]", CODE),
        (f"```python\n{CODE}[DONE]\n```", f"```python\n{CODE}"),
        (f"{QUOTING}[DONE]\n[BEGIN]\nx", QUOTING),
        (f"[BEGIN]\n{QUOTING}[DONE]\n", QUOTING),
        (f"Sure:\n```python\n{QUOTING}```\n", f"Sure:\n```python\n{QUOTING}```\n"),
        (QUOTING, QUOTING),
        ("", ""),
    ],
)
def test_what_stands_between(text, kept):
    assert between_markers(text) == kept


def test_a_docstring_that_goes_on_behind_a_prompt_may_quote_them():
    body = '    """Marks.\n\n    [DONE]\n    """\n    return x\n'
    assert between_markers(body, "def f(x):\n") == body


def test_time_grows_with_the_length():
    for piece in ("[BEGIN]\n[DONE]\n", "[DONE]", "\n[DONE]", "```\n[DONE]\n"):
        with cpu_within(3.0):
            between_markers(piece * 20_000)


@given(st.text(alphabet="[BEGINDO]\r\n x", max_size=80))
def test_what_is_kept_is_part_of_the_text(text):
    assert between_markers(text) in text
