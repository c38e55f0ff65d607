"""Tests that a grader does not let decide are told by what they have in common, and never by chance."""

from __future__ import annotations

from random import Random

import pytest
from planted_graders import probe

from truegrade.apps.assay.acceptance import Acceptance, GraderVerdicts
from truegrade.apps.assay.paying import by_difference, overlooked
from truegrade.apps.assay.records import Said, Witness
from truegrade.apps.assay.skipped_tests import skipped_in_common

NAMES = ("p000", "p001", "p002", "p003")
TESTS = [
    ("f([])", "0"),
    ("f([4, 1, 7, 2])", "14"),
    ("f([2, 8])", "-10"),
    ("f([3])", "3"),
    ("f([1, 1, 1, 1, 1])", "[]"),
    ("f('a')", "'a'"),
]


def programs(names=NAMES):
    """A program for each test of each problem that is wrong on it alone, and the test's number."""
    for place, name in enumerate(names):
        for number, (call, wanted) in enumerate((*TESTS[place:], *TESTS[:place]), start=1):
            witness = Witness(call=call, expected=wanted, got="9", source="own")
            made = probe(name, "output", f"{number}", origin="wrong-on-one-test", witness=witness,
                         change=f"right on 5 of 6 tests, wrong on test {number}")  # fmt: skip
            yield made, number


@pytest.mark.parametrize(
    "skips, what",
    [
        (lambda call, wanted, number: wanted in ("0", "[]"), "want an empty or false value"),
        (lambda call, wanted, number: wanted not in ("0", "[]"), "want another value than an empty or false one"),
        (lambda call, wanted, number: wanted.startswith("-"), "want a negative number"),
        (lambda call, wanted, number: wanted == "'a'", "want a text"),
        (lambda call, wanted, number: len(call) > 12, "have the longest calls"),
        (lambda call, wanted, number: call == "f([])", "give an empty list or text"),
    ],
)
def test_what_skipped_tests_have_in_common(skips, what):
    sides = {True: [], False: []}
    for made, number in programs():
        sides[skips(made.witness.call, made.witness.expected, number)].append((made, number))
    assert skipped_in_common(sides[True], sides[False]) == what


def test_where_numbers_tell_the_tests_nothing_else_is_named():
    sides = [one for one in programs() if one[1] > 4], [one for one in programs() if one[1] <= 4]
    assert skipped_in_common(*sides) == ""


def test_two_tests_of_one_problem_have_nothing_in_common():
    [first, other, *_] = programs()
    assert skipped_in_common([first], [other]) == skipped_in_common([first], []) == ""


def test_chance_gives_skipped_tests_nothing_in_common():
    found = 0
    for seed in range(200):
        draw, sides = Random(seed), {True: [], False: []}
        for one in programs():
            sides[draw.random() < 0.5].append(one)
        found += skipped_in_common(sides[True], sides[False]) != ""
    assert found <= 4


def test_the_sentence_names_the_tests_and_no_numbers():
    made, verdicts = list(programs()), GraderVerdicts()
    references = [probe(name, "right", 0) for name in NAMES]
    for one in [*references, *(one for one, _ in made)]:
        accepted = one.kind == "right" or one.witness.expected in ("0", "[]")
        verdicts.add(Said(probe=one.id, grader="g", passed=accepted))
    probes = [*references, *(one for one, _ in made)]
    kinds = by_difference(probes, Acceptance(probes, verdicts))
    [(_, said, _)] = overlooked(kinds, lambda accepted, number, kinds: False)
    assert said == (
        "accepts every program that is wrong only on one of the tests that want an empty or false value (8 of 8),"
        " and 0 of 16 other wrong programs"
    )
