"""Intervals for a share: Wilson's score interval at the cluster-robust effective sample size.

Samples of one problem, and problems that share a question, succeed and fail together; an interval that takes them
for independent is too narrow (Miller 2024, arXiv 2411.00640). Here

1. the variance of the estimate is taken over clusters: linearised residuals are summed inside a cluster, squared,
   and scaled by G/(G-1);
2. it is turned into the number of independent draws that would have that variance, the effective sample size
   (Korn & Graubard 1998, Survey Methodology 24:193-201);
3. that number goes into Wilson's score interval (Wilson 1927, JASA 22:209-212), which stays inside [0, 1] and
   keeps its coverage near 0 and 1. Franco, Little, Louis & Slud 2019 (J. Survey Statistics and Methodology
   7:334-364) compare such intervals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import sqrt

import msgspec

from truegrade.errors import UserError
from truegrade.statistics.quantiles import two_sided_t, two_sided_z

METHOD = "Wilson score, cluster-robust effective sample size"
NO_METHOD = "none: a single cluster"


class Interval(msgspec.Struct, frozen=True):
    """Bounds in [0, 1]; None where no interval can be had."""

    low: float | None
    high: float | None
    method: str
    effective_n: float | None
    """Independent draws that would be as precise."""


def wilson(successes: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for ``successes`` out of ``n`` independent draws; neither need be whole.

    Raises:
        UserError: n is not positive, or successes lie outside [0, n].
    """
    if n <= 0 or not 0 <= successes <= n:
        raise UserError(
            f"a share of {successes} out of {n} has no interval; 0 <= successes <= n and n > 0 is needed"
        )
    z = two_sided_z(confidence)
    share, square = successes / n, z * z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * sqrt(share * (1 - share) / n + square / (4 * n * n))
    # These ends are 0 and 1 exactly; rounding would leave them a last bit off.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return low, high


def cluster_interval(
    scores: Sequence[float],
    weights: Sequence[float],
    clusters: Sequence[str],
    draws: Sequence[int],
    confidence: float = 0.95,
) -> Interval:
    """Interval for ``sum(scores) / sum(weights)``, a mean when every weight is 1.

    Args:
        scores: one per problem, between 0 and its weight.
        weights: one positive number per problem.
        clusters: the cluster of each problem; clusters are taken for independent of each other.
        draws: independent draws that each problem holds at most, e.g. its number of samples.
        confidence: strictly between 0 and 1.
    """
    variance = cluster_variance(scores, weights, clusters)
    if variance is None:
        return Interval(None, None, NO_METHOD, None)
    # Summed floats may leave [0, 1] by their last bits, which `wilson` refuses.
    share = min(1.0, max(0.0, sum(scores) / sum(weights)))
    size = effective_sample_size(share, variance, sum(draws), len(set(clusters)), confidence)
    low, high = wilson(share * size, size, confidence)
    return Interval(low, high, METHOD, size)


def cluster_variance(scores: Sequence[float], weights: Sequence[float], clusters: Sequence[str]) -> float | None:
    """Variance of ``sum(scores) / sum(weights)`` over clusters; None where there is a single one."""
    totals = _residuals_by_cluster(scores, weights, clusters)
    if len(totals) < 2:
        return None
    # G / (G - 1): residuals about a ratio that the same clusters gave are too small.
    return len(totals) / (len(totals) - 1) * sum(z * z for z in totals) / sum(weights) ** 2


def _residuals_by_cluster(
    scores: Sequence[float], weights: Sequence[float], clusters: Sequence[str]
) -> list[float]:
    """Linearised residuals ``score - ratio * weight``, summed over each cluster."""
    ratio = sum(scores) / sum(weights)
    totals: dict[str, float] = defaultdict(float)
    for score, weight, cluster in zip(scores, weights, clusters, strict=True):
        totals[cluster] += score - ratio * weight
    return list(totals.values())


def effective_sample_size(share: float, variance: float, draws: int, clusters: int, confidence: float) -> float:
    """How many independent draws would estimate ``share`` with this ``variance``.

    - The design effect is ``variance`` over that of ``draws`` independent draws, ``share * (1 - share) /
      (draws - 1)``. It is taken as at least 1: draws of one cluster can resemble each other, but nothing makes
      them more informative than independent ones, so the size never exceeds ``draws``.
    - A variance estimated from few clusters is itself uncertain; as Korn and Graubard do, the size shrinks by
      the squared ratio of t quantiles at ``draws - 1`` and at ``clusters - 1`` degrees of freedom.
    - Where no variance was seen (share 0 or 1, or equal clusters) nothing is known about how alike the draws of
      a cluster are, so they are taken for identical: the size is the number of clusters.

    With one draw per problem and one problem per cluster this is exactly the number of problems.
    """
    binomial = share * (1.0 - share)
    # Equal clusters leave a variance of rounding errors, by which nothing is to be divided.
    if binomial <= 0.0 or variance <= 1e-12 * binomial:
        return float(clusters)
    design_effect = max(1.0, variance * (draws - 1) / binomial)
    few_clusters = two_sided_t(confidence, draws - 1) / two_sided_t(confidence, clusters - 1)
    return draws / design_effect * few_clusters**2
