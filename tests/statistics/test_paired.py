from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.thorough import one_in
from truegrade.errors import NotComparable
from truegrade.statistics import TaskTally, compare_paired, mcnemar_p, sign_flip_p
from truegrade.statistics.paired import ScoreTest, assess_difference


def run(passes, n=1, clusters=None):
    return [
        TaskTally(task_id=f"t{i}", cluster=clusters[i] if clusters else f"t{i}", n=n, c=c)
        for i, c in enumerate(passes)
    ]


def test_wins_losses_ties_and_difference():
    result = compare_paired(run([0, 1, 1, 0]), run([1, 1, 0, 1]))
    assert (result.wins, result.losses, result.ties) == (("t0", "t3"), ("t2",), ("t1",))
    assert (result.rate_a, result.rate_b, result.difference) == (0.5, 0.75, 0.25)
    assert result.low < 0.25 < result.high
    assert (result.tasks, result.clusters) == (4, 4)


def test_swapping_the_runs_mirrors_the_result():
    a, b = run([3, 0, 5, 2, 1, 4], 5), run([5, 1, 5, 0, 4, 4], 5)
    there, back = compare_paired(a, b), compare_paired(b, a)
    assert there.difference == pytest.approx(-back.difference)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))
    assert there.permutation_p == back.permutation_p
    assert there.wins == back.losses


def test_tasks_of_one_run_only_are_named_not_compared():
    a, b = run([1, 0, 1]), run([1, 0, 0, 1])[1:]
    result = compare_paired(a, [*b, TaskTally(task_id="empty", cluster="empty", n=0, c=0)])
    assert (result.only_a, result.only_b, result.tasks) == (("t0",), ("t3",), 2)


def test_mcnemar_known_values():
    assert mcnemar_p(0, 0) == 1.0
    assert mcnemar_p(5, 5) == 1.0
    assert mcnemar_p(6, 0) == 2 / 2**6
    assert mcnemar_p(3, 8) == mcnemar_p(8, 3) == pytest.approx(2 * (1 + 11 + 55 + 165) / 2**11)
    assert 0 < mcnemar_p(2000, 1500) < 1e-10


def test_mcnemar_only_where_its_assumptions_hold():
    assert compare_paired(run([0] * 6), run([1] * 6)).mcnemar_p == 2 / 64
    assert compare_paired(run([0] * 6, 2), run([1] * 6, 2)).mcnemar_p is None
    shared = ["q", "q", "r", "s", "t", "u"]
    assert compare_paired(run([0] * 6, clusters=shared), run([1] * 6, clusters=shared)).mcnemar_p is None


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.lists(st.sampled_from([-1, 0, 1]), max_size=12))
def test_sign_flips_of_single_samples_are_mcnemar(differences):
    assert sign_flip_p(differences) == pytest.approx(mcnemar_p(differences.count(1), differences.count(-1)))


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.lists(st.sampled_from([-1.0, -0.4, 0.2, 0.6, 1.0]), min_size=1, max_size=8))
def test_enumeration_equals_brute_force(differences):
    flipped = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product([1, -1], repeat=len(differences))
    ]
    assert sign_flip_p(differences) == pytest.approx(
        np.mean([value >= abs(sum(differences)) - 1e-9 for value in flipped])
    )


def test_random_flips_agree_with_mcnemar_and_are_the_same_in_any_number_of_chunks(monkeypatch):
    differences = [1] * 25 + [-1] * 11
    assert sign_flip_p(differences) == pytest.approx(mcnemar_p(25, 11), abs=0.005)
    whole = sign_flip_p(differences, seed=1)
    monkeypatch.setattr("truegrade.statistics.paired.CHUNK_CELLS", 999)
    assert sign_flip_p(differences, seed=1) == whole


def test_runs_that_agree_everywhere_keep_an_honest_width():
    result = compare_paired(run([1] * 50 + [0] * 50), run([1] * 50 + [0] * 50))
    assert (result.difference, result.permutation_p, result.mcnemar_p) == (0.0, 1.0, 1.0)
    assert result.low == pytest.approx(-result.high)
    assert 0.02 < result.high < 0.04


def test_shared_questions_widen_the_interval():
    a, b = [0, 0, 1, 1] * 4 + [1] * 64, [1] * 80
    pairs = [f"q{i // 2}" for i in range(80)]
    alone = compare_paired(run(a), run(b))
    paired = compare_paired(run(a, clusters=pairs), run(b, clusters=pairs))
    assert paired.high - paired.low > 1.2 * (alone.high - alone.low)
    assert paired.permutation_p > alone.permutation_p


def test_one_cluster_has_no_interval():
    same = ["q"] * 3
    result = compare_paired(run([0, 1, 0], clusters=same), run([1, 1, 0], clusters=same))
    assert (result.low, result.high) == (None, None)
    assert "single cluster" in result.method


def test_incomparable_runs_are_refused():
    with pytest.raises(NotComparable, match="no graded problem in common"):
        compare_paired(run([1]), [TaskTally(task_id="other", cluster="other", n=1, c=1)])
    with pytest.raises(NotComparable, match="problem t0 is in cluster 'x'"):
        compare_paired(run([1], clusters=["x"]), run([1], clusters=["y"]))


CLUSTERS = st.lists(st.lists(st.floats(-1, 1), min_size=1, max_size=4), min_size=2, max_size=30)


@settings(derandomize=True, deadline=None)
@given(CLUSTERS, st.sampled_from([0.5, 0.95]))
def test_interval_contains_the_mean_inside_its_range_and_agrees_with_p(clusters, confidence):
    found = assess_difference(clusters, confidence, flips=200)
    values = [value for cluster in clusters for value in cluster]
    mean = sum(values) / len(values)
    assert -1 <= found.low <= mean + 1e-12
    assert mean - 1e-12 <= found.high <= 1
    assert (found.low <= 0 <= found.high) == (found.p_value >= 1 - confidence)


def test_small_rates_of_reversion_are_not_contradicted_by_their_interval():
    """8 of 100 programs of three calls gain an answer: +2.7 [-0.7, 5.9] beside p = 0.008 before."""
    clusters = [[1.0, 0.0, 0.0]] * 8 + [[0.0] * 3] * 92
    found = assess_difference(clusters)
    assert found.p_value == pytest.approx(2 / 2**8)
    assert (found.low, found.high) == pytest.approx((0.0136, 0.0519), abs=2e-4)


@pytest.mark.parametrize("tasks", [30, 164])
def test_single_samples_have_tango_s_interval_and_agree_with_mcnemar(tasks):
    for wins in range(16):
        for losses in range(0, 15, 2):
            found = assess_difference([[1.0]] * wins + [[-1.0]] * losses + [[0.0]] * (tasks - wins - losses),
                exact_p=mcnemar_p(wins, losses))  # fmt: skip
            assert (found.low > 0 or found.high < 0) == (mcnemar_p(wins, losses) < 0.05)


@pytest.mark.parametrize(("wins", "losses", "tasks"), [(12, 2, 50), (0, 0, 40), (1, 0, 20), (7, 7, 164)])
def test_at_its_ends_the_statistic_is_the_normal_quantile(wins, losses, tasks):
    """Tango's statistic, with the most likely rates under the hypothesis searched for instead of solved for."""
    clusters = [[1.0]] * wins + [[-1.0]] * losses + [[0.0]] * (tasks - wins - losses)
    for end in ScoreTest(clusters).interval(0.95):
        rates = np.linspace(max(0.0, -end), (1 - end) / 2, 200_001)[1:-1]
        likelihood = wins * np.log(rates + end) + losses * np.log(rates)
        likelihood += (tasks - wins - losses) * np.log(1 - 2 * rates - end)
        variance = tasks * (2 * rates[likelihood.argmax()] + end - end**2)
        assert (wins - losses - tasks * end) ** 2 / variance == pytest.approx(1.959964**2, rel=1e-3)


@pytest.mark.parametrize(
    ("wins", "losses"), one_in(2, [(0.02, 0.0), (0.02, 0.02), (0.1, 0.02), (0.3, 0.2), (0.6, 0.0)])
)
@pytest.mark.parametrize("tasks", one_in(2, [20, 100]))
@pytest.mark.parametrize("alike", one_in(3, [0.0, 0.8]))
def test_the_interval_covers_in_clusters_of_three(tasks, wins, losses, alike):
    rng, runs, hits = np.random.default_rng(11), 250, 0
    shared, own = rng.random((runs, tasks, 1)), rng.random((runs, tasks, 3))
    draws = np.where(rng.random((runs, tasks, 3)) < alike, shared, own)
    gains = (draws < wins).astype(float) - (draws > 1 - losses)
    for clusters in gains.tolist():
        low, high = ScoreTest(clusters).interval(0.95)
        hits += low <= wins - losses <= high
    assert hits / runs >= 0.92
