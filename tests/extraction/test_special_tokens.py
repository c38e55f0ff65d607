"""Replies that a trainer decoded with its tokenizer's special tokens."""

from __future__ import annotations

import pytest

from support.cpu import cpu_within
from truegrade.extraction.thinking import reply_behind, without_special_tokens

QWEN = "<|im_start|>system\nCode.<|im_end|>\n<|im_start|>user\nspread<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("print(1)<|im_end|>", "print(1)"),
        ("print(1)\n<|eot_id|>\n", "print(1)"),
        ("print(1)</s>", "print(1)"),
        ("print(1)<end_of_turn>\n<eos>", "print(1)"),
        ("print(1)<｜end▁of▁sentence｜>", "print(1)"),
        ("print(1)<|im_end|><|endoftext|><|endoftext|>", "print(1)"),
        ("print('<|im_end|>')", "print('<|im_end|>')"),
        ("print(1)\n", "print(1)\n"),
        ("a < b\n<|", "a < b\n<|"),
        ("List<s>x", "List<s>x"),
        ("<|im_end|>", ""),
        ("", ""),
    ],
)
def test_only_those_at_the_end_are_removed(text, found):
    assert without_special_tokens(text) == found


@pytest.mark.parametrize(
    "text", [" " * 200_000 + "x", "<|pad|>" * 50_000, "x" + " <|pad|>" * 50_000, "<" * 200_000]
)
def test_time_grows_with_the_length(text):
    with cpu_within(2):
        without_special_tokens(text)


@pytest.mark.parametrize(
    ("query", "prompt", "found"),
    [
        (f"{QWEN}print(1)<|im_end|>", QWEN, "print(1)"),
        ("<s>[INST] spread [/INST]print(1)</s>", "[INST] spread [/INST]", "print(1)"),
        ("print(1)<|im_end|>", "", "print(1)"),
        ("other words print(1)", "spread", None),
        ("words spread print(1)", "spread", None),
    ],
)
def test_the_reply_stands_behind_the_prompt(query, prompt, found):
    assert reply_behind(query, prompt) == found
