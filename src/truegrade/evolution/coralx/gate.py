"""The threshold gate: what a genome must reach to breed, rising over the generations.

Source: ``core/domain/threshold_gate.py``, ``core/services/population_manager.py``. The source drops who fails any
bar, keeps the two fittest where fewer than two pass, and with its strictest bars drops the reference solution. The
other reading is a constraint: who misses by less is better (``pareto.beats``), and none is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, sqrt
from typing import Literal

from truegrade.evolution.coralx.tables import Thresholds
from truegrade.evolution.genomes import Evaluated
from truegrade.profiles.coralx_objectives import WEIGHTS

Schedule = Literal["sigmoid", "sqrt", "linear"]
FEWEST = 2
"""Genomes that a gate lets through at least."""


def sigma(generation: int, generations: int, schedule: Schedule = "sigmoid") -> float:
    """How far the bars have risen, 0 to 1."""
    if generations <= 0:
        return 1.0
    share = generation / generations
    if schedule == "sigmoid":
        return 1.0 / (1.0 + exp(-12.0 * (share - 0.5)))
    return sqrt(share) if schedule == "sqrt" else share


def bars(thresholds: Thresholds, risen: float) -> dict[str, float]:
    """What must be reached now, by objective."""
    return {name: low + risen * (thresholds.last[name] - low) for name, low in thresholds.base.items()}


def missing(objectives: Mapping[str, float], required: Mapping[str, float]) -> float:
    """By how much the bars are missed, summed over objectives; 0 where all are reached."""
    return sum(max(0.0, bar - objectives[name]) for name, bar in required.items() if name in objectives)


def admit(evaluated: Sequence[Evaluated], required: Mapping[str, float]) -> list[Evaluated]:
    """Who reaches every bar, or the two fittest where fewer than two do."""
    passed = [one for one in evaluated if missing(one.scores.objectives, required) <= 0.0]
    if len(passed) >= FEWEST:
        return passed
    return sorted(evaluated, key=lambda one: -fitness(one.scores.objectives))[:FEWEST]


def fitness(objectives: Mapping[str, float], weights: Mapping[str, float] = WEIGHTS) -> float:
    """The weighted sum of the objectives that have a weight; where none has, the mean of all."""
    weighted = [weights[name] * value for name, value in objectives.items() if name in weights]
    return sum(weighted) if weighted else sum(objectives.values()) / len(objectives)
