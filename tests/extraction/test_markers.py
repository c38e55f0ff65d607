"""The markers of MBPP's few-shot prompts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.extraction.blocks import between_markers

CODE = "def f(x):\n    return x\n"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"[BEGIN]\n{CODE}[DONE]", CODE),
        (f"{CODE}[DONE]\n\nYou are an expert", CODE),
        (f"Sure:\n[BEGIN]\r\n{CODE}[DONE]\r\n", CODE),
        (f"{CODE}# [DONE] or not\n", f"{CODE}# [DONE] or not\n"),
        ("x = [BEGIN]\n", "x = [BEGIN]\n"),
        ("", ""),
    ],
)
def test_what_stands_between(text, kept):
    assert between_markers(text) == kept


@given(st.text(alphabet="[BEGINDO]\r\n x", max_size=80))
def test_what_is_kept_is_part_of_the_text(text):
    assert between_markers(text) in text
