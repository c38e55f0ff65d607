"""Verdicts and marks of predicted outputs, choices and computed inputs."""

import json

import pytest

from truegrade.grading import marks
from truegrade.kinds.execution_choice import grade_choice
from truegrade.kinds.input_prediction import grade_input
from truegrade.kinds.output_prediction import KIND as OUTPUTS
from truegrade.records import Answer, ChoiceTask, InputTask, OutputTask, Pairing, Reason
from truegrade.sandbox import Limits, Sandbox


def output(expected, got, other=None):
    pairing = None if other is None else Pairing(item="r", case=0, shown="mutant", other=other)
    task = OutputTask(program="", function="f", arguments="", expected=expected, pairing=pairing)
    judgement = OUTPUTS.judge(None, task, Answer(value=got, found="", form="answer"), None)
    return judgement.passed, judgement.marks


@pytest.mark.parametrize(
    ("found", "marked"),
    [
        ("block", ()),
        ("equality", ()),
        ("other_call", (marks.OTHER_CALL,)),
        ("other_fn:respelled", (marks.OTHER_CALL,)),
    ],
)
def test_a_value_of_another_call_is_marked(found, marked):
    task = OutputTask(program="", function="f", arguments="2", expected="5")
    assert OUTPUTS.judge(None, task, Answer(value="5", found=found, form="answer"), None).marks == marked
    wrong = OUTPUTS.judge(None, task, Answer(value="6", found=found, form="answer"), None)
    assert (wrong.passed, wrong.marks) == (False, marked)


@pytest.mark.parametrize(
    ("expected", "got", "other", "passed", "found"),
    [
        ("5", "5", None, True, ()),
        ("5", "5", "6", True, ()),
        ("5", "6", "6", False, (marks.REVERTED,)),
        ("5", "6", "6.0", False, (marks.REVERTED,)),
        ("5", "7", "6", False, ()),
        ("5", "5", "5", True, (marks.REVERTED,)),
        ("1", "True", None, True, (marks.TYPES_DIFFER, marks.TEXT_DIFFERS)),
        ("[1, 4.0]", "[1, 4]", None, True, (marks.TYPES_DIFFER, marks.TEXT_DIFFERS)),
        ("0.0", "-0.0", None, True, (marks.TEXT_DIFFERS,)),
        ("{1: 2, 3: 4}", "{3: 4, 1: 2}", None, True, (marks.TEXT_DIFFERS,)),
        ("'a'", '"a"', None, True, ()),
        ("nan", "float('nan')", "inf", True, ()),
        ("set()", "set()", "frozenset()", True, (marks.REVERTED,)),
        ("0.3", "0.30000000000000004", None, False, ()),
    ],
)
def test_marks_of_outputs(expected, got, other, passed, found):
    assert output(expected, got, other) == (passed, found)


PAIR = ChoiceTask(
    programs=("a", "b"), function="f", arguments="1", expected=("5", "6"), original="B", item="r", case=0
)


@pytest.mark.parametrize(
    ("letter", "value", "passed", "found"),
    [
        ("A", "5", True, (marks.CHOSE_A, marks.CHOSE_MUTANT)),
        ("A", "6", False, (marks.CHOSE_A, marks.CHOSE_MUTANT, marks.REVERTED)),
        ("B", "6", True, (marks.CHOSE_B, marks.CHOSE_ORIGINAL)),
        ("B", "5", False, (marks.CHOSE_B, marks.CHOSE_ORIGINAL, marks.REVERTED)),
        ("B", "7", False, (marks.CHOSE_B, marks.CHOSE_ORIGINAL)),
        ("B", "6.0", True, (marks.CHOSE_B, marks.CHOSE_ORIGINAL, marks.TYPES_DIFFER, marks.TEXT_DIFFERS)),
    ],
)
def test_marks_of_choices(letter, value, passed, found):
    answer = Answer(value=json.dumps({"chosen_program": letter, "value": value}), found="", form="answer")
    judgement = grade_choice(PAIR, answer)
    assert (judgement.passed, judgement.marks) == (passed, found)


def test_a_choice_without_a_value_is_wrong_and_a_choice():
    value = json.dumps({"chosen_program": "B", "value": None})
    answer = Answer(value=value, found="unparsable_assertion", reason=Reason.NO_ANSWER, form="answer")
    judgement = grade_choice(PAIR, answer)
    assert (judgement.passed, judgement.reason) == (False, Reason.NO_ANSWER)
    assert judgement.marks == (marks.CHOSE_B, marks.CHOSE_ORIGINAL)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("''.join(['a'] * 3)", Reason.PASSED),
        ("'a' * 2", Reason.WRONG_ANSWER),
        ("k='a' * 3", Reason.PASSED),
        ("table[0] * 3", Reason.PASSED),
        ("'a'.upper(1)", Reason.RUNTIME_ERROR),
        ("type('L', (), {'__len__': lambda s: 3})()", Reason.NOT_LITERAL),
    ],
)
def test_computed_inputs_run_in_the_sandbox(arguments, reason):
    program = "table = ['a']\ndef f(k):\n    return len(k)\n"
    task = InputTask(program=program, function="f", expected="3", reference_arguments="'abc'")
    with Sandbox(Limits(cpu_s=5.0), workers=1, allow_unsafe=True) as sandbox:
        judgement = grade_input(task, Answer(value=arguments, found="", form="answer"), sandbox)
    assert judgement.reason is reason, judgement.detail
