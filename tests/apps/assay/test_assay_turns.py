"""Replies of several messages: which message a grader judges is told, unless it is the due one."""

from __future__ import annotations

import msgspec
import pytest
from planted_graders import problem
from targets_support import jailed
from test_assay_batches import assayed, battery, said_alone

from truegrade.apps.assay.batches import BatchSaid
from truegrade.apps.assay.reporting.words import answer
from truegrade.apps.assay.turns import DUE, READINGS, SHAPES, TALK, measure_turns, plan_turns, turns_in_words

__all__ = ["assayed"]


def test_nothing_is_sent_about_problems_of_which_every_stub_is_paid():
    probes = battery(3)
    known = {one.problem_id: problem(one.problem_id) for one in probes}
    assert plan_turns(probes, known, said_alone(probes, all_accepted=True)) == []


def judged(accepts, problems=3):
    """What is concluded of a grader that accepts messages so; None for no verdict."""
    probes = battery(problems)
    known = {one.problem_id: problem(one.problem_id) for one in probes}
    talk = plan_turns(probes, known, said_alone(probes))
    assert len(talk) == 3 * len(SHAPES) and all(len(batch) == 1 for batch in talk)
    said = []
    for place, (one,) in enumerate(talk):
        verdict = accepts(one.item.turns)
        given = {"detail": "grader_raised: ValueError"} if verdict is None else {"scores": (float(verdict),)}
        said.append(BatchSaid(grader="g", talk=TALK, place=place, items=(one.item,), **given))
    return measure_turns(said, lambda _, score: score >= 1)


@pytest.mark.parametrize("name", READINGS)
def test_each_reading_is_told_from_all_others(name):
    found = judged(READINGS[name])
    assert (found.cause, found.as_due) == (name, name == DUE)
    assert (turns_in_words(found) == "") == (name == DUE)


def test_what_nobody_but_a_tool_solved_is_counted():
    found = judged(READINGS["judges the last message alone, whoever wrote it"])
    assert (found.of_others, found.of_others_paid, found.right, found.refused) == (15, 9, 24, 9)
    assert "9 of 15 right programs of a tool or a user alone are accepted" in turns_in_words(found)


def test_no_rule_is_named_where_none_fits_or_nothing_was_said():
    unknown = judged(lambda turns: len(turns) == 2)
    assert unknown.cause == "" and "by no rule that is known here" in turns_in_words(unknown)
    silent = judged(lambda turns: None if len(turns) > 1 else True)
    said = "of replies with several messages 48 got no verdict (grader_raised: ValueError)"
    assert (silent.cause, turns_in_words(silent)) == ("", said)


def test_where_the_shape_does_not_decide_it_is_said_how_many_get_another_verdict():
    asked = iter(range(3 * len(SHAPES)))
    due = READINGS[DUE]
    found = judged(lambda turns: due(turns) is (len(turns) == 1 or next(asked) % 12 > 0))
    assert not found.steady and found.cause == "" and found.otherwise == 4
    assert turns_in_words(found) == (
        "4 of 48 replies with several messages get another verdict than the model's last program does alone"
    )
    assert turns_in_words(judged(due)) == ""


def test_nothing_is_measured_of_graders_of_one_text():
    assert measure_turns([], lambda _, score: True) is None and turns_in_words(None) == ""


def test_a_bonus_for_one_message_is_no_other_reading():
    """Right replies of several messages get less than single ones, and more than all wrong ones."""
    probes = battery(3)
    known = {one.problem_id: problem(one.problem_id) for one in probes}
    said = []
    for place, (one,) in enumerate(plan_turns(probes, known, said_alone(probes))):
        score = 1.0 * READINGS[DUE](one.item.turns) + 0.1 * (len(one.item.turns) == 1)
        said.append(BatchSaid(grader="g", talk=TALK, place=place, items=(one.item,), scores=(score,)))
    found = measure_turns(said, lambda _, score: score >= 1.1)
    assert found.as_due and turns_in_words(found) == ""
    said[8] = msgspec.structs.replace(said[8], scores=(-0.5,))  # a right one below wrong ones
    assert turns_in_words(measure_turns(said, lambda _, score: score >= 1.1))


@jailed
def test_a_real_reward_that_judges_the_last_message_is_told(assayed):
    (found,) = assayed("sound", call="trl").measures
    assert "of replies with several messages it judges the last message alone, whoever wrote it" in answer(found)
    assert not found.forgeable and found.batches.cause == ""
