"""How alike two programs run: Jaccard similarity of what is visited, and of the steps from one place to the next.

A mutant's places are told in the original's coordinates. What lies inside the mutated span is one place in both:
the comparison is of the way around the change, not of the change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from truegrade.builders.mutation.mutants import Mutant
from truegrade.builders.mutation.observing import Observation, Place

Point = tuple[int, int]
_EXPRESSION = 4
"""Numbers of a place that is an expression; a line has one."""


def similarity(original: Observation, mutant: Observation, change: Mutant) -> tuple[float, float]:
    """Jaccard similarities of visited places and of arcs, over all cases together; 1 means the same way."""
    begin, end = change.span[:2], change.span[2:]
    places, arcs = _told(original, _projection(begin, end, end))
    other_places, other_arcs = _told(mutant, _projection(begin, end, change.new_end))
    return _jaccard(places, other_places), _jaccard(arcs, other_arcs)


_Told = tuple[frozenset[Hashable], frozenset[Hashable]]


def _told(seen: Observation, project: Callable[[Place], Place]) -> _Told:
    """Places and arcs in the original's coordinates, each with its case."""
    places: set[Hashable] = set()
    arcs: set[Hashable] = set()
    for number, case in enumerate(seen.cases):
        places.update((number, project(place)) for place in case.places)
        for one, other in case.arcs:
            begin, end = project(one), project(other)
            if begin != end or one == other:  # else a step within the mutated span
                arcs.add((number, begin, end))
    return frozenset(places), frozenset(arcs)


def _projection(begin: Point, end: Point, new_end: Point) -> Callable[[Place], Place]:
    """Maps places of a text in which ``begin`` to ``new_end`` stands for the original's ``begin`` to ``end``."""

    def point(line: int, column: int) -> Point:
        if (line, column) < new_end:
            return line, column
        if line == new_end[0]:
            return end[0], column - new_end[1] + end[1]
        return line - new_end[0] + end[0], column

    def project(place: Place) -> Place:
        if len(place) != _EXPRESSION:
            line = place[0]
            return place if line <= begin[0] else (max(begin[0], line - new_end[0] + end[0]),)
        first, last = (place[0], place[1]), (place[2], place[3])
        if begin <= first and last <= new_end:
            return (*begin, *end)
        return (*point(*first), *point(*last))

    return project


def _jaccard(one: frozenset[Hashable], other: frozenset[Hashable]) -> float:
    union = one | other
    return len(one & other) / len(union) if union else 1.0
