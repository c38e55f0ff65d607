import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.thorough import one_in
from truegrade.errors import UserError
from truegrade.statistics import cluster_interval, wilson
from truegrade.statistics.intervals import effective_sample_size


def interval_of_means(correct, n, clusters=None, confidence=0.95):
    tasks = len(correct)
    names = clusters or [f"t{i}" for i in range(tasks)]
    return cluster_interval([c / n for c in correct], [1.0] * tasks, names, [n] * tasks, confidence)


def test_wilson_known_values():
    # Newcombe 1998, Statistics in Medicine 17:857-872, table I, method 3.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(1, 29) == pytest.approx((0.0061, 0.1718), abs=5e-5)


def test_wilson_is_exact_at_the_ends():
    assert wilson(0, 7)[0] == 0.0
    assert wilson(7, 7)[1] == 1.0
    for bad in [(1, 0), (-1, 3), (4, 3)]:
        with pytest.raises(UserError):
            wilson(*bad)


def test_one_sample_per_task_is_plain_wilson():
    for right in (0, 1, 77, 163, 164):
        interval = interval_of_means([1] * right + [0] * (164 - right), 1)
        assert (interval.low, interval.high) == pytest.approx(wilson(right, 164), abs=1e-12)
        assert interval.effective_n == pytest.approx(164)


def test_identical_samples_add_nothing():
    once = interval_of_means([1] * 30 + [0] * 20, 1)
    five_times = interval_of_means([5] * 30 + [0] * 20, 5)
    assert five_times.high - five_times.low >= once.high - once.low
    assert five_times.effective_n == pytest.approx(once.effective_n, rel=0.06)


def test_shared_questions_widen_it():
    correct = [1, 1, 0, 0] * 25
    alone = interval_of_means(correct, 1)
    in_pairs = interval_of_means(correct, 1, [f"q{i // 2}" for i in range(100)])
    assert in_pairs.effective_n == pytest.approx(alone.effective_n / 2, rel=0.05)


@pytest.mark.parametrize("correct", [[0] * 12, [2] * 12, [1] * 12])
def test_no_variance_falls_back_to_the_clusters(correct):
    interval = interval_of_means(correct, 2)
    assert interval.effective_n == 12
    assert (interval.low, interval.high) == wilson(sum(correct) / 2, 12)


def test_one_cluster_has_no_interval():
    interval = interval_of_means([1, 0, 1], 1, ["same"] * 3)
    assert (interval.low, interval.high, interval.effective_n) == (None, None, None)
    assert "single cluster" in interval.method


@settings(derandomize=True, deadline=None)
@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(st.tuples(st.integers(0, n), st.integers(0, 5)), min_size=2, max_size=40).map(
            lambda rows: (n, rows)
        )
    ),
    st.sampled_from([0.5, 0.8, 0.95, 0.999]),
)
def test_contains_the_value_and_never_claims_more_than_independence(case, confidence):
    n, rows = case
    interval = interval_of_means([c for c, _ in rows], n, [str(g) for _, g in rows], confidence)
    if interval.low is None:
        assert len({g for _, g in rows}) == 1
        return
    value = sum(c for c, _ in rows) / n / len(rows)
    assert 0.0 <= interval.low <= value + 1e-12
    assert value - 1e-12 <= interval.high <= 1.0
    low, high = wilson(value * n * len(rows), n * len(rows), confidence)
    assert interval.high - interval.low >= high - low - 1e-9


def test_size_never_exceeds_the_draws():
    assert effective_sample_size(0.5, 1e-9, 200, 40, 0.95) < 200
    assert effective_sample_size(0.5, 0.25 / 199, 200, 200, 0.95) == pytest.approx(200)


def beta_binomial(rng, runs, tasks, n, rate, likeness):
    a, b = rate * (1 - likeness) / likeness, (1 - rate) * (1 - likeness) / likeness
    return rng.binomial(n, rng.beta(a, b, size=(runs, tasks)))


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [20, 164])
@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("rate", one_in(2, [0.1, 0.5, 0.8, 0.95]))
@pytest.mark.parametrize("likeness", [0.3, 0.8])
def test_covers_as_often_as_it_says(tasks, n, rate, likeness):
    runs = 600
    correct = beta_binomial(np.random.default_rng(7), runs, tasks, n, rate, likeness)
    robust = naive = 0
    for row in correct.tolist():
        interval = interval_of_means(row, n)
        robust += interval.low <= rate <= interval.high
        low, high = wilson(sum(row), n * tasks)
        naive += low <= rate <= high
    assert 0.92 <= robust / runs <= 0.985
    if n == 5 and rate in (0.1, 0.5, 0.8):
        assert naive / runs < 0.88, "five alike samples counted as independent must under-cover"
