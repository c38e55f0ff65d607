"""The interval for a value that the data confine between two bounds and no further.

Programs that are neither proven right nor wrong leave a share between what is proven and what it would be if all
of them were wrong. More data make the bounds certain, and never the share.
"""

from __future__ import annotations

from statistics import NormalDist

from truegrade.statistics.quantiles import two_sided_z

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
