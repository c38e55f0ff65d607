"""The archive of a search: its non-dominated genomes and their hypervolume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from truegrade.evolution.genomes import Evaluated
from truegrade.evolution.hypervolume import contribution
from truegrade.evolution.pareto import dominates
from truegrade.evolution.survival import point, shortfall


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
