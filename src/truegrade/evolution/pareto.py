"""Multi-objective order: dominance, fronts, crowding (NSGA-II, Deb et al. 2002, IEEE TEC 6:182).

Everything is to be maximised. A violation is how far a point is from being allowed, 0 where it is. Deb's rule for
constraints (section VI there): allowed beats not allowed, of two that are not the lesser violation wins, and only
of two that are do the objectives decide. So a constraint orders points and never leaves none.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

Point = Sequence[float]


def dominates(a: Point, b: Point) -> bool:
    """Whether ``a`` is nowhere worse than ``b`` and somewhere better."""
    better = False
    for mine, other in zip(a, b, strict=True):
        if mine < other:
            return False
        better = better or mine > other
    return better


def beats(a: Point, b: Point, violation_a: float, violation_b: float) -> bool:
    """Constrained dominance, by Deb's rule."""
    if violation_a > 0.0 or violation_b > 0.0:
        return violation_a < violation_b
    return dominates(a, b)


def fronts(points: Sequence[Point], violations: Sequence[float] | None = None) -> list[list[int]]:
    """Indices of the points, front by front: what none beats, what only those beat, and so on.

    The fast non-dominated sort: every pair is compared once.
    """
    fouls = violations or [0.0] * len(points)
    beaten_by_me: list[list[int]] = [[] for _ in points]
    beaten_by = [0] * len(points)
    for i, point in enumerate(points):
        for j in range(i):
            if beats(point, points[j], fouls[i], fouls[j]):
                winner, loser = i, j
            elif beats(points[j], point, fouls[j], fouls[i]):
                winner, loser = j, i
            else:
                continue
            beaten_by_me[winner].append(loser)
            beaten_by[loser] += 1
    sorted_fronts = []
    current = [i for i, count in enumerate(beaten_by) if count == 0]
    while current:
        sorted_fronts.append(current)
        for winner in current:
            for loser in beaten_by_me[winner]:
                beaten_by[loser] -= 1
        done = set(current)
        current = sorted({j for i in current for j in beaten_by_me[i] if beaten_by[j] == 0} - done)
    return sorted_fronts


def crowding(points: Sequence[Point]) -> list[float]:
    """How much room each point of a front has: the sides of the box between its neighbours, each over the range.

    The ends of every objective have infinite room. An objective in which all points are equal says nothing about
    room, and is passed over: otherwise an arbitrary point would get infinite room from it.
    """
    room = [0.0] * len(points)
    for axis in zip(*points, strict=True):
        span = max(axis) - min(axis)
        if span <= 0.0:
            continue
        order = sorted(range(len(points)), key=axis.__getitem__)
        room[order[0]] = room[order[-1]] = inf
        for before, here, after in zip(order, order[1:], order[2:], strict=False):
            room[here] += (axis[after] - axis[before]) / span
    return room
