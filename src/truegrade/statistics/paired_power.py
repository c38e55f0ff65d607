"""Power of the comparison of two given runs: minimum detectable difference and problems needed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from truegrade.statistics.paired import PairedComparison, gains_by_cluster
from truegrade.statistics.power import (
    ALPHA,
    POWER,
    mcnemar_detectable,
    mcnemar_tasks,
    mean_detectable,
    mean_tasks,
)
from truegrade.statistics.tally import TaskTally

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
