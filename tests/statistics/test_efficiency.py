"""Scores of cost: the estimator of eff@k against brute force, and its parts."""

import random
from itertools import combinations
from statistics import fmean

import pytest

from truegrade.errors import UserError
from truegrade.statistics import pass_at_k
from truegrade.statistics.efficiency import (
    TaskScores,
    eff_at_k,
    level_efficiency,
    mean_eff_at_k,
    sample_efficiency,
    typical_cost,
)


@pytest.mark.parametrize("n", range(1, 8))
def test_eff_at_k_is_the_mean_of_the_best_of_all_subsets(n):
    draw = random.Random(n)
    scores = [draw.choice([0.0, draw.uniform(0, 1.3)]) for _ in range(n)]
    for k in range(1, n + 1):
        brute = fmean(max(chosen) for chosen in combinations(scores, k))
        assert eff_at_k(scores, k) == pytest.approx(brute, abs=1e-12)


def test_eff_at_k_of_right_and_wrong_is_pass_at_k():
    for n, c, k in ((10, 3, 1), (10, 3, 5), (200, 7, 100), (4, 0, 2), (4, 4, 4)):
        assert eff_at_k([1.0] * c + [0.0] * (n - c), k) == pytest.approx(pass_at_k(n, c, k), abs=1e-12)


def test_eff_at_k_is_unbiased():
    """Its mean over all samples of size n from a small law is the expected best of k."""
    law, n, k = [0.0, 0.4, 1.0], 3, 2
    from itertools import product

    expected = fmean(max(drawn) for drawn in product(law, repeat=k))
    assert fmean(eff_at_k(drawn, k) for drawn in product(law, repeat=n)) == pytest.approx(expected)


@pytest.mark.parametrize("k", [0, 3])
def test_a_k_that_cannot_be(k):
    with pytest.raises(UserError, match="between 1 and 2"):
        eff_at_k([0.1, 0.2], k)


def test_levels():
    assert level_efficiency(2.0, 2.0, 4.0) == 1.0
    assert level_efficiency(3.0, 2.0, 4.0) == 0.5
    assert level_efficiency(9.0, 2.0, 4.0) == 0.0
    assert level_efficiency(1.0, 2.0, 4.0) == 1.5  # faster than the reference
    with pytest.raises(UserError, match="not below"):
        level_efficiency(1.0, 4.0, 4.0)
    assert sample_efficiency([0.0, 1.0, 0.5], [0, 3, 3, 4]) == pytest.approx(0.45)
    with pytest.raises(UserError, match="cannot be weighted"):
        sample_efficiency([1.0, 1.0], [1.0])


def test_typical_cost():
    assert typical_cost([5.0]) == 5.0
    assert typical_cost([1.0, 2.0, 30.0]) == 8.75  # pairs: 1, 2, 30, 1.5, 15.5, 16
    with pytest.raises(UserError, match="at least one"):
        typical_cost([])


def test_the_mean_counts_problems_and_clusters():
    tasks = [
        TaskScores(cluster="a", scores=(0.2, 0.4)),
        TaskScores(cluster="a", scores=(1.0, 1.0)),
        TaskScores(cluster="b", scores=(0.0, 0.0)),
        TaskScores(cluster="c", scores=(1.2,)),
    ]
    best = mean_eff_at_k(tasks, 2)
    assert (best.metric, best.tasks, best.clusters, best.left_out, best.samples) == ("eff@2", 3, 2, 1, 6)
    assert best.value == pytest.approx((0.4 + 1.0) / 3)
    assert best.low <= best.value <= best.high
    one = mean_eff_at_k(tasks[:2], 1)
    assert (one.low, one.high, one.method) == (None, None, "none: a single cluster")
    with pytest.raises(UserError, match="eff@3 needs 3"):
        mean_eff_at_k(tasks, 3)


def test_the_interval_covers_the_mean():
    """Of 60 runs of 80 problems, about 57 intervals hold the true mean; 50 or fewer would be a wrong method."""
    draw = random.Random(7)
    runs = (
        [TaskScores(cluster=str(i), scores=(draw.betavariate(0.5, 0.7),)) for i in range(80)] for _ in range(60)
    )
    held = sum(found.low <= 0.5 / 1.2 <= found.high for found in (mean_eff_at_k(run, 1) for run in runs))
    assert 51 <= held <= 60
