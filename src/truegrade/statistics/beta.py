"""The beta distribution without scipy, and what is read off it: exact intervals and tests for a share."""

from __future__ import annotations

from functools import lru_cache
from math import exp, lgamma, log, log1p

from truegrade.errors import UserError

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
