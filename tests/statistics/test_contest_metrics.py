"""The metrics dictionary of LiveCodeBench's graders; the first example was run through the official function."""

import pytest

from truegrade.statistics.tally import PERCENT, Scale, published_metrics

TWO = {"0": [True, True, False, False, False], "1": [True] * 5}


def test_the_published_example():
    found = published_metrics(TWO, Scale(ks=(1, 2, 5, 10)))
    assert found == {
        "pass@1": pytest.approx(0.7), "pass@2": pytest.approx(0.85), "pass@5": 1.0,
        "detail": {"pass@1": {"0": pytest.approx(0.4), "1": 1.0}, "pass@2": {"0": pytest.approx(0.7), "1": 1.0},
                   "pass@5": {"0": 1.0, "1": 1.0}},
    }  # fmt: skip


def test_ragged_counts_drop_what_one_problem_lacks():
    assert list(published_metrics({"0": [True], "1": [False] * 10})) == ["pass@1", "detail"]


def test_percent_and_nothing_at_all():
    assert published_metrics({"0": [True, False]}, PERCENT)["pass@1"] == 50.0
    assert published_metrics({}) == {"detail": {}}
