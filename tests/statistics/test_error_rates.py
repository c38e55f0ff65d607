from math import sqrt

import numpy as np
import pytest

from truegrade.statistics import cluster_interval, wilson
from truegrade.statistics.error_rates import (
    FPR,
    FPR_UPPER,
    TPR,
    GraderCount,
    accepted_span,
    error_ratios,
    j_bootstrap_span,
    j_span,
    ppv,
    ppv_span,
    rogan_gladen,
)
from truegrade.statistics.ratios import Ratios, Share, spread


def count(place, right, wrong, undecided=0, cluster=None):
    """``right`` and ``wrong`` are (accepted, programs)."""
    return GraderCount(
        problem_id=f"p{place}",
        cluster=cluster or f"p{place}",
        right=right[1],
        right_accepted=right[0],
        wrong=wrong[1],
        wrong_accepted=wrong[0],
        undecided_accepted=undecided,
    )


@pytest.fixture
def counts():
    generator = np.random.default_rng(5)
    return [
        count(i, (int(generator.binomial(5, 0.9)), 5), (int(generator.binomial(4, 0.3)), 4), cluster=f"q{i // 2}")
        for i in range(40)
    ]


def test_a_share_alone_is_the_cluster_interval(counts):
    accepted, wrong = [c.wrong_accepted for c in counts], [c.wrong for c in counts]
    known = cluster_interval(accepted, wrong, [c.cluster for c in counts], wrong)
    span = accepted_span(counts)
    assert (span.low, span.high) == pytest.approx((known.low, known.high), abs=1e-12)
    assert span.value == sum(accepted) / sum(wrong)
    assert span.method == known.method


def test_all_zero_has_the_bound_of_the_interval():
    span = accepted_span([count(i, (1, 1), (0, 5)) for i in range(20)])
    assert (span.value, span.low) == (0.0, 0.0)
    assert span.high == pytest.approx(wilson(0, 20)[1])
    assert accepted_span([count(0, (1, 1), (0, 0))]) is None
    single = accepted_span([count(0, (1, 1), (1, 5))])
    assert (single.low, single.high) == (None, None)


def test_the_covariance_is_that_of_resampled_problems(counts):
    ratios = error_ratios(counts)
    draws = ratios.resampled(20_000, seed=1)
    known = np.cov(draws)
    assert ratios.covariance == pytest.approx(known, abs=0.15 * float(ratios.covariance[FPR, FPR]))


def test_equal_verdicts_on_right_and_wrong_programs_leave_no_variance_of_j():
    """A problem whose tests accept everything and one whose tests refuse everything: J is 0 whatever is drawn."""
    ratios = error_ratios([count(i, (5 * (i % 2), 5), (5 * (i % 2), 5)) for i in range(30)])
    assert ratios.correlation(TPR, FPR) == pytest.approx(1.0)
    span = j_span(ratios)
    assert span.value == 0.0
    assert (span.low, span.high) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_j_of_a_faultless_grader_keeps_a_width_where_the_bootstrap_has_none():
    ratios = error_ratios([count(i, (5, 5), (0, 5)) for i in range(20)])
    span, bootstrap = j_span(ratios), j_bootstrap_span(ratios)
    edge = wilson(0, 20)[1]
    assert (span.value, span.high) == (1.0, 1.0)
    assert span.low == pytest.approx(1 - sqrt(2) * edge)
    assert (bootstrap.low, bootstrap.high) == (1.0, 1.0)


def test_mover_is_the_delta_method_for_symmetric_intervals():
    bounds = [(0.4, 0.6), (0.1, 0.3)]
    for side in (-1, 1):
        assert spread((1, -1), (0.5, 0.2), bounds, lambda i, j: 0.5, side) == pytest.approx(0.1)
        assert spread((1, 1), (0.5, 0.2), bounds, lambda i, j: 0.0, side) == pytest.approx(0.1 * sqrt(2))


def test_undecided_programs_widen_upwards_only_and_j_downwards_only(counts):
    also = [
        count(i, (c.right_accepted, 5), (c.wrong_accepted, c.wrong), i % 2, c.cluster)
        for i, c in enumerate(counts)
    ]
    without = [
        count(i, (c.right_accepted, 5), (c.wrong_accepted, c.wrong), 0, c.cluster) for i, c in enumerate(counts)
    ]
    span, plain = accepted_span(also), accepted_span(without)
    upper = sum(c.wrong_accepted + c.undecided_accepted for c in also) / sum(
        c.wrong + c.undecided_accepted for c in also
    )
    assert span.value == plain.value
    assert span.high > upper > span.value
    # One-sided towards each bound: the lower end is a little nearer than without undecided programs.
    assert plain.low < span.low < span.value
    ratios = error_ratios(also)
    assert ratios.values[FPR_UPPER] == pytest.approx(upper)
    j = j_span(ratios)
    assert j.low < ratios.values[TPR] - upper < j.value == ratios.values[TPR] - ratios.values[FPR]
    bootstrap = j_bootstrap_span(ratios)
    assert bootstrap.low == pytest.approx(j.low, abs=0.03)


def test_the_worth_of_an_accepted_program():
    assert ppv(1.0, 0.113, 0.5) == pytest.approx(0.898, abs=5e-4)
    assert ppv(1.0, 0.113, 0.1) == pytest.approx(0.496, abs=5e-4)
    assert ppv(0.0, 0.0, 0.5) is None


def test_the_worth_has_an_interval_also_without_an_error(counts):
    span = ppv_span(error_ratios(counts), 0.5)
    ratios = error_ratios(counts)
    draws = ratios.resampled(4000, seed=1)
    known = np.quantile(draws[TPR] / (draws[TPR] + draws[FPR]), (0.025, 0.975))
    assert span.value == pytest.approx(ppv(ratios.values[TPR], ratios.values[FPR], 0.5))
    assert (span.low, span.high) == pytest.approx(tuple(known), abs=0.02)
    faultless = ppv_span(error_ratios([count(i, (5, 5), (0, 5)) for i in range(20)]), 0.5)
    assert faultless.value == faultless.high == 1.0
    assert 0.8 < faultless.low < 0.9


def test_the_share_that_a_pass_rate_stands_for():
    assert rogan_gladen(0.7, 0.9, 0.1) == pytest.approx(0.75)
    assert accepted_span([GraderCount(problem_id="a", cluster="a", wrong=1)], right=True) is None


def test_no_right_or_no_wrong_programs_give_no_rates():
    assert error_ratios([count(0, (1, 1), (0, 0)), count(1, (1, 1), (0, 0))]) is None
    assert error_ratios([count(0, (0, 0), (0, 1))]) is None


def test_a_resample_without_the_share_is_nan():
    ratios = Ratios([Share([1, 0], [1, 0], [1, 0])], ["a", "b"])
    assert np.isnan(ratios.at(np.array([[0.0, 2.0]]))).all()
