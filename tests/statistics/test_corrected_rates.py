import numpy as np
import pytest

from truegrade.statistics.corrected_rates import (
    at_odds,
    correctable,
    corrected_bootstrap_span,
    corrected_span,
    covariance_reach,
    odds_band,
    odds_ratio,
    odds_ratio_span,
    rogan_gladen,
    stratified_span,
    turning_odds,
)
from truegrade.statistics.error_rates import GraderCount, accepted_span, error_ratios
from truegrade.statistics.mover import spread
from truegrade.statistics.ratios import Ratios, Share


def ratios_of(rows, passes, undecided=0):
    """Rows are (right accepted, right, wrong accepted, wrong) of problems, passes those of single samples."""
    counts = [
        GraderCount(
            problem_id=str(i),
            cluster=str(i),
            right_accepted=row[0],
            right=row[1],
            wrong_accepted=row[2],
            wrong=row[3],
            undecided_accepted=undecided,
        )
        for i, row in enumerate(rows)
    ]
    return error_ratios(counts, Share(passes, [1] * len(rows), [1] * len(rows)))


@pytest.fixture
def ratios():
    generator = np.random.default_rng(2)
    rows = [(int(generator.binomial(8, 0.9)), 8, int(generator.binomial(8, 0.2)), 8) for _ in range(150)]
    return ratios_of(rows, generator.binomial(1, 0.6, 150).tolist())


def test_the_corrected_rate():
    assert rogan_gladen(0.55, 0.9, 0.2) == pytest.approx(0.5)
    assert rogan_gladen(0.1, 0.9, 0.2) < 0


def test_the_interval_is_close_to_the_bootstrap_where_all_are_good(ratios):
    span, bootstrap = corrected_span(ratios), corrected_bootstrap_span(ratios)
    assert span.value == pytest.approx(rogan_gladen(ratios.values[3], ratios.values[0], ratios.values[1]))
    assert (span.low, span.high) == pytest.approx((bootstrap.low, bootstrap.high), abs=0.012)


def test_at_an_end_the_weighted_shares_are_just_as_far_from_0_as_their_interval(ratios):
    span = corrected_span(ratios)
    places = (3, 0, 1)
    bounds = [ratios.bounds(place, ratios.z) for place in places]
    for t, side in ((span.low, -1), (span.high, 1)):
        weights = (1.0, -t, t - 1.0)
        middle = sum(w * ratios.values[p] for w, p in zip(weights, places, strict=True))
        width = spread(weights, [ratios.values[p] for p in places], bounds, lambda i, j: ratios.correlation(
            places[i], places[j]), side)  # fmt: skip
        assert middle + side * width == pytest.approx(0.0, abs=1e-9)


def test_a_faultless_grader_leaves_the_raw_rate_with_a_wider_interval():
    passes = [1] * 12 + [0] * 8
    faultless = ratios_of([(5, 5, 0, 5)] * 20, passes)
    span = corrected_span(faultless)
    raw = faultless.bounds(3, faultless.z)
    assert span.value == pytest.approx(0.6)
    assert span.low < raw[0] < raw[1] < span.high


def test_a_rate_below_the_fpr_is_cut_at_0():
    span = corrected_span(ratios_of([(5, 5, 2, 5)] * 40, [1] * 4 + [0] * 36))
    assert span.value == span.low == 0.0
    assert 0.1 < span.high < 0.6
    above = corrected_span(ratios_of([(4, 5, 0, 5)] * 40, [1] * 38 + [0] * 2))
    assert above.value == above.high == 1.0
    assert 0.7 < above.low < 0.95


def test_undecided_programs_lower_the_lower_end_only():
    rows = [(8, 8, i % 3, 8) for i in range(120)]
    passes = [int(i % 10 < 6) for i in range(120)]
    without, among = corrected_span(ratios_of(rows, passes)), corrected_span(ratios_of(rows, passes, 2))
    assert among.value == without.value
    assert among.low < without.low - 0.05
    # Imbens and Manski's critical value is below the two-sided one.
    assert without.value < among.high < without.high


def test_no_correction_where_j_may_be_0():
    assert not correctable(ratios_of([(3, 5, 2, 5), (2, 5, 3, 5)] * 10, [1, 0] * 10))
    assert not correctable(ratios_of([(5, 5, 0, 5)], [1]))


def test_strata_repair_what_covariance_spoils():
    """Hard problems are solved less often, and graded less strictly: mean error rates correct too little."""
    easy = ratios_of([(5, 5, 0, 10)] * 300, [1] * 200 + [0] * 100)
    hard_rows, hard_passes = [(5, 5, 3, 10)] * 300, [1] * 160 + [0] * 140
    hard = ratios_of(hard_rows, hard_passes)
    together = ratios_of([(5, 5, 0, 10)] * 300 + hard_rows, [1] * 200 + [0] * 100 + hard_passes)
    truth = (2 / 3 + 1 / 3) / 2
    assert corrected_span(together).value == pytest.approx(truth + 0.025 / 0.85, abs=0.001)
    by_strata = stratified_span([(0.5, easy), (0.5, hard)])
    assert by_strata.value == pytest.approx(truth, abs=0.001)
    assert by_strata.low < truth < by_strata.high
    # t is 2/3 or 1/3, J is 1 or 0.7: the bound on the covariance is met exactly.
    assert covariance_reach(0.85, 1 / 6, 0.15) == pytest.approx(0.025 / 0.85)


def test_odds():
    assert at_odds(0.2, 1.0) == pytest.approx(0.2)
    assert at_odds(0.2, 4.0) == pytest.approx(0.5)
    assert at_odds(0.0, 4.0) == 0.0
    assert odds_ratio(0.5, 0.2) == pytest.approx(4.0)
    assert odds_ratio(1.0, 0.2) is None
    assert odds_band(0.6, 1.0, 0.2, 1.0) == pytest.approx((0.5, 0.5))
    assert odds_band(0.6, 1.0, 0.2, 4.0) == pytest.approx((0.2, rogan_gladen(0.6, 1.0, 1 / 17)))
    assert odds_band(0.6, 0.5, 0.2, 4.0) is None


def test_the_odds_ratio_of_replies_and_mutants_has_woolfs_interval():
    """Independent programs: the interval of the 2 x 2 table."""
    replies = [1] * 30 + [0] * 70 + [0] * 100
    mutants = [0] * 100 + [1] * 10 + [0] * 90
    is_reply, is_mutant = [1] * 100 + [0] * 100, [0] * 100 + [1] * 100
    shares = [Share(replies, is_reply, is_reply), Share(mutants, is_mutant, is_mutant)]
    span = odds_ratio_span(Ratios(shares, [str(i) for i in range(200)]), 0, 1)
    assert span.value == pytest.approx((30 / 70) / (10 / 90))
    half = 1.959964 * (1 / 30 + 1 / 70 + 1 / 10 + 1 / 90) ** 0.5 * (100 / 99) ** 0.5
    assert np.log([span.low, span.high]) == pytest.approx([np.log(span.value) - half, np.log(span.value) + half])


def test_where_a_comparison_turns_round():
    g = turning_odds(0.7, 0.65, 1.0, 0.1)
    assert rogan_gladen(0.7, 1.0, at_odds(0.1, g)) == pytest.approx(rogan_gladen(0.65, 1.0, at_odds(0.1, 1 / g)))
    assert g > 1.1
    assert turning_odds(0.7, 0.7, 1.0, 0.1) == 1.0
    assert turning_odds(0.7, 0.3, 1.0, 0.1) > 3 * g
    assert turning_odds(0.7, 0.65, 1.0, 0.0) is None


def test_accepted_span_of_right_programs_needs_some():
    assert accepted_span([GraderCount(problem_id="a", cluster="a", wrong=1)], right=True) is None
