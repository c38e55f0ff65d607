"""Intervals for a share, and the beta, normal and t distributions that they are read off.

Intervals for a share: Wilson's score interval at the cluster-robust effective sample size.

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
from functools import lru_cache
from math import cos, exp, lgamma, log, log1p, pi, sin, sqrt, tan
from statistics import NormalDist

import msgspec

from truegrade.errors import UserError

# -------- The beta distribution without scipy, and what is read off it: exact intervals and tests for a share.


_TERMS = 10_000
_SMALL = 1e-300
_PRECISION = 1e-15
_HALVINGS = 60


def beta_cdf(x: float, a: float, b: float) -> float:
    """P(X <= x) of a beta variable: the regularised incomplete beta function, for a and b above 0.

    By its continued fraction (Abramowitz & Stegun 1964, 26.5.8), on the side of the mean where it converges fast.
    """
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1.0 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction by Lentz' method (Thompson & Barnett 1986, J. Computational Physics 64:490-509)."""
    c, d = 1.0, 1.0 / _away_from_0(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _away_from_0(1.0 + term * d)
            c = _away_from_0(1.0 + term / c)
            step = c * d
            value *= step
        if abs(step - 1.0) < _PRECISION:
            break
    return value


def _away_from_0(value: float) -> float:
    return value if abs(value) > _SMALL else _SMALL


def beta_quantile(probability: float, a: float, b: float) -> float:
    """The x at which `beta_cdf` reaches a probability; 1e-15 is left of the interval that it is sought in."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if beta_cdf(middle, a, b) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@lru_cache(maxsize=1 << 14)
def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval for a share of independent draws (Clopper & Pearson 1934, Biometrika 26:404-413).

    Raises:
        UserError: successes lie outside [0, n], or n is 0.
    """
    if n <= 0 or not 0 <= successes <= n:
        raise UserError(
            f"a share of {successes} out of {n} has no interval; 0 <= successes <= n and n > 0 is needed"
        )
    tail = (1.0 - confidence) / 2
    low = beta_quantile(tail, successes, n - successes + 1) if successes else 0.0
    high = beta_quantile(1.0 - tail, successes + 1, n - successes) if successes < n else 1.0
    return low, high


def binomial_tail(successes: int, n: int, share: float) -> float:
    """P(at least ``successes`` of ``n``) at a true share strictly between 0 and 1: the exact one-sided p-value."""
    return 1.0 if successes <= 0 else beta_cdf(share, successes, n - successes + 1)


# ------------------------------------- Quantiles of the normal distribution and of Student's t, without scipy.


EXPANSION_FROM = 100
"""Degrees of freedom from which the expansion in 1/df is used; its error is below 1e-10 at 95 %, 1e-8 at 99.9."""


def two_sided_z(confidence: float) -> float:
    """Half-width, in standard errors, of a two-sided normal interval.

    Raises:
        UserError: ``confidence`` is not strictly between 0 and 1.
    """
    if not 0.0 < confidence < 1.0:
        raise UserError(f"a confidence of {confidence} is not strictly between 0 and 1; 0.95 is customary")
    return NormalDist().inv_cdf((1.0 + confidence) / 2.0)


@lru_cache(maxsize=1 << 12)
def two_sided_t(confidence: float, df: int) -> float:
    """Half-width, in standard errors, of a two-sided t interval with ``df`` >= 1 degrees of freedom.

    Raises:
        UserError: ``confidence`` is not strictly between 0 and 1, or ``df`` is below 1.
    """
    if df < 1:
        raise UserError(f"a t interval needs at least 1 degree of freedom, not {df}; add clusters")
    z = two_sided_z(confidence)
    # The series has df / 2 terms, and each of 80 steps sums it: too slow for thousands of draws.
    return _expansion(z, df) if df >= EXPANSION_FROM else _bisect(confidence, df)


def _bisect(confidence: float, df: int) -> float:
    """Solve ``central_mass(theta) = confidence`` for t = sqrt(df) tan(theta)."""
    low, high = 0.0, pi / 2
    # More halvings than a double can tell apart.
    for _ in range(80):
        middle = (low + high) / 2
        if _central_mass(middle, df) < confidence:
            low = middle
        else:
            high = middle
    return sqrt(df) * tan((low + high) / 2)


def _central_mass(theta: float, df: int) -> float:
    """P(|T| < sqrt(df) tan(theta)) as a finite series (Abramowitz & Stegun 1964, 26.7.3 and 26.7.4)."""
    if df == 1:
        return 2 * theta / pi
    squared = cos(theta) ** 2
    odd = df % 2
    term = total = cos(theta) if odd else 1.0
    for step in range(2 + odd, df - 1, 2):
        term *= squared * (step - 1) / step
        total += term
    if odd:
        return 2 / pi * (theta + sin(theta) * total)
    return sin(theta) * total


def _expansion(z: float, df: int) -> float:
    """Cornish-Fisher expansion of the t quantile around the normal one (Abramowitz & Stegun 1964, 26.7.5)."""
    square = z * z
    terms = (
        z * (square + 1) / 4,
        z * ((5 * square + 16) * square + 3) / 96,
        z * (((3 * square + 19) * square + 17) * square - 15) / 384,
        z * ((((79 * square + 776) * square + 1482) * square - 1920) * square - 945) / 92160,
    )
    return z + sum(term / float(df) ** power for power, term in enumerate(terms, start=1))


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
