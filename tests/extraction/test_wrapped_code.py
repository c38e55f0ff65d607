"""Code without a fence between the marks that models are told to put it between, glued to it or on their lines."""

from __future__ import annotations

from typing import Any

import pytest

from support.cpu import cpu_within
from truegrade.extraction.contest_programs import extract_contest_program
from truegrade.extraction.programs import extract_continuation, extract_program

PROMPT = "def f(x):\n"
BODY = "    return [x][0]"
PROGRAM = f"{PROMPT}{BODY}"
PAIRS = [
    ("<code>", "</code>"), ("<solution>", "</solution>"), ("<python>", "</python>"), ("<CODE>", "</CODE>"),
    ("[CODE]", "[/CODE]"), ("[PYTHON]", "[/PYTHON]"), ("[BEGIN]", "[DONE]"),
    ("<solution><code>", "</code></solution>"), ("<solution>\n<code>", "</code>\n</solution>"),
]  # fmt: skip


@pytest.mark.parametrize(("begin", "end"), PAIRS)
@pytest.mark.parametrize("behind", ["", "\n", "</s>", "<|im_end|>\n", "\n\nIt gives x back.\n"])
def test_marks_around_code_are_none_of_it(begin, end, behind):
    for opened in ("", begin, f"{begin}\n", f"Sure, here it is:\n\n{begin}\n"):
        for closing in (end, f"\n{end}"):
            text = f"{opened}{PROGRAM}{closing}{behind}"
            assert extract_program(text, "f").value.strip() == PROGRAM, text
            read = extract_contest_program(text.replace(PROGRAM, "print(input())")).value
            assert read.strip() == "print(input())", text


@pytest.mark.parametrize(("begin", "end"), PAIRS)
def test_a_body_between_marks_and_behind_a_prompt(begin, end):
    assert extract_program(f"{begin}\n{BODY}{end}", "f", prefix=PROMPT).value.strip("\n") == BODY
    for behind in ("", "\n", "\n\nYou are an expert.\n"):
        assert extract_continuation(f"{BODY}{end}{behind}", "f", PROMPT).value.strip("\n") == BODY


@pytest.mark.parametrize("end", ["</code>", "\n</code>\n", "[/CODE]", "</code></solution>\n", "[DONE]"])
def test_words_may_stand_before_code_that_no_mark_opens(end):
    text = f"Here is how I do it:\n\n{PROGRAM}{end}"
    assert extract_program(text, "f").value.strip() == PROGRAM


def test_what_nothing_closes_counts_as_far_as_it_compiles():
    assert extract_program(f"Here:\n<code>\n{PROGRAM}\n\ndef g(", "f").value.strip() == PROGRAM


HONEST = [
    'def f(x):\n    return """\n<code>\nx\n</code>\n"""\n',
    'def f(x):\n    return "</code>"\n',
    "DONE = 0\n\ndef f(x):\n    return x[DONE]\n",
    "def f(x, DONE=0):\n    return x[DONE]",
    "# the first [DONE]\ndef f(x):\n    return x\n",
    "CODE, PYTHON = 0, 1\n\ndef f(x):\n    return x[CODE]\n",
    "def f(x):\n    code = 1\n    return [\n        x\n    ]\n",
]


@pytest.mark.parametrize("program", HONEST)
def test_code_that_holds_a_mark_stays_as_it_is(program):
    assert extract_program(program, "f").value == program
    fenced = f"I put it between <code> and\n</code>\n```python\n{program}```\nIt is[DONE]"
    assert extract_program(fenced, "f").value == program


def test_a_body_or_prompt_may_hold_a_mark():
    body = '    return f"""\n<code>\n{x}\n</code>\n"""\n'
    assert extract_program(body, "f", prefix=PROMPT).value == body
    for extract in (extract_continuation, lambda text, name, prefix: extract_program(text, name, prefix=prefix)):
        assert extract("    return x[DONE]", "f", f"DONE = 0\n{PROMPT}").value == "    return x[DONE]"


def test_a_word_of_prose_between_tags_is_no_program():
    assert extract_program(f"<code>f</code>\n{PROGRAM}\n\nIt uses\n<code>x</code>\n", "f").value.strip() == PROGRAM


@pytest.mark.parametrize(
    "piece", ["<code>", "</code>\n", "<code>\nx\n</code>\n", "[DONE]", "\n[BEGIN]", "</x>", "\n "]
)
def test_time_grows_with_the_length(piece):
    with cpu_within(6):
        text = (piece * 300_000)[:300_000]
        extract_program(text, "f", prefix=PROMPT)
        extract_contest_program(text)
        extract_continuation(text, "f", PROMPT)


FUNCTION = "def f(x):\n    return x + 1\n"


@pytest.mark.parametrize(
    "text",
    [
        *[f"{said}\n\n```python\n{FUNCTION}```" for said in ("Sure", "Python", "- a", "Time: O(n)", "x = 1")],
        f"[PYTHON]\n{FUNCTION}[/PYTHON]",
        f"[CODE]\n{FUNCTION}[/CODE]",
        f"[PYTHON]\n{FUNCTION}",
        "    return x + 1\n[EOS]",
        f"[BEGIN] {FUNCTION}[DONE]",
        *[f"    return x + 1<{name}>" for name in ("fim_prefix", "fim_suffix", "jupyter_text", "issue_start")],
        *[f"    return x + 1{end}" for end in ("<reponame>", "<empty_output>", "<PRE>", " ▁<EOT>", "▁<EOT>")],
    ],
)
def test_a_continuation_with_words_or_marks_around_it(text):
    prompt = 'def f(x):\n    """One more."""\n'
    answer = extract_continuation(text, "f", prompt)
    held: dict[str, Any] = {}
    exec(f"{prompt}{answer.value}" if answer.form == "completion" else answer.value or "", held)
    assert held["f"](1) == 2


@pytest.mark.parametrize(
    "body",
    ["    x.append(1)\n", "    x += 1\n    # ```\n    print(x)\n", "    [CODE]\n    CODE = 1\n    return x\n"],
)
def test_a_body_without_a_return_stays_one(body):
    assert extract_continuation(body, "f", "def f(x):\n").value == body
