"""Exact hypervolume: the volume dominated above a fixed reference point. All objectives are maximised.

By the WFG algorithm (While, Bradstreet & Barone 2012, IEEE TEC 16:86): the volume is the sum over points of what
each adds to those after it. Points are taken in rising order of the last objective, so every later point, limited
to the current one, shares its last coordinate, and the rest is a volume with one dimension less.

A volume means something only against the same reference point; that is why it is fixed before a search and never
derived from the points seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from truegrade.evolution.pareto import Point, dominates


def hypervolume(points: Sequence[Point], reference: Point) -> float:
    """Volume dominated by the points and above the reference; a point not above it everywhere adds none."""
    return _volume(_front(_above(points, reference)))


def contribution(point: Point, others: Sequence[Point], reference: Point) -> float:
    """Volume that a point adds to that of the others."""
    above = _above([point], reference)
    return _added(above[0], _above(others, reference)) if above else 0.0


def _above(points: Sequence[Point], reference: Point) -> list[tuple[float, ...]]:
    """The points that count, with the reference moved to the origin."""
    moved = (tuple(x - r for x, r in zip(point, reference, strict=True)) for point in points)
    return [point for point in moved if min(point) > 0.0]


def _front(points: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """The points that no other dominates, each once."""
    kept: list[tuple[float, ...]] = []
    for point in sorted(set(points), reverse=True):  # whoever dominates a point comes before it
        if not any(dominates(other, point) for other in kept):
            kept.append(point)
    return kept


def _volume(front: list[tuple[float, ...]]) -> float:
    if not front:
        return 0.0
    if len(front) == 1:
        return prod(front[0])
    if len(front[0]) == 1:
        return max(front)[0]
    if len(front[0]) == 2:
        return _area(front)
    rising = sorted(front, key=lambda point: point[-1])
    total = 0.0
    for index, point in enumerate(rising):
        rest = [other[:-1] for other in rising[index + 1 :]]
        total += point[-1] * _added(point[:-1], rest)
    return total


def _area(front: list[tuple[float, ...]]) -> float:
    """In two dimensions: a staircase."""
    total, height = 0.0, 0.0
    for width, top in sorted(front, reverse=True):
        total += width * (top - height)
        height = top
    return total


def _added(point: tuple[float, ...], others: Sequence[tuple[float, ...]]) -> float:
    """The point's own box, less what the others cover of it."""
    limited = [tuple(map(min, point, other)) for other in others]
    return prod(point) - _volume(_front(limited))
