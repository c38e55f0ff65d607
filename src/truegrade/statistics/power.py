"""Power of paired comparisons: problems needed, minimum detectable difference, and power.

One sample a problem, ``mcnemar_*``: the two runs differ on a share ``discordant`` of the problems, and B is right
on ``difference`` more of them than A. Connor 1987 (Biometrics 43:207-211) gives, for McNemar's test,

    n * difference = z(alpha) * sqrt(n * discordant) + z(power) * sqrt(n * (discordant - difference**2)) + 1

without the 1, which is Edwards' continuity correction (1948, Psychometrika 13:185-187). With it the exact test,
the one reported here, has about the power that is asked for, and more where nearly all problems that differ are
won by one run; the tests of this module count the exact power out, and docs/statistics.md has the figures.

Several samples a problem, or problems in clusters, ``mean_*``: a difference of means whose variance over n
problems is ``variance / n`` needs n = (z(alpha) + z(power))**2 * variance / difference**2 (Miller 2024, arXiv
2411.00640).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, sqrt
from statistics import NormalDist

import msgspec

from truegrade.errors import UserError
from truegrade.statistics.intervals import two_sided_z
from truegrade.statistics.paired import PairedComparison, gains_by_cluster
from truegrade.statistics.tally import TaskTally

POWER = 0.8
ALPHA = 0.05
"""Conventional values: 80 % power at a significance level of 5 %."""
_STEPS = 60
"""Of a bisection: more than a double can tell apart."""


def mcnemar_power(tasks: int, discordant: float, difference: float, *, alpha: float = ALPHA) -> float:
    """Chance that the exact test on ``tasks`` problems is significant at ``alpha``.

    Raises:
        UserError: a share outside of (0, 1], or a difference that exceeds the discordant share.
    """
    _check(tasks=tasks, difference=difference, alpha=alpha)
    _check_discordant(discordant, difference)
    spread = sqrt(tasks * (discordant - difference**2))
    above = tasks * abs(difference) - 1.0 - two_sided_z(1.0 - alpha) * sqrt(tasks * discordant)
    # Only where discordant and difference are both 1: every task is won, and nothing is left to chance.
    if spread == 0.0:
        return 1.0 if above >= 0 else 0.0
    return NormalDist().cdf(above / spread)


def mcnemar_tasks(discordant: float, difference: float, *, power: float = POWER, alpha: float = ALPHA) -> int:
    """Problems that it takes to see ``difference`` with probability ``power``.

    Raises:
        UserError: as for `mcnemar_power`.
    """
    _check(difference=difference, alpha=alpha, power=power)
    _check_discordant(discordant, difference)
    slope = two_sided_z(1.0 - alpha) * sqrt(discordant)
    slope += NormalDist().inv_cdf(power) * sqrt(max(0.0, discordant - difference**2))
    # Connor's equation is quadratic in the root of n: n * difference - slope * sqrt(n) - 1 = 0.
    root = (slope + sqrt(slope**2 + 4.0 * abs(difference))) / (2.0 * abs(difference))
    return ceil(root**2)


def mcnemar_detectable(
    tasks: int, discordant: float, *, power: float = POWER, alpha: float = ALPHA
) -> float | None:
    """Smallest difference that ``tasks`` problems show with probability ``power``; None if they show none.

    Where it exceeds ``discordant`` every problem that differs is taken to be won.
    """
    _check(tasks=tasks, alpha=alpha, power=power)

    def reached(difference: float) -> bool:
        return mcnemar_power(tasks, max(discordant, difference), difference, alpha=alpha) >= power

    return _smallest(reached) if reached(1.0) else None


def mean_tasks(variance: float, difference: float, *, power: float = POWER, alpha: float = ALPHA) -> int:
    """Problems that it takes to see ``difference`` with probability ``power``, at least 2.

    Raises:
        UserError: a number that cannot be.
    """
    _check(difference=difference, alpha=alpha, power=power)
    return max(2, ceil(_both(power, alpha) ** 2 * variance / difference**2))


def mean_detectable(tasks: int, variance: float, *, power: float = POWER, alpha: float = ALPHA) -> float | None:
    """Smallest difference that ``tasks`` problems show with probability ``power``; None if that exceeds 1."""
    _check(tasks=tasks, alpha=alpha, power=power)
    found = _both(power, alpha) * sqrt(variance / tasks)
    return found if found <= 1.0 else None


def _both(power: float, alpha: float) -> float:
    """Standard errors between no difference and one that is seen with this power."""
    return two_sided_z(1.0 - alpha) + NormalDist().inv_cdf(power)


def _smallest(reached: Callable[[float], bool]) -> float:
    """The smallest number in (0, 1] from which on ``reached`` holds; it holds at 1."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _check(*, tasks: int = 1, difference: float = 1.0, alpha: float = ALPHA, power: float = POWER) -> None:
    """Refuse numbers that cannot be."""
    if tasks < 1:
        raise UserError(f"{tasks} problems: at least one is needed")
    if not 0.0 < abs(difference) <= 1.0:
        raise UserError(f"a difference of {100 * difference:g} points is not between 0 and 100")
    for name, share in (("alpha", alpha), ("power", power)):
        if not 0.0 < share < 1.0:
            raise UserError(f"{name} {share:g} is not strictly between 0 and 1; {ALPHA} and {POWER} are customary")


def _check_discordant(discordant: float, difference: float) -> None:
    if not abs(difference) <= discordant <= 1.0:
        raise UserError(
            f"runs that differ on {100 * discordant:g} % of problems are not {100 * abs(difference):g} points"
            " apart; raise `discordant`, to 100 at most, or lower `points`"
        )


# --------------- Power of the comparison of two given runs: minimum detectable difference and problems needed.


CONNOR = "Connor 1987, with continuity correction"
MILLER = "Miller 2024, variance of the paired differences"


class PairPower(msgspec.Struct, frozen=True, kw_only=True):
    """Differences are fractions. Not the power to see the difference that was found: that only restates its p."""

    detectable: float | None
    """Smallest difference that this many problems show with probability ``power``; None if they show none."""
    wanted: float | None
    """The difference asked about."""
    tasks_needed: int | None
    """Problems that show ``wanted`` with probability ``power``, if runs go on to differ as these do."""
    discordant: float | None
    """Share of problems on which exactly one run is right; None with several samples a problem or in clusters."""
    variance: float
    """Of the paired difference of a problem: the variance of their mean, times the number of problems."""
    power: float
    alpha: float
    method: str


def pair_power(
    a: Sequence[TaskTally],
    b: Sequence[TaskTally],
    paired: PairedComparison,
    wanted: float | None = None,
    *,
    power: float = POWER,
    alpha: float = ALPHA,
) -> PairPower | None:
    """The power of the comparison of ``a`` and ``b``; None where they form a single cluster.

    Args:
        a: tallies of the first run.
        b: tallies of the second.
        paired: their comparison; where it holds McNemar's test, Connor's formula is used, else Miller's.
        wanted: a difference to plan for, as a fraction.
        power: chance to see it.
        alpha: significance level of one comparison.

    Raises:
        UserError: a number that cannot be.
    """
    if paired.clusters < 2:
        return None
    variance = paired.tasks * _shrunken_variance(gains_by_cluster(a, b))
    single = paired.mcnemar_p is not None
    discordant = (len(paired.wins) + len(paired.losses)) / paired.tasks
    if single:
        detectable = mcnemar_detectable(paired.tasks, discordant, power=power, alpha=alpha)
    else:
        detectable = mean_detectable(paired.tasks, variance, power=power, alpha=alpha)
    needed = None
    if wanted is not None and single:
        # Runs are at most as far apart as the share of tasks on which they differ.
        needed = mcnemar_tasks(max(discordant, abs(wanted)), wanted, power=power, alpha=alpha)
    elif wanted is not None:
        needed = mean_tasks(variance, wanted, power=power, alpha=alpha)
    return PairPower(
        detectable=detectable,
        wanted=wanted,
        tasks_needed=needed,
        discordant=discordant if single else None,
        variance=variance,
        power=power,
        alpha=alpha,
        method=CONNOR if single else MILLER,
    )


def _shrunken_variance(clusters: Sequence[Sequence[float]]) -> float:
    """Cluster-robust variance of the mean of paired differences, never 0.

    Two clusters of average size are added, one that differs by +1 and one by -1: Bonett & Price 2012 (J.
    Educational and Behavioral Statistics 37:479-488) add one pair on either side. Without them, runs that agree on
    every problem would need no problem to be told apart.
    """
    count = len(clusters)
    average = sum(len(cluster) for cluster in clusters) / count
    sums = [*(sum(cluster) for cluster in clusters), average, -average]
    sizes = [*(float(len(cluster)) for cluster in clusters), average, average]
    weight = sum(sizes)
    centre = sum(sums) / weight
    residuals = (total - centre * size for total, size in zip(sums, sizes, strict=True))
    return (count + 2) / (count + 1) * sum(residual**2 for residual in residuals) / weight**2
