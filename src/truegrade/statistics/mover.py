"""Intervals of sums and ratios of shares, made of the shares' own intervals.

The variance of a sum is the sum of variances; MOVER ("method of variance estimates recovery") takes each from the
distance between a share and the end of *its* interval that matters for the end sought (Zou & Donner 2008,
Statistics in Medicine 27:1693-1702; for ratios Donner & Zou 2012, Statistical Methods in Medical Research
21:347-359). It is the delta method where the shares' intervals are symmetric, and it keeps a width where a share
is 0 or 1, at which the delta method takes the share for known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

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
