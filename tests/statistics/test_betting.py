"""Hedged betting on a bounded mean: bets from the past alone, and coverage at all times at once."""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.statistics.betting import CELLS, bets, confidence_sequence, log_capital

VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def by_hand(values, m, alpha=0.05, population=None):
    """The capital of the paper's equations, one value after the other."""
    up = down = 1.0
    path, seen, total, squares = [], 0, 0.0, 0.25
    for t, y in enumerate(values, 1):
        at = m if population is None else (population * m - total) / (population - t + 1)
        size = sqrt(2 * log(2 / alpha) / (squares / t * t * log(1 + t)))
        up *= 1 + min(size, 0.5 / at) * (y - at)
        down *= 1 - min(size, 0.5 / (1 - at)) * (y - at)
        seen, total = t, total + y
        squares += (y - (0.5 + total) / (seen + 1)) ** 2
        path.append(max(up, down) / 2)
    return path


@pytest.mark.parametrize("population", [None, 9])
def test_the_capital_is_that_of_the_equations(population):
    values = [0.5, 1.0, 0.25, 0.5, 0.75, 0.0]
    found = np.exp(log_capital(values, [0.45], population=population))[:, 0]
    assert found == pytest.approx(by_hand(values, 0.45, population=population))


@given(VALUES, st.floats(0, 1))
def test_a_bet_does_not_know_the_value_that_it_is_on(values, last):
    assert bets(np.array(values), 0.05)[-1] == bets(np.array([*values[:-1], last]), 0.05)[-1]


@given(VALUES, st.floats(0.01, 0.99))
def test_half_of_the_capital_at_least_survives_every_bet(values, mean):
    path = log_capital(values, [mean])[:, 0]
    assert np.diff(path, prepend=-log(2)).min() >= log(0.5) - 1e-9


@settings(max_examples=25, deadline=None)
@given(VALUES)
def test_the_sequence_is_the_means_that_were_never_refuted(values):
    sequence = confidence_sequence(values)
    grid = np.linspace(0, 1, 41)
    never = np.maximum.accumulate(log_capital(values, list(grid)), axis=0)[-1] < log(20)
    for mean in grid[never]:
        assert sequence.low[-1] <= mean <= sequence.high[-1]
    assert sequence.high[-1] - sequence.low[-1] <= max(np.ptp(grid[never]), 0) + 2 * (1 / 40 + 2 / CELLS)
    assert list(sequence.low) == sorted(sequence.low)
    assert list(sequence.high) == sorted(sequence.high, reverse=True)


@pytest.mark.parametrize("mean", [0.02, 0.3, 0.5])
def test_the_true_mean_is_in_it_at_all_times_at_once(mean):
    draws = (np.random.default_rng(5).random((400, 150)) < mean).astype(float)
    missed = sum((log_capital(row, [mean]) >= log(20)).any() for row in draws)
    assert missed / 400 <= 0.05


def test_the_mean_of_a_finite_population_is_in_it_at_all_times_at_once():
    generator = np.random.default_rng(6)
    population = np.array([0.0] * 30 + [0.5] * 60 + [1.0] * 10)
    missed = sum(
        (log_capital(generator.permutation(population), [population.mean()], population=100) >= log(20)).any()
        for _ in range(400)
    )
    assert missed / 400 <= 0.05


def test_all_of_a_finite_population_is_its_mean():
    values = np.random.default_rng(7).permutation([0.0] * 20 + [1.0] * 20)
    sequence = confidence_sequence(values, population=40)
    assert sequence.low[-1] == sequence.high[-1] == 0.5
    assert confidence_sequence(values).low[-1] < 0.4
    assert sequence.high[19] - sequence.low[19] < confidence_sequence(values).high[19]


def test_more_values_make_it_narrower_than_a_bound_of_hoeffding():
    values = (np.random.default_rng(8).random(500) < 0.05).astype(float)
    sequence = confidence_sequence(values)
    assert sequence.high[-1] - sequence.low[-1] < 2 * sqrt(log(2 / 0.05) / (2 * 500))
