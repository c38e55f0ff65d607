"""Markers of today's models, in every extraction: a thought is never paid, an answer behind one is found."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cpu import cpu_within
from support.thorough import one_in
from truegrade.extraction.assertions import extract_input, extract_output
from truegrade.extraction.choices import extract_choice
from truegrade.extraction.contest_programs import extract_contest_program
from truegrade.extraction.programs import extract_program
from truegrade.extraction.thinking import FAMILIES
from truegrade.records import Reason

THOUGHTS = {
    "tags": ("<think>\n", "</think>"),
    "tags in capitals": ("<Thought>", "</Thought>"),
    "seed": ("<seed:think>", "</seed:think>"),
    "minimax m3": ("<mm:think>\n", "</mm:think>\n"),
    "hunyuan": ("<think:opensource>\n", "\n</think:opensource>\n"),
    "longcat": ("<longcat_think>\n", "\n</longcat_think>"),
    "k2 horizon": ("<ifm|think_fast>", "</ifm|think_fast>"),
    "gemma 4": ("<|channel>thought\n", "<channel|>"),
    "cohere": ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
    "cohere, later": ("<|START_THINKING|>", "<|END_THINKING|><|START_TEXT|>"),
    "magistral": ("[THINK]", "[/THINK]"),
    "kimi": ("◁think▷", "◁/think▷"),
    "kimi k3": ("<|open|>think<|sep|>", "<|close|>think<|sep|><|open|>response<|sep|>"),
    "apertus": ("<|inner_prefix|>", "<|inner_suffix|>"),
    "solar open 2": ("<|think:start|>", "<|think:end|>"),
    "solar open": ("<|think|>", "<|end|><|begin|>assistant<|content|>"),
    "inkling": ("<|content_thinking|>", "<|end_message|><|message_model|><|content_text|>"),
    "plamo 3": ("<|plamo:begin_think:plamo|>\n", "<|plamo:end_think:plamo|>\n"),
    "muse glimmer": (" to=self<|message|>", "<|eom|><|start|>assistant to=user<|message|>"),
    "pangu": ("[unused16]", "[unused17]"),
    "openthoughts": ("<|begin_of_thought|>\n\n", "\n\n<|end_of_thought|>\n\n<|begin_of_solution|>\n\n"),
    "harmony": (
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
    ),
    "harmony's second channel": (
        "<|channel|>commentary to=functions.run <|constrain|>json<|message|>",
        "<|call|><|start|>assistant<|channel|>final<|message|>",
    ),
    "harmony without tokens": ("analysisWe write it. ", "assistantfinal"),
}
"""What opens and closes a thought, as the sources that the table names write it."""

TOKENS = (
    *("<|im_end|>", "<|eot_id|>", "<|eot|>", "<|end|>", "<|return|>", "<|END_RESPONSE|>", "<|END_TEXT|>", "</s>"),
    *("<turn|>", "<|end_of_solution|>", "<｜end▁of▁sentence｜>", "<end_of_turn>\n<eos>", "[EOS]", "[e~["),
    *(
        "<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
        "<|close|>response<|sep|><|end_of_msg|>",
        "<seed:eos>",
        "</answer>",
    ),
)
RIGHT = "def target(xs):\n    return sorted(xs)\n"
DRAFT = "def target(xs):\n    return list(xs)\n"
MARKS = tuple(mark.strip() for pair in THOUGHTS.values() for mark in pair if "analysis" not in mark) + TOKENS


def fenced(code: str) -> str:
    return f"```python\n{code}```\n"


READERS = {
    "program": (
        lambda reply: extract_program(reply, "target"),
        (fenced(RIGHT), RIGHT, f"<pre><code>{RIGHT}</code></pre>"),
        (fenced(DRAFT), DRAFT),
    ),
    "contest": (
        extract_contest_program,
        (fenced("print(input())\n"), "print(input())\n"),
        (fenced("print(len(input()))\n"),),
    ),
    "output": (
        lambda reply: extract_output(reply, "f", "1"),
        ("[ANSWER]\nassert f(1) == 17\n[/ANSWER]", "f(1) == 17", "17"),
        ("[ANSWER]\nassert f(1) == 4\n[/ANSWER]\n", "assert f(1) == 4 "),
    ),
    "input": (
        lambda reply: extract_input(reply, "f"),
        ("[ANSWER]\nassert f([2, 3]) == 1\n[/ANSWER]", "assert f([2, 3]) == 1"),
        ("[ANSWER]\nassert f([4]) == 1\n[/ANSWER]\n",),
    ),
    "choice": (
        lambda reply: extract_choice(reply, "f", "1"),
        ('{"chosen_program": "A", "assertion": "assert f(1) == 17"}',),
        ('{"chosen_program": "B", "assertion": "assert f(1) == 4"} ',),
    ),
}


def value_in(read, reply: str) -> str | None:
    value = read(reply).value
    return value and value.strip()


CASES = [(kind, family) for family in THOUGHTS for kind in READERS]
"""Every second case is of another extraction for the same family."""


def test_every_row_of_the_table_is_one_of_these():
    for family in FAMILIES:
        pairs = [(begin, end) for begin, end in THOUGHTS.values() if re.match(rf"\s*(?:{family.begin})", begin)]
        assert pairs and all(re.search(family.end, end) for _, end in pairs), family.source


@pytest.mark.parametrize(("kind", "family"), one_in(2, CASES))
def test_an_answer_behind_a_thought_is_found_and_a_draft_in_a_cut_one_is_not(kind, family):
    read, answers, drafts = READERS[kind]
    begin, end = THOUGHTS[family]
    wanted = read(answers[0]).value
    for draft in drafts:
        for answer in answers:
            for reply in (f"{begin}{draft}no.{end}{answer}", f"{draft}no.{end}{answer}"):
                assert value_in(read, reply) == value_in(read, answer)
                if family not in {"pangu", "harmony without tokens"}:  # whose ends are Python themselves
                    assert value_in(read, f"{reply}\n{end}") == value_in(read, answer)
            cut = f"{begin}{answer}\nbut maybe"
            assert (read(cut).value, read(cut).reason) == (None, Reason.TRUNCATED)
            again = begin.replace("analysisWe", "assistantanalysisWe") if "assistantfinal" in end else begin
            for said in ("Let me see.\n", "Sure! "):
                assert read(f"{said}{again}{answer}\nbut").value is None
            assert read(f"{begin}{draft}{end}{again}{answer}").value is None
    assert wanted is not None


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("token", TOKENS)
def test_tokens_glued_to_an_answer_are_cut(kind, token):
    read, answers, drafts = READERS[kind]
    for answer in answers:
        assert value_in(read, f"{answer.rstrip()}{token}") == value_in(read, answer)
        if "|>" in token:
            turns = (
                f"{answer.rstrip()}{token}<|im_start|>user\nAgain?<|im_end|>\n<|im_start|>assistant\n{drafts[0]}"
            )
            assert value_in(read, turns) == value_in(read, answer)
    assert read(f"<|start_header_id|>assistant<|end_header_id|>\n\n{answers[-1]}{token}").value is not None


PROSE = st.sampled_from(
    ["This works with `{}` too.", "- `{}`", "Tokens such as `{}` count as ten characters.", "``{}``"]
)


@given(mark=st.sampled_from(MARKS), prose=PROSE, kind=st.sampled_from(sorted(READERS)), front=st.booleans())
def test_a_marker_between_back_ticks_takes_nothing_away(mark, prose, kind, front):
    if "\n" in mark:
        return
    read, answers, _ = READERS[kind]
    said = prose.format(mark)
    reply = f"{said}\n\n{answers[0]}\n" if front else f"{answers[0]}\n\n{said}\n"
    assert read(reply).value == read(answers[0]).value


@given(
    marks=st.lists(st.sampled_from([m for m in MARKS if "\n" not in m]), min_size=1, max_size=3),
    prose=st.sampled_from(["This works with text such as {} too.", "It is told apart from {}, of course."]),
)
def test_a_marker_in_the_words_behind_a_program_takes_nothing_away(marks, prose):
    reply = fenced(RIGHT) + "".join(f"{prose.format(mark)}\n" for mark in marks)
    assert extract_program(reply, "target").value == RIGHT
    reply = "".join(f"{prose.format(mark)}\n" for mark in marks) + fenced(RIGHT)
    assert extract_program(reply, "target").value == RIGHT


@given(mark=st.sampled_from(MARKS), thought=st.sampled_from(["", *THOUGHTS]), fence=st.booleans())
def test_a_program_may_hold_any_marker_in_its_texts_and_comments(mark, thought, fence):
    code = f"def target(xs):\n    # {mark!r}\n    return [x for x in xs if x != {mark!r}]\n"
    begin, end = THOUGHTS[thought] if thought else ("", "")
    opened = f"{begin}{fenced(DRAFT)}{end}" if thought else ""
    reply = f"{opened}{fenced(code) if fence else code}"
    assert extract_program(reply, "target").value.strip() == code.strip()


REPLIES = {
    "an answer before a thought": (f"{fenced(RIGHT)}\n<think>\nIs it right? It is.\n</think>\nDone.", RIGHT),
    "an answer before a cut thought": (f"{fenced(RIGHT)}\n<think>\nIs it", RIGHT),
    "nested": (f"<think>a\n<think>b</think>{fenced(DRAFT)}</think>{fenced(RIGHT)}", RIGHT),
    "doubled by the template": (f"<think>\n<think>\n{fenced(DRAFT)}</think>\n\n{fenced(RIGHT)}", RIGHT),
    "stray ends": (f"<think>ok</think>{RIGHT.rstrip()}</think>\n</think>\n", RIGHT),
    "many stray ends": (f"<think>ok</think>{RIGHT.rstrip()}" + "</think>\n" * 20, RIGHT),
    "between an answer and its use": (
        f"{fenced(RIGHT)}Unlike </think>:\n```python\nfrom solution import target\nprint(target([2]))\n```\n",
        RIGHT,
    ),
    "a thought whose fence stays open": (f"<think>\n```python\ndef target(xs):\n</think>\n{fenced(RIGHT)}", RIGHT),
    "a closing fence and an end on one line": (f"<think>```python\n{DRAFT}```</think>{fenced(RIGHT)}", RIGHT),
    "answer tags": (f"<think>{DRAFT}</think>\n<answer>\n{RIGHT}</answer>", RIGHT),
    "a thought that gives up": (f"<think>{fenced(RIGHT)}</think>I cannot say.", None),
    "final code that Python refuses": (
        f"{fenced(RIGHT)}no.</think>```python\ndef target(xs:\n```",
        "def target(xs:\n",
    ),
    "a draft between MBPP's markers": (
        f"<think>\n[BEGIN]\n{DRAFT}[DONE]\n</think>\n[BEGIN]\n{RIGHT}[DONE]\n",
        RIGHT,
    ),
    "a tag that begins a sentence": (f"It works. <think> tags are kept.\n{fenced(RIGHT)}", RIGHT),
    "analysis as a word": (f"analysis of the task: sort.\n{fenced(RIGHT)}", RIGHT),
    "a tag named in a line": (f"Thoughts go into the <think> tag.\n{fenced(RIGHT)}", RIGHT),
    "harmony that never answers": (f"<|channel|>analysis<|message|>{fenced(RIGHT)}<|end|>", None),
    "escaped code in HTML": (
        "<p>So:</p><pre><code class='py'>def target(xs):\n    return xs if 1 &lt; 2 else []</code></pre>",
        "def target(xs):\n    return xs if 1 < 2 else []\n",
    ),
    "one line of HTML": (
        "<pre><code>def target(xs): return sorted(xs)</code></pre>",
        "def target(xs): return sorted(xs)\n",
    ),
    "a program that writes HTML": (
        "def target(xs):\n    return '<pre><code>def target(): 1</code></pre>'\n",
        "def target(xs):\n    return '<pre><code>def target(): 1</code></pre>'\n",
    ),
}


@pytest.mark.parametrize("name", REPLIES)
def test_what_surrounds_a_marker_says_what_it_is(name):
    reply, program = REPLIES[name]
    assert value_in(lambda text: extract_program(text, "target"), reply) == (program and program.strip())


@pytest.mark.parametrize(
    "text",
    one_in(
        5,
        [
            *(
                "<|x|>" * 40_000,
                "</think>" * 30_000,
                "<think>" * 35_000,
                "`<|x|>" * 30_000,
                "<pre><code>" * 20_000,
            ),
            *(
                "def f(x):\n    return x<|x|>\n" * 5_000,
                "<|channel|>analysis" * 10_000,
                "<" * 200_000,
                "[" * 200_000,
            ),
            "```python\ndef f(x):\n    return 1\n```</think>\n" * 4_000,
        ],
    ),
)
def test_time_grows_with_the_length(text):
    for read, _, _ in READERS.values():
        with cpu_within(3):
            read(text)
