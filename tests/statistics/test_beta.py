from math import comb

import pytest

from truegrade.errors import UserError
from truegrade.statistics.intervals import beta_cdf, beta_quantile, binomial_tail, clopper_pearson


def exact_tail(k, n, p):
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


def test_clopper_pearson_known_values():
    # R 4.3, binom.test.
    assert clopper_pearson(0, 10) == (0.0, pytest.approx(0.3084971, abs=1e-7))
    assert clopper_pearson(1, 10) == pytest.approx((0.002528579, 0.445016117), abs=1e-8)
    assert clopper_pearson(5, 10) == pytest.approx((0.1870860, 0.8129140), abs=1e-7)
    assert clopper_pearson(10, 10) == (pytest.approx(0.6915029, abs=1e-7), 1.0)


@pytest.mark.parametrize(("k", "n"), [(1, 3), (7, 30), (81, 263), (399, 400)])
def test_clopper_pearson_ends_leave_the_tails_of_the_binomial(k, n):
    low, high = clopper_pearson(k, n, 0.9)
    assert exact_tail(k, n, low) == pytest.approx(0.05, rel=1e-9)
    assert 1 - exact_tail(k + 1, n, high) == pytest.approx(0.05, rel=1e-9)


def test_the_tail_is_the_sum_of_the_binomial():
    for k, n, p in [(1, 1, 0.2), (3, 6, 0.2), (6, 6, 0.5), (30, 40, 0.7)]:
        assert binomial_tail(k, n, p) == pytest.approx(exact_tail(k, n, p), rel=1e-12)
    assert binomial_tail(0, 5, 0.2) == 1.0


def test_the_beta_distribution_in_closed_form():
    assert beta_cdf(0.3, 1, 1) == pytest.approx(0.3)
    assert beta_cdf(0.3, 2, 1) == pytest.approx(0.09)
    assert beta_cdf(0.3, 1, 2) == pytest.approx(0.51)
    # The arcsine distribution.
    assert beta_cdf(0.25, 0.5, 0.5) == pytest.approx(1 / 3)
    assert beta_cdf(0.0, 2, 3) == 0.0
    assert beta_cdf(1.0, 2, 3) == 1.0
    assert beta_quantile(0.09, 2, 1) == pytest.approx(0.3)


def test_impossible_counts_are_refused():
    for bad in [(0, 0), (-1, 3), (4, 3)]:
        with pytest.raises(UserError, match="has no interval"):
            clopper_pearson(*bad)
