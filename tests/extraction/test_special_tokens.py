"""Replies that a trainer decoded with its tokenizer's special tokens."""

from __future__ import annotations

import pytest

from support.cpu import cpu_within
from truegrade.extraction.contest_programs import extract_contest_program
from truegrade.extraction.programs import extract_continuation, extract_program
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
        ("print(1)[|endofturn|]", "print(1)"),
        ("print(1)[|endofturn|]\n[|user|]", "print(1)"),
        ("print(1)</s><unk>", "print(1)"),
        ("print(1)<unk><unk>", "print(1)"),
        ("print(1)\n<pad>", "print(1)"),
        ("print(1)<eoa>", "print(1)"),
        ("print(1)<eom>\n", "print(1)"),
        ("print(1)<_end>", "print(1)"),
        ("print(1)<reserved_106>", "print(1)"),
        ("print(1)<extra_id_0>", "print(1)"),
        ("print(1)<end_of_utterance>", "print(1)"),
        ("print(1)[unused10]", "print(1)"),
        ("print(1)|ENDOFTEXT|", "print(1)"),
        ("a[|b", "a[|b"),
        ("vocabulary[unused]", "vocabulary[unused]"),
        ("print('<unk>')", "print('<unk>')"),
        ("print(1)\n", "print(1)\n"),
        ("a < b\n<|", "a < b\n<|"),
        ("List<s>x", "List<s>x"),
        ("<|im_end|>", ""),
        ("", ""),
    ],
)
def test_only_those_at_the_end_are_removed(text, found):
    assert without_special_tokens(text) == found


ENDS = (
    "[|endofturn|]", "</s><unk>", "<unk>", "<pad><pad>", "<|endofturn|>", "<eoa>", "<end_of_turn>", "<_end>",
    "<reserved_106>", "<EOT>", "<|im_end|>\n<|im_start|>user", "[|endofturn|]\n[|user|]Another?", "<end_of_text>",
)  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("behind", ["", "\n"])
def test_an_end_glued_to_code_without_a_fence_is_cut(end, behind):
    body = '    return "<unk>" if x else None'
    assert extract_program(f"def f(x):\n{body}{end}{behind}", "f").value == f"def f(x):\n{body}"
    assert extract_continuation(f"{body}{end}{behind}", "f", "def f(x):\n").value.rstrip() == body
    assert extract_contest_program(f"print(input()){end}{behind}").value.rstrip() == "print(input())"


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


@pytest.mark.parametrize("end", ["<|im_end|>", "</s>", "<｜end▁of▁sentence｜>", "<|endoftext|>", " It adds."])
@pytest.mark.parametrize("token", ["<|user|>", "<|eot_id|>", "</think>", "<｜User｜>", "[/THINK]"])
def test_a_token_in_code_whose_closing_fence_has_something_behind_it(end, token):
    code = f'MARK = "{token}"\n\ndef f(x):\n    return x + len(MARK)\n'
    assert (extract_program(f"```python\n{code}```{end}", "f").value or "").rstrip() == code.rstrip()
