"""Choices: every way of writing the object, and nothing that only looks like one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from value_strategies import values

from support.cpu import cpu_within
from support.thorough import one_in
from truegrade.extraction.choices import extract_choice, extract_choice_answer
from truegrade.grading.literals import compare
from truegrade.records import Reason


def choice(reply):
    answer = extract_choice(reply, "f", "1")
    if answer.value is None:
        return None, answer.found
    fields = json.loads(answer.value)
    assert list(fields) == ["chosen_program", "value"]
    return fields["chosen_program"], fields["value"]


def obj(letter="A", assertion="assert f(1) == 5"):
    return json.dumps({"chosen_program": letter, "assertion": assertion})


NO_VALUE = '{"chosen_program":"A","value":null}'
LIMIT = "the value is nested deeper than 200"
FORMAT = '{\n  "chosen_program": "A or B",\n  "assertion": "full_assertion"\n}'


@pytest.mark.parametrize(
    ("reply", "letter", "value"),
    [
        (obj(), "A", "5"),
        (f"I choose A, it's simpler.\n```json\n{obj()}\n```", "A", "5"),
        (obj("b"), "B", "5"),
        (obj("Program A"), "A", "5"),
        (obj("program_b"), "B", "5"),
        (obj("[PROGRAM_B]"), "B", "5"),
        ('{"assertion": "assert f(1) == 5", "chosen_program": "B"}', "B", "5"),
        (obj("A", "assert f(1) == {'a': {1: '}'}}"), "A", "{'a': {1: '}'}}"),
        (obj("A", "assert f(1) == {1, 2}"), "A", "{1, 2}"),
        (obj("A", "assert f(1) == '{'"), "A", "'{'"),
        (obj("A", "f(1) == 5"), "A", "5"),
        (obj("A", "5"), "A", "5"),
        (obj("A", 5), "A", "5"),
        (obj("A", [1, None]), "A", "[1, None]"),
        (obj("A", "```python\nassert f(1) == 5\n```"), "A", "5"),
        ("{'chosen_program': 'A', 'assertion': \"assert f(1) == 'x'\"}", "A", "'x'"),
        (r"""{"chosen_program": "B", "assertion": "assert f(1) == \'x\'"}""", "B", "'x'"),
        ('{"chosen_program": "A", "assertion": "assert f(1) == "x""}', "A", '"x"'),
        ('{"chosen_program": A, "assertion": assert f(1) == {1: 2}}', "A", "{1: 2}"),
        ('{"chosen_program": "A",\n"assertion": "assert f(1) == [1,\n2]"}', "A", "[1,\n2]"),
        ('{"chosen_program": "A", "assertion": "assert f(1) == 5', "A", "5"),
        ("chosen_program: B\nassertion: assert f(1) == 5", "B", "5"),
        ("{{\n" + '"chosen_program": "A", "assertion": "assert f(1) == 5"' + "\n}}", "A", "5"),
        ('{"answer": {"chosen_program": "A", "assertion": "assert f(1) == 5"}}', "A", "5"),
        (obj("A", "assert f(1) == 4") + " Wait. " + obj("B", "assert f(1) == 5"), "B", "5"),
        (FORMAT + "\nis the format, so:\n" + obj("B"), "B", "5"),
        (obj("B") + "\nas asked: " + FORMAT, "B", "5"),
        (obj("B") + "\n(from " + obj("A", "assert f(1) == ??") + ")", "B", "5"),
        ("<think>" + obj("A", "assert f(1) == 4") + "</think>" + obj("B"), "B", "5"),
        ("analysis " + obj("A", "assert f(1) == 4") + "assistantfinal" + obj("B"), "B", "5"),
        ("{" * 15 + obj(), "A", "5"),
        (obj("A", "assert f(2) == 4\nassert f(1) == 5"), "A", "5"),
    ],
)
def test_accepted(reply, letter, value):
    assert choice(reply) == (letter, value)


@pytest.mark.parametrize(
    ("reply", "found", "reason"),
    [
        ("", "no_choice", Reason.NO_ANSWER),
        ("Program A returns 5: assert f(1) == 5", "no_choice", Reason.NO_ANSWER),
        ('{"assertion": "assert f(1) == 5"}', "no_choice", Reason.NO_ANSWER),
        (obj("A or B"), "bad_letter", Reason.NO_ANSWER),
        (FORMAT, "bad_letter", Reason.NO_ANSWER),
        (obj("C"), "bad_letter", Reason.NO_ANSWER),
        (obj("AB"), "bad_letter", Reason.NO_ANSWER),
        (obj(None), "bad_letter", Reason.NO_ANSWER),
        (obj(["A"]), "bad_letter", Reason.NO_ANSWER),
        ("<think>" + obj(), "thinking", Reason.TRUNCATED),
    ],
)
def test_refused_with_a_reason(reply, found, reason):
    answer = extract_choice(reply, "f", "1")
    assert (answer.value, answer.found, answer.reason) == (None, found, reason)


@pytest.mark.parametrize(
    ("reply", "found", "reason"),
    [
        ('{"chosen_program": "A"}', "unparsable_assertion", Reason.NO_ANSWER),
        (obj("A", "f(1) raises TypeError"), "unparsable_assertion", Reason.NO_ANSWER),
        (obj("A", "assert f(1) raises ValueError"), "unparsable_assertion", Reason.NO_ANSWER),
        (obj("A", ""), "unparsable_assertion", Reason.NO_ANSWER),
        (obj("A", "assert f(1) == [0] + [1]"), "not_literal", Reason.NOT_LITERAL),
        (obj("A", "assert f(1) == 0 or 1"), "not_literal", Reason.NOT_LITERAL),
        (obj("A", "assert f(1) == f(1)"), "not_literal", Reason.NOT_LITERAL),
        (obj("A", "assert f(1) == " + "[" * 250 + "]" * 250), LIMIT, Reason.EXTRACTION_LIMIT),
    ],
)
def test_a_choice_without_a_value_counts_as_the_choice_that_it_is(reply, found, reason):
    answer = extract_choice(reply, "f", "1")
    assert (answer.value, answer.found, answer.reason) == (NO_VALUE, found, reason)


@pytest.mark.parametrize(
    ("last", "letter", "value"),
    [
        (obj("B", "assert f(1) == 6"), "B", "6"),
        (obj("A", "assert f(1) == [2, 2 + 3]"), "A", None),
        (obj("A", "assert f(1) == [2, 5"), "A", None),
        (obj("A", "assert f(1) raises TypeError"), "A", None),
        (obj("A", "assert f(1) == ??"), "A", None),
        (obj("A", "??"), "A", None),
        (obj("A", ""), "A", None),
        (obj("A", None), "A", None),
        ('{"chosen_program": "B"}', "B", None),
        ('{"chosen_program": "B"', "B", None),
        ('{"chosen_program": "B", "assertion": "assert f(1) == [2,', "B", None),
        (obj("A", f"assert f(1) == 5{'; assert f(1) == 2 + 3'}"), "A", None),
        (FORMAT, "A", "5"),
        (obj("A or B", "assert f(1) == ??"), "A", "5"),
        ('{"chosen_program": chosen_program_letter, "assertion": full_assertion}', "A", "5"),
        ("The chosen_program is B.", "A", "5"),
        ('"chosen_program": "B" would be wrong', "A", "5"),
    ],
)
def test_the_last_choice_decides_whatever_its_assertion_says(last, letter, value):
    assert choice(f"{obj()}\nNo wait, that is wrong.\n{last}") == (letter, value)


def test_a_choice_whose_assertion_is_about_another_call_says_so():
    assert extract_choice(obj("A", "assert f(2) == 5"), "f", "1").found == "object:other_call"
    assert extract_choice(obj("A", "assert g(1) == 5"), "f", "1").found == "object:other_fn"
    assert extract_choice(obj(), "f", "1").found == "object"


def test_a_value_of_a_choice_may_quote_a_marker():
    for quoted in ("'a</think>b'", '"assistantfinal"'):
        for written in (obj("A", f"assert f(1) == {quoted}"), repr({"chosen_program": "A", "assertion": quoted})):
            assert choice(f"B?</think>{written}") == ("A", quoted)


PROSE = st.sampled_from(["", "It's {simple}: ", "```json\n", f"{FORMAT}\n", "Neither is 'A' } nor {", '"'])


@given(value=values(), letter=st.sampled_from("AB"), before=PROSE, after=PROSE, python=st.booleans())
def test_any_value_survives_json_and_python(value, letter, before, after, python):
    fields = {"chosen_program": letter, "assertion": f"assert f(1) == {value!r}"}
    written = repr(fields) if python else json.dumps(fields)
    chosen, predicted = choice(f"{before}\n{written}\n{after}")
    assert chosen == letter
    assert compare(repr(value), predicted).repr_exact


@given(st.text(alphabet="{}[]()'\"\\:,AB chosen_program assertion=\n", max_size=200))
def test_no_text_raises(text):
    answer = extract_choice("chosen_program" + text, "f", "1")
    assert (answer.value in {None, NO_VALUE, NO_VALUE.replace("A", "B")}) == (answer.reason is not None)


def test_the_canonical_answer_reads_as_itself():
    canonical = extract_choice(obj("B", "assert f(1) == {1: 'ä'}"), "f", "1").value
    assert extract_choice_answer(canonical).value == canonical
    assert extract_choice_answer("5").found == "no_choice"
    assert extract_choice_answer("\ud800").found == "no_choice"
    assert extract_choice_answer('{"chosen_program":"C","value":"5"}').found == "no_choice"
    without = extract_choice_answer('{"chosen_program":"A","value":"f(1)"}')
    assert (without.value, without.reason) == (NO_VALUE, Reason.NOT_LITERAL)
    assert extract_choice_answer(NO_VALUE).value == NO_VALUE


HOSTILE = {
    "10 MB value": '{"chosen_program": "A", "assertion": "assert f(1) == [' + "1," * 5_000_000 + ']"}',
    "brackets": '{"chosen_program": "A", "assertion": "assert f(1) == ' + "[" * 100_000 + '"}',
    "bare brackets": '{"chosen_program": "A", "assertion": ' + "[" * 100_000 + "}",
    "braces": "{" * 1_000_000 + "chosen_program" + "}" * 1_000_000,
    "mentions": '{"chosen_program": ' * 50_000,
    "objects": obj() * 20_000,
    "open objects": '{"chosen_program": "A", "assertion": "' * 20_000,
    "backslashes": '{"chosen_program": "A", "assertion": "' + "\\" * 1_000_000 + '"}',
    "long number": '{"chosen_program": "A", "assertion": ' + "1" * 90_000 + "}",
    "null byte": '{"chosen_program": "A", "assertion": "assert f(1) == \0"}',
    "surrogate": '{"chosen_program": "A", "assertion": "assert f(1) == \ud800"}',
}


@pytest.mark.parametrize("kind", one_in(5, HOSTILE))
def test_hostile_text_ends_soon(kind):
    with cpu_within(5):
        answer = extract_choice(HOSTILE[kind], "f", "1")
    assert (answer.value in {None, NO_VALUE}) == (answer.reason is not None)
