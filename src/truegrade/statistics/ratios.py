"""Several shares of the same problems at once, with the covariance that they have for being of the same problems.

Each share is a ratio of sums over problems, ``sum(top) / sum(bottom)``. Its variance is that of its linearised
residuals ``top - ratio * bottom`` summed over each cluster, and the covariance of two shares is the cross product
of theirs (Woodruff 1971, J. American Statistical Association 66:411-414). A share alone is exactly what
`truegrade.statistics.intervals.cluster_interval` says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

from truegrade.statistics.intervals import effective_sample_size, two_sided_z, wilson
from truegrade.statistics.paired import CHUNK_CELLS, DRAWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]


class Share(NamedTuple):
    """One share, problem by problem."""

    tops: Sequence[float]
    """E.g. probes accepted."""
    bottoms: Sequence[float]
    """E.g. probes; 0 where a problem has none."""
    draws: Sequence[int]
    """Independent draws that each problem holds at most."""


class Ratios:
    """Shares over the same problems.

    Args:
        shares: each with one number for every problem, and at least one bottom above 0.
        clusters: of each problem; clusters are taken for independent of each other.
        confidence: of all intervals, strictly between 0 and 1.
    """

    def __init__(self, shares: Sequence[Share], clusters: Sequence[str], confidence: float = 0.95) -> None:
        import numpy as np

        self.confidence = confidence
        self.z = two_sided_z(confidence)
        """Half-width of an ordinary interval in standard errors."""
        places = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
        index = np.array([places[name] for name in clusters])

        def summed(column: Sequence[float]) -> Floats:
            return np.bincount(index, weights=np.asarray(column, dtype=float), minlength=len(places))

        self.tops = np.array([summed(share.tops) for share in shares])
        """Sums by share and cluster."""
        self.bottoms = np.array([summed(share.bottoms) for share in shares])
        self._draws = [int(sum(share.draws)) for share in shares]
        self._clusters = [int(n) for n in (self.bottoms > 0).sum(axis=1)]
        totals = self.bottoms.sum(axis=1)
        values = self.tops.sum(axis=1) / totals
        residuals = (self.tops - values[:, None] * self.bottoms) / totals[:, None]
        # G / (G - 1): residuals about a ratio that the same clusters gave are too small.
        scale = np.sqrt([n / (n - 1) if n > 1 else 0.0 for n in self._clusters])
        self.covariance = (residuals * scale[:, None]) @ (residuals * scale[:, None]).T
        """Of the estimated shares."""
        # Summed floats may leave [0, 1] by their last bits, which `wilson` refuses.
        self.values: list[float] = np.clip(values, 0.0, 1.0).tolist()
        self._sizes = [self._size(place) for place in range(len(shares))]

    def bounds(self, place: int, critical: float) -> tuple[float, float] | None:
        """Wilson's interval of one share at its effective sample size; None for a single cluster.

        Args:
            place: of the share.
            critical: half-width in standard errors, 1.96 for 95 %.
        """
        if self._clusters[place] < 2:
            return None
        size = self._sizes[place]
        return wilson(self.values[place] * size, size, 2 * NormalDist().cdf(critical) - 1)

    def _size(self, place: int) -> float:
        """Effective sample size of a share; 0 for a single cluster."""
        clusters, variance = self._clusters[place], float(self.covariance[place, place])
        if clusters < 2:
            return 0.0
        return effective_sample_size(self.values[place], variance, self._draws[place], clusters, self.confidence)

    def correlation(self, first: int, second: int) -> float:
        """Of two estimated shares; 0 where one of them shows no variance."""
        spread = sqrt(float(self.covariance[first, first] * self.covariance[second, second]))
        if spread <= 1e-15:
            return 0.0
        return max(-1.0, min(1.0, float(self.covariance[first, second]) / spread))

    def resampled(self, draws: int = DRAWS, seed: int = 0) -> Floats:
        """Each share in each resample of whole clusters, in one row each: the joint cluster bootstrap.

        NaN where a resample holds nothing of a share. (Efron 1979; Field & Welsh 2007, as in
        `truegrade.statistics.paired`.)
        """
        import numpy as np

        return np.concatenate([self.at(times) for times in _times(self.tops.shape[1], draws, seed)], axis=1)

    def at(self, times: Floats) -> Floats:
        """Each share, in one row each, where clusters count as often as the rows of ``times`` say."""
        import numpy as np

        tops, bottoms = self.tops @ times.T, self.bottoms @ times.T
        shares: Floats = np.divide(tops, bottoms, out=np.full_like(tops, np.nan), where=bottoms > 0)
        return shares


def _times(clusters: int, draws: int, seed: int) -> Iterator[Floats]:
    """How often each cluster is drawn, a row for every resample, in parts that fit into memory."""
    import numpy as np

    generator = np.random.default_rng(seed)
    rows = max(1, CHUNK_CELLS // clusters)
    for start in range(0, draws, rows):
        size = min(rows, draws - start)
        yield generator.multinomial(clusters, [1 / clusters] * clusters, size=size).astype(float)


def percentile_interval(draws: Floats, confidence: float) -> tuple[float, float] | None:
    """Percentile interval of resampled values; None where too few of them exist."""
    import numpy as np

    found = draws[np.isfinite(draws)]
    if len(found) < len(draws) / 2:
        return None
    tail = (1.0 - confidence) / 2
    low, high = np.quantile(found, (tail, 1.0 - tail)).tolist()
    return low, high


# ---------------------------------- Intervals of sums and ratios of shares, made of the shares' own intervals.
# The variance of a sum is the sum of variances; MOVER ("method of variance estimates recovery") takes each from
# the distance between a share and the end of *its* interval that matters for the end sought (Zou & Donner 2008,
# Statistics in Medicine 27:1693-1702; for ratios Donner & Zou 2012, Statistical Methods in Medical Research
# 21:347-359). It is the delta method where the shares' intervals are symmetric, and it keeps a width where a
# share is 0 or 1, at which the delta method takes the share for known.


Bounds = tuple[float, float]
Correlation = Callable[[int, int], float]
"""Of the estimates at two places."""


def spread(
    coefficients: Sequence[float],
    values: Sequence[float],
    bounds: Sequence[Bounds],
    correlation: Correlation,
    side: int,
) -> float:
    """Distance from ``sum(coefficient * value)`` to the lower (``side`` -1) or upper (1) end of its interval."""
    parts = [
        coefficient * (high - value if coefficient * side > 0 else value - low)
        for coefficient, value, (low, high) in zip(coefficients, values, bounds, strict=True)
    ]
    square = sum(
        first * second * (1.0 if i == j else correlation(i, j))
        for i, first in enumerate(parts)
        for j, second in enumerate(parts)
        if first and second
    )
    return sqrt(max(0.0, square))


def ratio_span(top: float, bottom: float, of_top: Bounds, of_bottom: Bounds, correlation: float) -> Bounds:
    """Interval of ``top / bottom``: the ratios r at which the interval of ``top - r * bottom`` holds 0.

    Args:
        top: estimate of a share.
        bottom: of another, above 0.
        of_top: its interval.
        of_bottom: the other's.
        correlation: of the two estimates.

    Returns:
        Both ends, at least 0; the upper one is infinite where the bottom may be 0.
    """
    (l0, u0), (l1, u1) = of_top, of_bottom
    low = _ratio_end(
        top * bottom - correlation * (top - l0) * (u1 - bottom), l0 * (2 * top - l0), u1 * (2 * bottom - u1), -1
    )
    high = _ratio_end(
        top * bottom - correlation * (u0 - top) * (bottom - l1), u0 * (2 * top - u0), l1 * (2 * bottom - l1), 1
    )
    return max(0.0, low), high


def _ratio_end(middle: float, top: float, bottom: float, side: int) -> float:
    """A root of ``bottom r² - 2 middle r + top``: an end of the interval."""
    if bottom <= 0.0:
        return float("inf") if side > 0 else 0.0
    return (middle + side * sqrt(max(0.0, middle * middle - top * bottom))) / bottom


# --------------------------- The interval for a value that the data confine between two bounds and no further.
# Programs that are neither proven right nor wrong leave a share between what is proven and what it would be if
# all of them were wrong. More data make the bounds certain, and never the share.


METHOD = "Imbens and Manski"

# Halvings of an interval shorter than 5: 1e-14 is left.
_HALVINGS = 50


def imbens_manski_critical(gap: float, error: float, confidence: float = 0.95) -> float:
    """How many standard errors each bound is widened by (Imbens & Manski 2004, Econometrica 72:1845-1857).

    It solves ``Phi(c + gap / error) - Phi(-c) = confidence``, so that the interval covers the true value, wherever
    it lies between the bounds, with that probability: the two-sided quantile where the bounds meet, the one-sided
    one where they lie far apart, since the value then can be missed on one side only.

    Args:
        gap: upper bound less lower bound.
        error: the larger standard error of the two bounds.
        confidence: strictly between 0 and 1.
    """
    normal = NormalDist()
    high = two_sided_z(confidence)
    if gap <= 0.0:
        return high
    low = normal.inv_cdf(confidence)
    if error <= 0.0:
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if normal.cdf(middle + gap / error) - normal.cdf(-middle) < confidence:
            low = middle
        else:
            high = middle
    return high
