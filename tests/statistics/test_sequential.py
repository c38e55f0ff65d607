"""E-values of discordant problems and the anytime-valid comparison: exact values, level at every look, power."""

from fractions import Fraction
from math import comb, exp, lgamma, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.statistics.sequential import (
    BETTING,
    PAIRS,
    anytime_test,
    bounded,
    log_e_path,
    log_e_value,
    log_e_value_greater,
    seeded_order,
)

COUNTS = st.integers(0, 60)


def beta_integral(wins, losses, start):
    """Integral of x^w (1-x)^l from ``start`` to 1 in whole numbers: the polynomial, term by term."""
    terms = (
        Fraction((-1) ** i * comb(losses, i), wins + i + 1) * (1 - start ** (wins + i + 1))
        for i in range(losses + 1)
    )
    return sum(terms, Fraction(0))


@given(wins=COUNTS, losses=COUNTS)
def test_the_two_sided_e_value_is_that_of_exact_integers(wins, losses):
    exact = 2 ** (wins + losses) * beta_integral(wins, losses, Fraction(0))
    assert exact == Fraction(2 ** (wins + losses), (wins + losses + 1) * comb(wins + losses, wins))
    assert exp(log_e_value(wins, losses)) == pytest.approx(float(exact), rel=1e-9)


@given(wins=st.integers(0, 25), losses=st.integers(0, 25))
def test_the_one_sided_e_value_is_that_of_exact_integers(wins, losses):
    exact = 2 ** (wins + losses + 1) * beta_integral(wins, losses, Fraction(1, 2))
    assert exp(log_e_value_greater(wins, losses)) == pytest.approx(float(exact), rel=1e-9)


@given(wins=COUNTS, losses=COUNTS)
def test_the_two_sides_make_the_whole_and_one_more_pair_is_a_fair_bet(wins, losses):
    both = (exp(log_e_value_greater(wins, losses)) + exp(log_e_value_greater(losses, wins))) / 2
    assert both == pytest.approx(exp(log_e_value(wins, losses)), rel=1e-9)
    after = (exp(log_e_value(wins + 1, losses)) + exp(log_e_value(wins, losses + 1))) / 2
    assert after == pytest.approx(exp(log_e_value(wins, losses)), rel=1e-9)


def test_a_known_value_eight_wins_and_no_loss_decide():
    assert exp(log_e_value(7, 0)) == pytest.approx(16)
    assert exp(log_e_value(8, 0)) == pytest.approx(256 / 9)


def paths(wins):
    """E-values after each pair, of many sequences of wins (rows)."""
    table = np.array([lgamma(i + 1) for i in range(wins.shape[1] + 2)])
    won, pairs = np.cumsum(wins, axis=1), np.arange(1, wins.shape[1] + 1)
    return pairs * log(2) + table[won] + table[pairs - won] - table[pairs + 1]


def test_the_level_holds_at_every_one_of_ten_looks_and_a_naive_test_does_not_keep_it():
    wins = np.random.default_rng(1).integers(0, 2, size=(4000, 400))
    looks = np.arange(39, 400, 40)
    e = paths(wins)
    decided = np.maximum.accumulate(e >= log(20), axis=1)
    rates = decided[:, looks].mean(axis=0)
    assert len(rates) == 10
    assert rates.max() <= 0.05
    z = np.abs(np.cumsum(wins, axis=1) * 2 - np.arange(1, 401)) / np.sqrt(np.arange(1, 401))
    assert (z[:, looks] > 1.96).any(axis=1).mean() > 0.15


def test_the_level_holds_among_the_problems_of_one_benchmark_too():
    """Drawn without replacement from as many wins as losses: the design that only the order is random in."""
    generator = np.random.default_rng(2)
    wins = generator.permuted(np.tile([0, 1], (4000, 60)), axis=1)
    assert (paths(wins) >= log(20)).any(axis=1).mean() <= 0.05


def test_a_clear_difference_is_found_early():
    wins = (np.random.default_rng(3).random((2000, 200)) < 0.8).astype(int)
    decided = paths(wins) >= log(20)
    assert decided.any(axis=1).mean() > 0.99
    assert np.median(decided.argmax(axis=1) + 1) < 40


def test_the_path_of_single_problems_counts_wins_and_losses():
    clusters = [[1.0], [0.0], [-1.0], [1.0]]
    counts = [(1, 0), (1, 0), (1, 1), (2, 1)]
    path = log_e_path(clusters, single=True, largest=1, alpha=0.05)
    assert path == [log_e_value(*each) for each in counts]


def test_a_decided_comparison_says_when_and_keeps_its_decision():
    gains = [[1.0]] * 8 + [[0.0]] * 4 + [[-1.0]] * 8
    test = anytime_test(gains, single=True, sizes=[1] * 30)
    assert test.method == PAIRS
    assert test.decision.problems == 8
    assert test.second_better
    assert test.e == pytest.approx(256 / 9)
    assert test.p_value == pytest.approx(9 / 256)
    assert test.end.problems == 20
    assert test.end.difference == 0
    assert test.problems == 30


def test_nothing_is_decided_without_differences():
    test = anytime_test([[0.0]] * 50, single=True, sizes=[1] * 50)
    assert test.decision is None
    assert test.p_value == 1
    assert test.end.low < 0 < test.end.high
    assert test.end.benchmark_low == pytest.approx(0, abs=0.01)


def test_clusters_of_several_problems_are_bet_on_whole():
    gains = [[0.5, 1.0, 0.5]] * 60
    test = anytime_test(gains, single=False, sizes=[3] * 60)
    assert test.method == BETTING
    assert test.decision is not None
    assert test.decision.problems % 3 == 0
    assert test.end.low > 0
    assert test.end.benchmark_low == pytest.approx(2 / 3, abs=0.01)
    assert bounded(gains[:1], 3) == [0.5 + 2 / 6]


def test_the_level_holds_with_several_samples():
    generator = np.random.default_rng(4)
    decided = 0
    for _ in range(600):
        gains = generator.binomial(4, 0.5, size=(80, 2)) / 4 @ [1, -1]
        path = log_e_path([[gain] for gain in gains], single=False, largest=1, alpha=0.05)
        decided += max(path) >= log(20)
    assert decided / 600 <= 0.05


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=40))
def test_bounds_of_the_benchmark_lie_in_what_is_possible_and_hold_the_difference(gains):
    test = anytime_test([[gain] for gain in gains], single=True, sizes=[1] * len(gains))
    mean = sum(gains) / len(gains)
    assert test.end.benchmark_low - 1e-9 <= mean <= test.end.benchmark_high + 1e-9
    assert -1 <= test.end.low <= test.end.high <= 1
    assert 0 < test.p_value <= 1


def test_the_order_hangs_on_names_and_seed_alone():
    names = [f"task/{place}" for place in range(50)]
    assert seeded_order(names, 0) == seeded_order(reversed(names), 0)
    assert seeded_order(names, 0) != seeded_order(names, 1)
    assert sorted(seeded_order(names, 0)) == sorted(names)
    kept = [name for name in seeded_order(names, 0) if name != names[7]]
    assert kept == seeded_order([name for name in names if name != names[7]], 0)
