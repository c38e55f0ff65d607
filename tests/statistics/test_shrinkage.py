import numpy as np
import pytest

from truegrade.statistics.summaries import intraclass_correlation, shrunken_shares


def test_few_draws_are_drawn_further_towards_the_mean():
    shares = shrunken_shares([1, 18, 3, 9], [1, 20, 20, 20])
    assert 0.9 > shares[1] > shares[0] > 31 / 61 > shares[3] > shares[2] > 0.15
    assert shrunken_shares([1, 0], [2, 0])[1] is None
    assert shrunken_shares([0, 0], [0, 0]) == [None, None]


def test_problems_that_differ_by_chance_alone_get_the_mean():
    assert shrunken_shares([1, 1, 1, 1], [4, 4, 4, 4]) == pytest.approx([0.25] * 4)


def test_all_or_nothing_is_left_as_it_is():
    assert intraclass_correlation([5, 0, 5], [5, 5, 5]) == pytest.approx(1.0)
    assert shrunken_shares([5, 0, 5], [5, 5, 5]) == pytest.approx([1.0, 0.0, 1.0])


def test_single_draws_identify_no_correlation():
    assert intraclass_correlation([1, 0, 1], [1, 1, 1]) is None
    assert shrunken_shares([1, 0], [1, 1]) == pytest.approx([0.75, 0.25])


def test_the_moments_find_the_correlation_and_shrinking_lowers_the_error():
    generator = np.random.default_rng(1)
    truth = generator.beta(0.1 * 4, 0.9 * 4, 2000)  # correlation 1 / (4 + 1)
    draws = generator.integers(2, 12, 2000)
    hits = generator.binomial(draws, truth)
    assert intraclass_correlation(hits.tolist(), draws.tolist()) == pytest.approx(0.2, abs=0.03)
    shrunken = np.array(shrunken_shares(hits.tolist(), draws.tolist()))
    assert np.mean((shrunken - truth) ** 2) < 0.6 * np.mean((hits / draws - truth) ** 2)
