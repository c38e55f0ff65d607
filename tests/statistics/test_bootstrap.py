from __future__ import annotations

import numpy as np
import pytest

from truegrade.statistics import paired as bootstrap
from truegrade.statistics.paired import bootstrap_interval

VALUES = [1, 0, 0, -1, 0.5, 0.5, 1, 0, 0, -0.5, 1, 1, 0, 0, 0, -1, 1, 0.25, 0.75, 1]


def alone(values):
    return [[float(value)] for value in values]


def test_it_is_that_of_scipy():
    """scipy 1.17.1, stats.bootstrap(np.mean, method="percentile", n_resamples=200_000): [0.0, 0.5375]."""
    found = bootstrap_interval(alone(VALUES), draws=100_000)
    assert (found.low, found.high) == pytest.approx((0.0, 0.5375), abs=0.0126)


def test_the_same_seed_gives_the_same_interval_in_any_number_of_chunks(monkeypatch):
    whole = bootstrap_interval(alone(VALUES), seed=3)
    assert whole == bootstrap_interval(alone(VALUES), seed=3)
    monkeypatch.setattr(bootstrap, "CHUNK_CELLS", 999)
    assert whole == bootstrap_interval(alone(VALUES), seed=3)
    assert whole != bootstrap_interval(alone(VALUES), seed=4)


def test_swapping_the_runs_mirrors_it():
    there, back = bootstrap_interval(alone(VALUES)), bootstrap_interval(alone([-v for v in VALUES]))
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=0.02)


def test_clusters_stay_together():
    """Twenty equal pairs say no more than twenty single tasks."""
    single, paired = bootstrap_interval(alone(VALUES)), bootstrap_interval([[v, v] for v in VALUES])
    assert (paired.low, paired.high) == pytest.approx((single.low, single.high))
    ignored = bootstrap_interval(alone([*VALUES, *VALUES]))
    assert ignored.high - ignored.low < 0.8 * (paired.high - paired.low)


def test_one_cluster_has_no_interval_and_agreement_has_no_width():
    found = bootstrap_interval([[1.0, 0.0]])
    assert (found.low, found.high) == (None, None)
    agreed = bootstrap_interval(alone([0] * 30))
    assert (agreed.low, agreed.high) == (0.0, 0.0)


@pytest.mark.parametrize(("wins", "losses"), [(0.15, 0.05), (0.3, 0.2)])
def test_it_covers(wins, losses):
    rng, runs, hits = np.random.default_rng(4), 300, 0
    for row in rng.choice([1.0, -1.0, 0.0], p=[wins, losses, 1 - wins - losses], size=(runs, 164)).tolist():
        found = bootstrap_interval(alone(row), draws=1000)
        hits += found.low <= wins - losses <= found.high
    assert hits / runs >= 0.91
