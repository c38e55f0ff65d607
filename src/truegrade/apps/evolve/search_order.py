"""How genomes are ordered: dominance, hypervolume, survival, and the archive of a search.

Multi-objective order: dominance, fronts, crowding (NSGA-II, Deb et al. 2002, IEEE TEC 6:182).

Everything is to be maximised. A violation is how far a point is from being allowed, 0 where it is. Deb's rule for
constraints (section VI there): allowed beats not allowed, of two that are not the lesser violation wins, and only
of two that are do the objectives decide. So a constraint orders points and never leaves none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite, prod

import msgspec

from truegrade.apps.evolve.genomes import Evaluated, Fidelity
from truegrade.errors import UserError

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


# -------- Exact hypervolume: the volume dominated above a fixed reference point. All objectives are maximised.
# By the WFG algorithm (While, Bradstreet & Barone 2012, IEEE TEC 16:86): the volume is the sum over points of
# what each adds to those after it. Points are taken in rising order of the last objective, so every later point,
# limited to the current one, shares its last coordinate, and the rest is a volume with one dimension less.
#
# A volume means something only against the same reference point; that is why it is fixed before a search and
# never derived from the points seen.


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


# -------------------------------- From scores to an order: which of the evaluated genomes are the better ones.


FULL = Fidelity()


class GenomeStanding(msgspec.Struct, frozen=True):
    """Where a genome stands among others; lesser is better."""

    front: int
    """From 0."""
    closeness: float
    """The crowding distance, negated: minus infinity at the ends of a front."""
    place: int
    """Among those given: decides where all else is equal."""


def point(scores: Mapping[str, float], objectives: Sequence[str]) -> tuple[float, ...]:
    """The objectives as coordinates.

    Raises:
        UserError: one is missing, or is no finite number.
    """
    coordinates = tuple(scores.get(name, float("nan")) for name in objectives)
    for name, value in zip(objectives, coordinates, strict=True):
        if not isfinite(value):
            raise UserError(f"objective {name!r} has no finite score; scored were {', '.join(scores) or 'none'}")
    return coordinates


def points(evaluated: Sequence[Evaluated], objectives: Sequence[str]) -> list[tuple[float, ...]]:
    """The coordinates of each."""
    return [point(one.scores.objectives, objectives) for one in evaluated]


def varying(evaluated: Sequence[Evaluated], objectives: Sequence[str]) -> tuple[str, ...]:
    """The objectives in which any two differ. One that never varies decides nothing; a report names it."""
    columns = zip(*points(evaluated, objectives), strict=True)
    return tuple(name for name, column in zip(objectives, columns, strict=False) if max(column) > min(column))


def shortfall(evaluated: Evaluated) -> float:
    """How much less than everything was spent on an evaluation: 0 for a full one."""
    return (FULL.epochs - evaluated.fidelity.epochs) + (FULL.problems - evaluated.fidelity.problems)


def standings(
    evaluated: Sequence[Evaluated], objectives: Sequence[str], violations: Sequence[float] | None = None
) -> list[GenomeStanding]:
    """Fronts and crowding over the objectives that vary.

    Only evaluations of one fidelity are compared; all fronts of a higher one come before those of a lower, so a
    cheap evaluation never outranks a full one, whatever it claims.
    """
    names = varying(evaluated, objectives)
    coordinates = points(evaluated, names)
    fouls = violations or [0.0] * len(evaluated)
    tiers: dict[float, list[int]] = {}
    for place, one in enumerate(evaluated):
        tiers.setdefault(shortfall(one), []).append(place)
    found: dict[int, GenomeStanding] = {}
    number = 0
    for _, tier in sorted(tiers.items()):
        for front in fronts([coordinates[i] for i in tier], [fouls[i] for i in tier]):
            places = [tier[member] for member in front]
            room = crowding([coordinates[i] for i in places])
            found |= {i: GenomeStanding(number, -space, i) for i, space in zip(places, room, strict=True)}
            number += 1
    return [found[i] for i in range(len(evaluated))]


def order(standing: GenomeStanding) -> tuple[int, float, int]:
    """A key: the front, then more room, then the earlier."""
    return standing.front, standing.closeness, standing.place


def select(
    evaluated: Sequence[Evaluated],
    objectives: Sequence[str],
    count: int,
    violations: Sequence[float] | None = None,
) -> list[Evaluated]:
    """The best ``count``, best first."""
    ranked = sorted(standings(evaluated, objectives, violations), key=order)
    return [evaluated[standing.place] for standing in ranked[:count]]


# ----------------------------------- The archive of a search: its non-dominated genomes and their hypervolume.


class Archive:
    """Non-dominated genomes of a whole search, with the exact hypervolume after every evaluation.

    Only full evaluations enter. Of a genome that is evaluated twice the first scores count: the better of two
    noisy measurements would be a bias.

    Args:
        objectives: names; more is better.
        reference: the point, by objective, above which volume is counted; fixed for a search and all it is
            compared with.
    """

    def __init__(self, objectives: Sequence[str], reference: Mapping[str, float]) -> None:
        self.objectives = tuple(objectives)
        self.reference = point(reference, self.objectives)
        self._front: list[tuple[tuple[float, ...], Evaluated]] = []
        self._seen: set[str] = set()
        self._lows: tuple[float, ...] | None = None
        self._highs: tuple[float, ...] = ()
        self.trace: list[float] = []
        """Hypervolume after 1, 2, ... evaluations, those at a lower fidelity counted."""

    @property
    def front(self) -> tuple[Evaluated, ...]:
        """What no other dominates, in the order of evaluation. Equals are all kept."""
        return tuple(one for _, one in self._front)

    @property
    def volume(self) -> float:
        """Hypervolume so far."""
        return self.trace[-1] if self.trace else 0.0

    @property
    def constant(self) -> tuple[str, ...]:
        """Objectives in which all genomes seen were equal: they decided nothing."""
        if self._lows is None:
            return ()
        bounds = zip(self.objectives, self._lows, self._highs, strict=True)
        return tuple(name for name, low, high in bounds if low == high)

    def add(self, evaluated: Evaluated) -> bool:
        """Take note of an evaluation; whether it is on the front now.

        Raises:
            UserError: an objective has no finite score.
        """
        place = point(evaluated.scores.objectives, self.objectives)
        self.trace.append(self.volume)
        if shortfall(evaluated) > 0.0 or evaluated.genome.id in self._seen:
            return False
        self._seen.add(evaluated.genome.id)
        self._lows = tuple(map(min, self._lows or place, place))
        self._highs = tuple(map(max, self._highs or place, place))
        if any(dominates(other, place) for other, _ in self._front):
            return False
        self.trace[-1] += contribution(place, [other for other, _ in self._front], self.reference)
        self._front = [(other, one) for other, one in self._front if not dominates(place, other)]
        self._front.append((place, evaluated))
        return True
