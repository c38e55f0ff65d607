import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.errors import UnknownName, UserError
from truegrade.statistics import TaskTally, estimate, pass_at_k, wilson


def tally(task, n, c, cluster=None, **more):
    return TaskTally(task_id=task, cluster=cluster or task, n=n, c=c, **more)


TALLIES = [tally("a", 5, 5), tally("b", 5, 2, unanswered=1), tally("c", 5, 0, truncated=3), tally("d", 2, 1)]


def test_pass_at_1_is_the_mean_over_tasks():
    result = estimate("pass@1", TALLIES)
    assert result.value == pytest.approx((1 + 0.4 + 0 + 0.5) / 4)
    assert (result.samples, result.tasks, result.clusters, result.left_out) == (17, 4, 4, 0)
    assert (result.unanswered, result.truncated) == (1, 3)
    assert result.low < result.value < result.high
    assert result.metric == "pass@1"


def test_tasks_with_too_few_samples_are_left_out_and_counted():
    result = estimate("pass@5", TALLIES)
    assert result.value == pytest.approx(2 / 3)
    assert (result.tasks, result.left_out, result.samples) == (3, 1, 15)


def test_any_all_and_all_solutions():
    assert estimate("any_correct", TALLIES).value == 0.75
    assert estimate("all_correct", TALLIES).value == 0.25
    assert estimate("all_solutions", TALLIES).value == pytest.approx(8 / 17)


def test_tasks_without_samples_never_count():
    result = estimate("any_correct", [*TALLIES, tally("e", 0, 0)])
    assert (result.value, result.left_out) == (0.75, 1)


def test_micro_average_with_one_sample_each_is_wilson():
    tallies = [tally(str(i), 1, int(i < 40)) for i in range(100)]
    for metric in ("all_solutions", "pass@1", "any_correct", "all_correct"):
        result = estimate(metric, tallies)
        assert (result.low, result.high) == pytest.approx(wilson(40, 100), abs=1e-12)


def test_unequal_samples_weigh_as_a_ratio():
    tallies = [tally("a", 10, 9), tally("b", 1, 0), tally("c", 1, 0), tally("d", 4, 1)]
    result = estimate("all_solutions", tallies)
    assert result.value == 10 / 16
    residuals = [9 - 6.25, -0.625, -0.625, 1 - 2.5]
    variance = 4 / 3 * sum(r * r for r in residuals) / 16**2
    assert variance * 15 / (result.value * (1 - result.value)) > 1
    assert result.high - result.low > 2 * wilson(10, 16)[1] - 2 * result.value


@settings(derandomize=True, deadline=None)
@given(
    st.lists(
        st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), min_size=1, max_size=300
    )
)
def test_mean_equals_numpys_bit_for_bit(rows):
    tallies = [tally(str(i), n, c) for i, (n, c) in enumerate(rows)]
    assert estimate("pass@1", tallies).value == float(np.mean([pass_at_k(n, c, 1) for n, c in rows]))


def test_one_cluster_says_so():
    result = estimate("pass@1", [tally("a", 1, 1, "q"), tally("b", 1, 0, "q")])
    assert (result.value, result.low, result.high) == (0.5, None, None)
    assert "single cluster" in result.method


def test_confidence_is_kept_and_widens():
    narrow, wide = estimate("pass@1", TALLIES, 0.8), estimate("pass@1", TALLIES, 0.99)
    assert (narrow.confidence, wide.confidence) == (0.8, 0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize("metric", ["pass@0", "pass@", "pass1", "accuracy", "pass@-1", "pass@01"])
def test_unknown_metrics_are_refused(metric):
    with pytest.raises(UnknownName, match="metric"):
        estimate(metric, TALLIES)


def test_too_few_samples_everywhere_is_an_error_with_the_next_step():
    with pytest.raises(UserError, match=r"pass@10 needs 10 samples.*at most 5.*`n`"):
        estimate("pass@10", TALLIES)
    with pytest.raises(UserError, match="0 problems"):
        estimate("pass@1", [])


def test_impossible_tallies_are_refused():
    with pytest.raises(UserError, match="problem x: c = 3 of n = 2"):
        tally("x", 2, 3)
    with pytest.raises(UserError, match="truncated"):
        tally("x", 2, 1, truncated=-1)
