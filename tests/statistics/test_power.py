"""Power against the exact power, counted out case by case, and against drawing runs and testing them."""

from __future__ import annotations

from math import comb, exp, lgamma, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.analysis.standings import plan
from truegrade.errors import UserError
from truegrade.statistics import TaskTally, compare_paired, mcnemar_p
from truegrade.statistics.power import (
    CONNOR,
    MILLER,
    mcnemar_detectable,
    mcnemar_power,
    mcnemar_tasks,
    mean_detectable,
    mean_tasks,
    pair_power,
)


def binomial(n: int, k: int, p: float) -> float:
    if p in (0.0, 1.0):
        return float(k == n * p)
    return exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log(1 - p))


def exact_power(tasks: int, discordant: float, difference: float) -> float:
    """Chance that mcnemar_p <= 0.05, over every number of discordant tasks and of wins among them."""
    won, total = (discordant + difference) / (2 * discordant), 0.0
    for pairs in range(1, tasks + 1):
        weight = binomial(tasks, pairs, discordant)
        if weight > 1e-9:
            tail, cut = 0, -1
            while 2 * (tail := tail + comb(pairs, cut + 1)) <= 0.05 * 2**pairs:
                cut += 1
            outside = [*range(cut + 1), *range(pairs - cut, pairs + 1)]
            total += weight * sum(binomial(pairs, wins, won) for wins in outside)
    return total


def test_exact_power_is_that_of_scipy():
    """The value of scipy 1.17.1: stats.binom over the same cases."""
    assert exact_power(164, 0.2, 0.1) == pytest.approx(0.7891349969314508, abs=1e-6)


@pytest.mark.parametrize(
    ("discordant", "difference"), [(0.05, 0.04), (0.1, 0.05), (0.2, 0.1), (0.3, 0.1), (0.4, 0.2), (0.2, 0.15)]
)
def test_the_tasks_asked_for_suffice_and_are_not_many_too_many(discordant, difference):
    tasks = mcnemar_tasks(discordant, difference)
    assert mcnemar_power(tasks, discordant, difference) >= 0.8 > mcnemar_power(tasks - 1, discordant, difference)
    assert 0.795 <= exact_power(tasks, discordant, difference) <= 0.88


@pytest.mark.parametrize(
    ("ratio", "low", "high"),
    [
        (0.3, 0.78, 0.83),
        (0.5, 0.78, 0.83),
        (0.75, 0.74, 0.93),
        (0.9, 0.75, 0.93),
        (0.95, 0.815, 1.0),
        (1.0, 0.815, 1.0),
    ],
)
def test_the_exact_power_lies_where_the_docs_say(ratio, low, high):
    """By the difference as a share of the discordant problems."""
    for discordant in (0.3, 0.5, 0.7, 0.9, 1.0):
        difference = ratio * discordant
        power = exact_power(mcnemar_tasks(discordant, difference), discordant, difference)
        assert low <= power <= high, discordant


def test_without_the_correction_it_is_connors_number():
    """154.6 pairs by the formula as printed in Connor 1987; the correction adds about 2 / difference."""
    assert pytest.approx(mcnemar_tasks(0.2, 0.1), abs=1) == 154.6 + 2 / 0.1


def test_drawn_runs_are_told_apart_as_often_as_the_formula_says():
    rng, tasks, runs = np.random.default_rng(5), 250, 600
    draws = rng.multinomial(tasks, [0.2, 0.1, 0.7], size=runs)
    seen = np.mean([mcnemar_p(int(wins), int(losses)) <= 0.05 for wins, losses, _ in draws])
    assert seen == pytest.approx(mcnemar_power(tasks, 0.3, 0.1), abs=0.05)


def test_runs_that_are_equally_good_are_told_apart_at_the_level_or_less():
    draws = np.random.default_rng(6).multinomial(250, [0.15, 0.15, 0.7], size=1500)
    assert np.mean([mcnemar_p(int(wins), int(losses)) <= 0.05 for wins, losses, _ in draws]) <= 0.06


@given(st.integers(30, 3000), st.floats(0.02, 0.9))
def test_detectable_is_where_power_reaches_its_aim(tasks, discordant):
    found = mcnemar_detectable(tasks, discordant)
    if found is not None:
        assert mcnemar_power(tasks, max(discordant, found), found) == pytest.approx(0.8, abs=1e-6)


def test_means_are_those_of_statsmodels():
    """statsmodels 0.15.0, NormalIndPower with ratio 0: 3139.54."""
    assert mean_tasks(0.16, 0.02) == 3140
    assert mean_detectable(3140, 0.16) == pytest.approx(0.02, abs=1e-5)
    assert mean_detectable(2, 1.0) is None


def test_one_problem_is_never_enough_for_a_difference_of_means():
    """Its variance is not known."""
    assert [mean_tasks(variance, 0.9) for variance in (0.0, 0.01, 0.1)] == [2, 2, 2]
    assert mean_tasks(0.25, 0.9) == 3


def test_drawn_means_are_told_apart_as_often_as_the_formula_says():
    """Five samples a task in both runs: the interval of the comparison excludes 0 as often as planned."""
    rng, tasks, runs = np.random.default_rng(3), 200, 300
    hard = rng.beta(1, 1, size=(runs, tasks))
    a, b = rng.binomial(5, hard), rng.binomial(5, np.clip(hard + 0.06, 0, 1))
    gains = (b - a) / 5
    truth, variance = gains.mean(), gains.var()
    seen = np.mean(np.abs(gains.mean(axis=1)) > 1.96 * gains.std(axis=1) / np.sqrt(tasks))
    assert mean_tasks(variance, truth, power=seen) == pytest.approx(tasks, rel=0.1)


def tallies(passes, n=1):
    return [TaskTally(task_id=f"t{i}", cluster=f"t{i}", n=n, c=c) for i, c in enumerate(passes)]


def test_a_pair_of_runs_brings_its_own_discordance():
    a, b = tallies([1] * 50 + [0] * 50), tallies([1] * 45 + [0] * 40 + [1] * 15)
    found = pair_power(a, b, compare_paired(a, b), 0.05)
    assert (found.method, found.discordant) == (CONNOR, 0.2)
    assert found.tasks_needed == mcnemar_tasks(0.2, 0.05)
    assert found.detectable == mcnemar_detectable(100, 0.2)


def test_several_samples_go_by_the_variance_of_the_differences():
    a, b = tallies([3] * 50 + [0] * 50, n=5), tallies([4] * 50 + [1] * 25 + [0] * 25, n=5)
    found = pair_power(a, b, compare_paired(a, b), 0.05)
    assert (found.method, found.discordant) == (MILLER, None)
    gains = np.array([0.2] * 75 + [0.0] * 25 + [1.0, -1.0])  # with two pseudo-clusters
    assert found.variance == pytest.approx(100 * gains.var(ddof=1) / 102)
    assert found.tasks_needed == mean_tasks(found.variance, 0.05)


def test_runs_that_agree_everywhere_still_have_a_smallest_difference():
    same = tallies([1] * 80 + [0] * 84)
    found = pair_power(same, same, compare_paired(same, same), 0.02)
    assert 0.03 < found.detectable < 0.08
    assert found.tasks_needed == mcnemar_tasks(0.02, 0.02)
    one = [TaskTally(task_id=f"t{i}", cluster="q", n=1, c=1) for i in range(3)]
    assert pair_power(one, one, compare_paired(one, one)) is None


def test_any_two_give_the_third():
    (needed,) = plan(points=5, discordant=[10])
    (reached,) = plan(points=5, tasks=needed.tasks, discordant=[10])
    (least,) = plan(tasks=needed.tasks, discordant=[10])
    assert reached.power == pytest.approx(0.8, abs=0.005)
    assert least.points == pytest.approx(5, abs=0.02)
    assert [line.discordant for line in plan(points=15)] == [20, 40]
    assert [line.discordant for line in plan(points=60)] == [60]
    assert plan(tasks=50, discordant=[5])[0].points is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "`points`"),
        ({"points": 2, "tasks": 10, "power": 0.5}, "leave one of them out"),
        ({"points": 20, "discordant": [5]}, "`discordant`"),
        ({"points": 0}, "0 points"),
        ({"points": 2, "alpha": 1.5}, "alpha"),
        ({"points": 2, "power": 80}, "power 80"),
        ({"tasks": 0}, "0 problems"),
    ],
)
def test_what_cannot_be_is_refused(arguments, said):
    with pytest.raises(UserError, match=said):
        plan(**arguments)
