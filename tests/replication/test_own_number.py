"""The rule for a claim about a file: its own count prints as the claim, or how far it is off."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.analysis.replication_question import Agreement, own_count, own_number
from truegrade.statistics import TaskTally, estimate
from truegrade.statistics.claims import Claim, parse_claim


def tallies(*counts):
    return [TaskTally(task_id=str(i), cluster=str(i), n=n, c=c) for i, (n, c) in enumerate(counts)]


@pytest.mark.parametrize(
    ("claim", "agreement", "apart"),
    [
        ("79.9", Agreement.ROUNDED, ""),
        ("79.88", Agreement.ROUNDED, ""),
        ("79.878", Agreement.ROUNDED, ""),
        ("80", Agreement.ROUNDED, ""),
        ("79.8", Agreement.TRUNCATED, ""),
        ("79.87", Agreement.TRUNCATED, ""),
        ("79", Agreement.TRUNCATED, ""),
        ("84.8", Agreement.DIFFERS, "8 of 164 draws"),
        ("75.0", Agreement.DIFFERS, "8 of 164 draws"),
        ("73.2", Agreement.DIFFERS, "11 of 164 draws"),
        ("100", Agreement.DIFFERS, "33 of 164 draws"),
        ("0.0", Agreement.DIFFERS, "131 of 164 draws"),
        ("79.80", Agreement.DIFFERS, ""),
        ("0.799", Agreement.DIFFERS, ""),
    ],
)
def test_131_of_164_against_claims(claim, agreement, apart):
    own = own_count(parse_claim(claim), 131, 164, "draws")
    assert (own.agreement, own.apart) == (agreement, apart)
    assert own.sentence.startswith("measured: 131 of 164 draws, ")
    assert ("no count out of 164 prints as" in own.sentence) == (own.difference is None)
    assert own.agrees == (own.difference == 0)


def test_a_tie_prints_up_to_even_and_as_python_prints_it():
    """79.35 is a float below the tie: neither school nor IEEE 754 on decimals gives Python's 79.3."""
    agreement = {
        text: own_count(Claim(text), 1587, 2000, "draws").agreement for text in ("79.3", "79.4", "79.2", "79.5")
    }
    assert f"{79.35:.1f}" == "79.3"
    assert list(agreement.values()) == [Agreement.ROUNDED] * 2 + [Agreement.DIFFERS] * 2


@given(st.integers(1, 300), st.data(), st.integers(0, 4))
def test_the_difference_is_the_least_that_makes_a_count_print_so(total, data, decimals):
    count = data.draw(st.integers(0, total))
    claim = Claim(f"{data.draw(st.integers(0, 100 * 10**decimals)) / 10**decimals:.{decimals}f}")
    own = own_count(claim, count, total, "draws")
    near = [other for other in range(total + 1) if own_count(claim, other, total, "draws").agrees]
    assert own.difference == min((abs(other - count) for other in near), default=None)
    assert all(after - before == 1 for before, after in pairwise(near))


@pytest.mark.parametrize(
    ("metric", "counts", "share", "words"),
    [
        ("pass@1", [(3, 3), (3, 1)], Fraction(4, 6), "4 of 6 draws"),
        ("pass@1", [(3, 3), (2, 1)], Fraction(3, 4), "the mean of pass@1 over the problems"),
        ("all_solutions", [(3, 3), (2, 1)], Fraction(4, 5), "4 of 5 draws"),
        ("any_correct", [(3, 3), (2, 1), (2, 0)], Fraction(2, 3), "2 of 3 problems"),
        ("all_correct", [(3, 3), (2, 1)], Fraction(1, 2), "1 of 2 problems"),
        ("pass@2", [(2, 1), (2, 0)], Fraction(1, 2), "1 of 2 problems"),
        ("pass@2", [(3, 1), (3, 0)], Fraction(1, 3), "the mean of pass@2 over the problems"),
        ("pass@3", [(3, 1), (2, 2)], Fraction(1), "1 of 1 problems"),
    ],
)
def test_every_metric_is_counted_as_it_is_estimated(metric, counts, share, words):
    own = own_number(Claim("50.00"), metric, tallies(*counts))
    assert own.share == pytest.approx(estimate(metric, tallies(*counts)).value)
    assert own.share == pytest.approx(float(share))
    assert words in own.sentence


def test_a_mean_is_apart_by_points_and_not_by_draws():
    own = own_number(Claim("40.0"), "pass@2", tallies((3, 1), (3, 0)))
    assert (own.count, own.difference, own.apart) == (None, None, "6.67 points")
    assert own_number(Claim("40.0"), "pass@4", tallies((3, 1))) is None
