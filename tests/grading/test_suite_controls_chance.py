"""A part of ``python -m bench suite_controls``: guessers pass control runs as often as their chance says."""

import random

import pytest

from bench import suite_controls


@pytest.mark.parametrize(("d", "m"), [(1, 1), (1, 3), (2, 2), (4, 1)])
def test_guessers_pass_as_often_as_the_chance_says(d, m):
    p = suite_controls.claimed(d, m)
    assert p == (m + 1.0) ** -d
    passed = suite_controls.passing(d, m, 2000, random.Random(1), random.Random(2))
    assert all(suite_controls.within(one, 2000, p) for one in passed), passed


def test_the_bounds_tell_a_doubled_chance():
    assert (
        suite_controls.within(500, 2000, 0.25)
        and not suite_controls.within(1000, 2000, 0.25)
        and not suite_controls.within(250, 2000, 0.25)
    )
