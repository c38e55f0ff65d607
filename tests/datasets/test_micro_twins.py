"""Pairs of repairs one word of the specification apart: one buggy program, and an answer for each."""

import random

import pytest

from truegrade.builders.micro.interpreter import outcome
from truegrade.builders.micro.repair_rows import function_of
from truegrade.builders.micro.twins import CODE_WORDS, draw_twins

PAIRS = 60


@pytest.fixture(scope="module", params=[0.0, 0.6])
def drawn(request):
    return request.param, draw_twins(random.Random(4), PAIRS, request.param)


def said(source, calls):
    return tuple(outcome(function_of(source), arguments) for arguments in calls)


def test_each_answer_is_right_for_its_own_item_alone(drawn):
    for pair in drawn[1]:
        for item, other in ((pair.first, pair.second), (pair.second, pair.first)):
            assert said(item.program.source, item.calls) == item.expected
            assert said(other.program.source, item.calls) != item.expected
            assert said(item.buggy, item.calls) not in {item.expected, other.expected}


def test_the_prompts_differ_in_the_name_alone(drawn):
    for pair in drawn[1]:
        first, second = pair.first, pair.second
        assert first.program.name != second.program.name
        assert first.buggy.replace(first.program.name, second.program.name) == second.buggy
        lines = zip(first.program.source.split("\n")[1:], second.program.source.split("\n")[1:], strict=True)
        assert sum(one != other for one, other in lines) == 1
        assert first.calls == second.calls


def test_hidden_pairs_have_words_without_a_meaning_where_their_names_differ(drawn):
    share, pairs = drawn
    assert sum(pair.hidden for pair in pairs) == round(share * PAIRS)
    for pair in pairs:
        for item in (pair.first, pair.second):
            assert (len(set(item.program.name.split("_")) & set(CODE_WORDS)) == 2) is pair.hidden


def test_pairs_share_no_program_with_each_other_nor_with_those_that_are_known(drawn):
    _, pairs = drawn
    programs = [program for pair in pairs for program in pair.programs]
    assert len(set(programs)) == 2 * PAIRS
    others = draw_twins(random.Random(4), PAIRS, known=frozenset(programs))
    assert not {program for pair in others for program in pair.programs} & set(programs)


def test_the_same_seed_draws_the_same_pairs():
    assert draw_twins(random.Random(9), 5, 0.4) == draw_twins(random.Random(9), 5, 0.4)
