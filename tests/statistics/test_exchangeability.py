from itertools import combinations, product

import numpy as np
import pytest

from truegrade.statistics import exchangeability, summaries


def rows(rates, tasks=150, seed=3):
    return (np.random.default_rng(seed).random((tasks, len(rates))) < np.array(rates)).tolist()


def test_cochrans_q_by_hand():
    # Three positions, column totals 3 2 0, row totals 2 2 1 (and one row that cancels out).
    table = [[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]]
    result = exchangeability([[bool(v) for v in row] for row in table])
    assert result.q == pytest.approx(2 * (3 * 13 - 25) / (3 * 5 - 9))
    assert result.rates == (0.75, 0.5, 0.0)
    assert (result.tasks, result.positions) == (4, 3)


def test_permutation_p_is_near_the_exact_one():
    # Every row shows one pass: under the null hypothesis each of 3**4 placements is as likely as any other.
    table = [[True, False, False]] * 4
    exact = 3 / 3**4
    assert exchangeability(table, permutations=20_000).p_value == pytest.approx(exact, abs=0.005)


@pytest.mark.parametrize("totals", [(1, 1, 1, 1), (1, 1), (1, 2, 2, 2, 1, 1), (2, 2, 1)])
def test_shuffles_are_as_likely_as_all_arrangements_of_all_rows(totals):
    # With three positions a row has three arrangements: these rows are drawn together, row by row, or both ways.
    rows = [[place < total for place in range(3)] for total in totals]
    squares = [
        sum((sum(place in chosen for chosen in arranged)) ** 2 for place in range(3))
        for arranged in product(*(combinations(range(3), total) for total in totals))
    ]
    observed = sum(sum(column) ** 2 for column in zip(*rows, strict=True))
    exact = sum(each >= observed for each in squares) / len(squares)
    assert exchangeability(rows, permutations=20_000).p_value == pytest.approx(exact, abs=0.012)


@pytest.mark.parametrize("totals", [(1, 1), (2, 2, 1), (2, 2, 1, 1)])
def test_rows_drawn_together_are_as_likely_as_all_arrangements(totals, monkeypatch):
    alone = placed(totals)
    monkeypatch.setattr(summaries, "_FEWEST_TOGETHER", 0)
    monkeypatch.setattr(summaries, "_MANY_OF_A_TOTAL", 0)
    assert placed(totals) == pytest.approx(alone, abs=0.012)


def placed(totals):
    """The p-value of rows with their passes in front."""
    return exchangeability(
        [[place < total for place in range(3)] for total in totals], permutations=20_000
    ).p_value


def test_many_rows_drawn_together_keep_their_totals_and_spread_as_shuffled_ones():
    totals = np.random.default_rng(1).binomial(30, 0.4, size=300)
    columns = summaries._shuffled_columns(totals, 30, 4_000, np.random.default_rng(0))
    assert (columns.sum(axis=1) == totals.sum()).all()
    spread = (totals / 30 * (1 - totals / 30)).sum()
    assert columns.mean(axis=0) == pytest.approx(totals.sum() / 30, rel=0.01)
    assert columns.var(axis=0) == pytest.approx(spread, rel=0.12)
    pairs = np.cov(columns, rowvar=False)[~np.eye(30, dtype=bool)]
    assert pairs.mean() == pytest.approx(-spread / 29, rel=0.05)


def test_a_better_first_sample_is_found_and_named():
    result = exchangeability(rows([0.9, 0.6, 0.6, 0.6, 0.6]))
    assert result.p_value < 0.01
    assert "sample 0 passes" in result.warning()
    assert "report that mean" in result.warning()


def test_a_worse_later_sample_is_named_too():
    assert "sample 3 passes" in exchangeability(rows([0.8, 0.8, 0.8, 0.4, 0.8])).warning()


def test_alike_samples_give_no_warning_and_seldom_small_p():
    p_values = [exchangeability(rows([0.6] * 5, 60, seed), permutations=200).p_value for seed in range(60)]
    assert sum(p < 0.05 for p in p_values) <= 8
    assert exchangeability(rows([0.6] * 5)).warning() is None


def test_same_seed_same_p():
    table = rows([0.7, 0.6, 0.6])
    assert exchangeability(table, seed=5) == exchangeability(table, seed=5)


def test_undefined_cases_are_none():
    assert exchangeability([]) is None
    assert exchangeability([[True], [False]]) is None
    assert exchangeability([[True, True], [False, False]]) is None


def test_incomplete_tasks_are_left_out():
    assert exchangeability([[True, False], [True, False], [True]]).tasks == 2
