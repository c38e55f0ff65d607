"""Text made to hang or crash a reader: every extraction ends, with an answer or a reason."""

import time

import pytest

from support.thorough import one_in
from truegrade.extraction.assertions import (
    extract_input,
    extract_input_answer,
    extract_output,
    extract_output_answer,
)
from truegrade.extraction.blocks import fenced_blocks
from truegrade.extraction.programs import extract_continuation, extract_program
from truegrade.grading.literals import compare

HANG_S = 3.0
"""A guard against non-linear time, with room for a busy machine; measured times are well under 1 s."""

PREFIX = 'def f(x):\n    """Doc."""\n'
COLLIDING = ",".join(str(i * (2**61 - 1)) for i in range(1, 4000))

TEXTS = {
    "opening tags": "[ANSWER]" * 31_250,
    "empty blocks": "[ANSWER] [/ANSWER]" * 15_000,
    "right blocks": "[ANSWER]assert f(1) == 1[/ANSWER]" * 7_500,
    "wrong blocks": "[ANSWER]assert f(2) == g(1)[/ANSWER]" * 7_500,
    "open lists": "assert f(1) == [\n" * 15_000,
    "assertions": "assert f(2) == x\n" * 15_000,
    "open calls": "f(" * 125_000,
    "2 MB list": "[ANSWER]assert f(1) == [" + "1," * 1_000_000 + "][/ANSWER]",
    "2 MB string": "assert f(1) == '" + "a" * 2_000_000 + "'",
    "many ends": "assert f(1) == [" + "[]," * 7_500 + "] (x y) (x y) (x y) (x y) [",
    "brackets": "assert f(1) == " + "[" * 25_000,
    "signs": "assert f(1) == " + "-" * 25_000 + "1",
    "sum": "assert f(1) == " + "1+" * 10_000 + "1",
    "attributes": "assert f(1) == a" + ".a" * 10_000,
    "chain": "assert " + "f(1) == " * 3_000 + "1",
    "quotes": '"' * 1_000_000,
    "triple quotes": "'''a" * 75_000 + '"""',
    "back-slashes": 'assert f(1) == "' + "\\" * 1_000_000,
    "back-ticks": "`" * 1_000_000,
    "stars": "*" * 1_000_000,
    "fence lines": "```\n" * 62_500,
    "fenced programs": "```python\ndef f(x): return 1\n```\n" * 7_500,
    "fenced errors": "```python\ndef f(x): retur 1\n" * 7_500 + "```",
    "newlines": "\n" * 1_000_000,
    "blanks": " " * 1_000_000,
    "annotation": "a:" + " " * 1_000_000,
    "definitions": "def f(x):\n" * 25_000,
    "programs": "def f(x):\n    return x\n" * 11_250,
    "bad imports": "import a b\n" * 22_500,
    "bad assignments": ("a = 1 " + "b" * 1000 + "\n") * 1000,
    "open brackets": "def f(x):\n" + "    x = (\n" * 5_000,
    "deep indentation": "\n".join(" " * depth + "if 1:" for depth in range(1500)),
    "elif": "if x:\n pass\n" + "elif x:\n pass\n" * 3_500,
    "thinking": "<think>" * 35_000,
    "thoughts": "</think>" * 30_000,
    "channels": "<|channel|>final <|constrain|>" * 8_750,
    "null byte": 'def f(x):\n    return "\0"\n',
    "surrogate": 'def f(x):\n    return "\ud800"\n',
    "long number": "assert f(1) == " + "1" * 90_000,
    "colliding set": "[ANSWER]{" + COLLIDING + "}[/ANSWER]",
    "separators": "\u2028\x0c" * 50_000,
    "carriage returns": "\r" * 1_000_000,
}

READERS = {
    "program": lambda text: extract_program(text, "f", prefix=PREFIX),
    "continuation": lambda text: extract_continuation(text, "f", PREFIX),
    "output": lambda text: extract_output(text, "f", "1"),
    "output answer": lambda text: extract_output_answer(text, "f"),
    "input": lambda text: extract_input(text, "f"),
    "input answer": lambda text: extract_input_answer(text, "f"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", one_in(10, TEXTS))
def test_hostile_text_ends_soon(kind):
    text = TEXTS[kind]
    for name, reader in READERS.items():
        start = time.process_time()
        answer = reader(text)
        assert time.process_time() - start < HANG_S, name
        assert (answer.value is None) == (answer.reason is not None), name
    start = time.process_time()
    assert compare(text, text + " ").python_eq in {True, False}
    fenced_blocks(text)
    assert time.process_time() - start < HANG_S
