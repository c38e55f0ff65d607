"""By how much a verdict must lead, against walks that are simulated and summed exactly."""

import random

import pytest

from truegrade.errors import UserError
from truegrade.statistics.error_rates import chance_of_lead, lead_needed


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("lead", [1, 2, 4])
def test_the_chance_of_a_lead_is_what_all_walks_of_many_steps_give(rate, lead):
    """The exact distribution of a walk that ends at the lead; after 400 steps hardly a walk is undecided."""
    places, reached = {0: 1.0}, 0.0
    for _ in range(400):
        after = {}
        for place, chance in places.items():
            for step, probability in ((1, rate), (-1, 1 - rate)):
                after[place + step] = after.get(place + step, 0.0) + chance * probability
        reached += after.pop(lead, 0.0)
        places = after
    assert chance_of_lead(rate, lead) == pytest.approx(reached, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("rate", [0.0, 1e-9, 0.01, 0.2, 0.49])
@pytest.mark.parametrize("level", [0.5, 1e-2, 1e-6])
def test_the_least_lead_is_taken(rate, level):
    lead = lead_needed(rate, level)
    assert chance_of_lead(rate, lead) <= level
    assert lead == 1 or chance_of_lead(rate, lead - 1) > level


def test_nothing_is_told_from_verdicts_that_flip_every_second_time():
    assert lead_needed(0.5, 0.01) is lead_needed(0.9, 0.01) is None
    assert chance_of_lead(0.5, 9) == 1.0
    with pytest.raises(UserError):
        lead_needed(0.1, 0.0)


def test_looking_after_every_verdict_keeps_the_level():
    draw, rate, level = random.Random(5), 0.1, 0.02
    lead = lead_needed(rate, level)
    wrong = 0
    for _ in range(4_000):
        place = 0
        for _ in range(60):
            place += 1 if draw.random() < rate else -1
            if place == lead:
                wrong += 1
                break
    assert wrong / 4_000 <= level
