"""Digits, denominators and p-values of a claim."""

import random
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.errors import UserError
from truegrade.statistics import TaskTally, estimate
from truegrade.statistics.claims import (
    Claim,
    effective_draws,
    fit,
    fit_cut_off,
    fits,
    independent_p,
    parse_claim,
    same_tasks_p,
)


@pytest.mark.parametrize(("text", "bare"), [("67.7", "67.7"), (" 67.70 % ", "67.70"), ("100", "100"), ("0", "0")])
def test_a_claim_keeps_its_digits(text, bare):
    assert parse_claim(text).text == bare


@pytest.mark.parametrize("text", ["", "abc", "-1", "100.1", "1e2", "67,7", "67.", ".5", "nan", "６７"])
def test_what_is_no_percentage_is_refused(text):
    with pytest.raises(UserError, match="percentage as printed"):
        parse_claim(text)


def test_the_digits_are_a_range():
    claim = parse_claim("67.7")
    assert (claim.low, claim.high) == pytest.approx((0.6765, 0.6775))
    assert parse_claim("68").high - parse_claim("68").low == pytest.approx(0.01)
    assert parse_claim("100.0").high == 1.0
    assert parse_claim("0.0").low == 0.0


def test_published_numbers_of_humaneval_are_shares_of_164():
    counts = {text: list(fit(Claim(text), 164)) for text in ("67.7", "79.9", "96.3", "67.8")}
    assert counts == {"67.7": [111], "79.9": [131], "96.3": [158], "67.8": []}
    assert list(fit(Claim("89.1"), 257)) == [229]


@given(st.integers(1, 1000), st.data(), st.integers(0, 3))
def test_what_python_prints_of_a_share_always_fits(denominator, data, decimals):
    count = data.draw(st.integers(0, denominator))
    printed = f"{100 * count / denominator:.{decimals}f}"
    assert count in fit(parse_claim(printed), denominator)


@given(st.integers(1, 1000), st.integers(0, 1000))
def test_what_fits_prints_alike_but_for_ties(denominator, thousandths):
    claim = parse_claim(f"{thousandths / 10:.1f}")
    for count in fit(claim, denominator):
        exact_tie = (2000 * count) % denominator == 0 and (2000 * count // denominator) % 2 == 1
        assert exact_tie or f"{100 * count / denominator:.1f}" == claim.text


def test_a_tie_fits_the_upper_number_and_the_even_one():
    # 1/16 = 6.25 %: 6.3 by school rounding, 6.2 in Python; never 6.1 or 6.4.
    assert [text for text in ("6.1", "6.2", "6.3", "6.4") if fit(Claim(text), 16)] == ["6.2", "6.3"]
    # 3/16 = 18.75 %: the upper number is the even one.
    assert [text for text in ("18.7", "18.8") if fit(Claim(text), 16)] == ["18.8"]


def test_digits_that_were_cut_off_are_found_and_named():
    # 112/164 = 68.29 %, 111/164 = 67.68 %.
    assert not fit(Claim("67.6"), 164)
    assert list(fit_cut_off(Claim("67.6"), 164)) == [111]
    (found,) = fits(Claim("67.6"), [164], [1])
    assert (found.first, found.last, found.cut_off, found.decisive) == (111, 111, True, True)


def test_denominators_too_large_for_the_digits_are_not_decisive():
    found = {f.denominator: f.decisive for f in fits(Claim("67.9"), [164], [1, 5, 10])}
    assert found == {820: True, 1640: False}


def test_the_hundred_percent_and_the_zero_fit_every_denominator():
    for denominator in (1, 7, 164):
        assert fit(Claim("100.0"), denominator)[-1] == denominator
        assert fit(Claim("0.0"), denominator)[0] == 0


# ------------------------------------------------------------------------------------------------ chance


@given(st.integers(2, 500), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_effective_draws_of_independent_tasks_are_their_number(tasks, data, confidence):
    right = data.draw(st.integers(0, tasks))
    tallies = [TaskTally(task_id=str(i), cluster=str(i), n=1, c=int(i < right)) for i in range(tasks)]
    assert effective_draws(estimate("pass@1", tallies, confidence)) == pytest.approx(tasks, rel=1e-6)


def test_samples_of_one_task_are_worth_less_than_their_number():
    tallies = [TaskTally(task_id=str(i), cluster=str(i), n=5, c=5 * (i % 2)) for i in range(100)]
    assert effective_draws(estimate("pass@1", tallies)) == pytest.approx(100, rel=0.05)
    single = [TaskTally(task_id=str(i), cluster="one", n=1, c=i % 2) for i in range(9)]
    assert effective_draws(estimate("pass@1", single)) is None


def test_the_independent_p_value_is_the_two_proportion_test():
    # Textbook: 60/100 against 45/100, pooled z = 2.1247, p = 0.0336 (a claim of many digits is a point).
    p = independent_p(Claim("60.000000"), 100, 0.45, 100)
    assert p == pytest.approx(2 * NormalDist().cdf(-2.1239769762), abs=1e-4)


def test_a_value_that_prints_like_the_claim_has_p_1():
    assert independent_p(Claim("67.7"), 164, 111 / 164, 164) == 1.0
    assert independent_p(Claim("100"), 164, 1.0, 164) == 1.0


def test_given_the_tasks_a_steady_model_shows_smaller_differences():
    """Half of the tasks always pass, half never: no variance within tasks, so no difference is chance."""
    steady = [TaskTally(task_id=str(i), cluster=str(i), n=5, c=5 * (i % 2)) for i in range(100)]
    assert same_tasks_p(Claim("52.0"), 1, steady) == 0.0
    assert independent_p(Claim("52.0"), 100, 0.5, 100) > 0.7
    assert same_tasks_p(Claim("50.0"), 1, steady) == 1.0
    single = [TaskTally(task_id="a", cluster="a", n=1, c=1)]
    assert same_tasks_p(Claim("52.0"), 1, single) is None


def test_the_same_tasks_p_value_is_uniform_enough_when_the_claim_is_true():
    """Claims really drawn from the model are rejected at 5 % about once in twenty times."""
    draw = random.Random(7)
    rates = [draw.random() for _ in range(164)]
    rejected = 0
    for _ in range(400):
        tallies = [
            TaskTally(task_id=str(i), cluster=str(i), n=5, c=sum(draw.random() < rate for _ in range(5)))
            for i, rate in enumerate(rates)
        ]
        claimed = sum(draw.random() < rate for rate in rates)
        p = same_tasks_p(Claim(f"{100 * claimed / 164:.1f}"), 1, tallies)
        rejected += p < 0.05
    assert 8 <= rejected <= 32
