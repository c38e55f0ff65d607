"""From scores to an order: which of the evaluated genomes are the better ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

import msgspec

from truegrade.errors import UserError
from truegrade.evolution.genomes import Evaluated, Fidelity
from truegrade.evolution.pareto import crowding, fronts

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
