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
