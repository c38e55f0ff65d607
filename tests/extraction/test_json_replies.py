"""Replies that are one JSON object: the one field that holds a program is the answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cpu import cpu_within
from truegrade.extraction.contest_programs import extract_contest_program
from truegrade.extraction.json_replies import texts_of_object
from truegrade.extraction.programs import extract_continuation, extract_program
from truegrade.records import Reason

PROGRAM = 'def f(x):\n    """Doubles "x".\\n"""\n    return 2 * x\n'
OTHER = "def f(x):\n    return x + x\n"
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30), lambda inner: st.lists(inner, max_size=3)
)


@given(NAMES, st.dictionaries(NAMES, VALUES, max_size=4), st.sampled_from((None, 2)), st.booleans())
def test_the_field_with_the_program_is_found_beside_any_others(name, others, indent, fenced):
    reply = json.dumps(others | {name: PROGRAM}, indent=indent)
    answer = extract_program(f"```json\n{reply}\n```" if fenced else reply, "f")
    assert (answer.value, answer.form) == (PROGRAM, "program")
    assert answer.found.startswith(f"field {name!r} of a JSON object > ")


@given(st.text(max_size=60) | st.text('{}[]":,\\n0123e', max_size=60))
def test_no_text_raises_and_only_objects_have_texts(text):
    found = texts_of_object(text)
    assert all(isinstance(value, str) for value in found.values())
    if "{" not in text or "}" not in text:
        assert found == {}


@pytest.mark.parametrize(
    ("reply", "field"),
    [
        ({"reasoning": "Return 2 * x.", "solution": PROGRAM, "tests": ["assert f(1) == 2"]}, "solution"),
        ({"answer": {"language": "python", "code": PROGRAM}}, "answer.code"),
        ({"code": f"```python\n{PROGRAM}```", "notes": "def f(x): is short"}, "code"),
        ({"code": PROGRAM, "final": PROGRAM}, "code"),
    ],
)
def test_the_field_is_named(reply, field):
    answer = extract_program(json.dumps(reply), "f")
    assert answer.value == PROGRAM and answer.found.startswith(f"field {field!r} of a JSON object")


def test_a_line_break_may_stand_in_a_text_as_it_is():
    answer = extract_program('{"code": "def f(x):\n    return 2 * x\n"}', "f")
    assert answer.value == "def f(x):\n    return 2 * x\n"


def test_of_two_programs_none_is_chosen_and_the_fields_are_named():
    answer = extract_program(json.dumps({"draft": OTHER, "final": PROGRAM}), "f")
    assert (answer.value, answer.reason) == (None, Reason.NO_CODE)
    assert answer.found == "several fields of a JSON object hold programs: draft, final"


def test_a_wrong_program_in_a_field_is_graded_as_one():
    answer = extract_program(json.dumps({"code": "def g(x):\n    return x\n", "why": "It is."}), "f")
    assert answer.value == "def g(x):\n    return x\n" and "field 'code'" in answer.found


def test_a_completion_may_be_an_object_too():
    answer = extract_continuation(json.dumps({"code": PROGRAM}), "f", "def f(x):\n")
    assert answer.value == PROGRAM


def test_a_contest_program_in_a_field():
    program = "print(2 * int(input()))\n"
    answer = extract_contest_program(
        json.dumps({"language": "python", "explanation": "Doubles.", "code": program})
    )
    assert answer.value == program and answer.found.startswith("field 'code' of a JSON object > ")
    assert extract_contest_program(json.dumps({"a": program, "b": "print(input())"})).value is None


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps({"text": "hello"}), "{}", "{", '{"code": ', json.dumps([PROGRAM]), json.dumps({"code": 1}),
        "{'code': 'x'}", 'Here it is: {"code": }', json.dumps([{"code": PROGRAM}]),
    ],
)  # fmt: skip
def test_other_replies_hold_no_code(reply):
    assert extract_program(reply, "f").reason is Reason.NO_CODE


OBJECT = json.dumps({"why": "With {braces}.", "code": PROGRAM}, indent=2)


@pytest.mark.parametrize(
    "reply",
    [
        f"Here is my answer: {OBJECT}",
        f"Answer: {OBJECT}",
        f"Here is my answer:\n\n{OBJECT}\nIt doubles x.",
        f"**Answer**\n{OBJECT}",
        f"y = 2 * x, so I return that:\n{OBJECT}",
        f"The set {{x}} is doubled. {OBJECT}",
        f'The input {{"x": "1"}} gives 2:\n{OBJECT}',
        f"Here it is: ```json {OBJECT} ```",
        f'Here it is:\n```json\n{OBJECT}\n```\nand so it prints:\n```json\n{{"x": "2"}}\n```\n',
        f'Draft: {{"code": "def f(x): return x"}}\nBetter:\n{OBJECT}',
        f"{OBJECT}\n\nFrom there it is clear.",
    ],
)
def test_words_may_stand_around_an_object(reply):
    answer = extract_program(reply, "f")
    assert answer.value == PROGRAM and answer.found.startswith("field 'code' of a JSON object > ")
    printing = json.dumps({"code": "print(input())\n"})
    assert extract_contest_program(reply.replace(OBJECT, printing)).value == "print(input())\n"


@pytest.mark.parametrize(
    ("reply", "program"),
    [
        (f"It is called on {OBJECT}\n```python\n{OTHER}```", OTHER),
        (f"```python\n{OTHER}```\nprints\n```json\n{OBJECT}\n```", OTHER),
        (f"Like so:\n\n{OTHER}\nwhich is sent as {OBJECT}", OTHER),
        (f"f = lambda x: {OBJECT}", f"f = lambda x: {OBJECT}"),
        (f"def f(x):\n    yield {OBJECT}\n", f"def f(x):\n    yield {OBJECT}\n"),
    ],
)
def test_code_around_an_object_counts_instead_of_it(reply, program):
    assert extract_program(reply, "f").value.strip() == program.strip()


@pytest.mark.parametrize("body", [f"    return {OBJECT}\n", f"    x = 1\n    yield {OBJECT}\n"])
def test_a_body_may_hold_an_object(body):
    assert extract_program(body, "f", prefix="def f(x):\n").value == body
    assert extract_continuation(body, "f", "def f(x):\n").value == body


def test_a_program_that_prints_json_stays_one():
    program = 'def f(x):\n    return {"code": "def f(x): pass"}\n'
    assert extract_program(program, "f").value == program
    assert extract_program(f"```python\n{program}```", "f").value == program


@pytest.mark.parametrize(
    "reply",
    [
        '{"a":' * 50_000 + "}" * 50_000, json.dumps({str(n): "def f(x" for n in range(20_000)}),
        json.dumps({"code": "x = 1\n" * 100_000}), '{"n": ' + "9" * 100_000 + "}", "{" + " " * 300_000 + "}",
        'a {"' * 100_000, 'a {"": 1} ' * 50_000, "a" + " " * 300_000 + '{"', 'a {"x": ' * 100_000,
    ],
)  # fmt: skip
def test_hostile_objects_cost_little(reply):
    with cpu_within(6):
        extract_program(reply, "f")
        extract_contest_program(reply)


def test_a_field_with_tests_that_import_the_function_is_no_other_program():
    tests = "from solution import f\n\ndef test_f():\n    assert f(1) == 2\n"
    for reply in ({"code": PROGRAM, "tests": tests}, {"tests": tests, "code": PROGRAM}):
        assert extract_program(json.dumps(reply), "f").value == PROGRAM
