"""CORAL-X's rules beside the automaton: thresholds, the gate for breeding, and when it gives up.

Thresholds that CORAL-X's configurations give. Sources: ``config/codellama_modal.yaml``, ``archive`` = the
deleted ``config/main.yaml`` (``1b8597a^``), ``spec`` = the architecture document's targets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import dist, exp, sqrt
from statistics import fmean, pstdev
from types import MappingProxyType
from typing import Literal

import msgspec

from truegrade.evolution.genomes import Evaluated
from truegrade.evolution.search_order import points
from truegrade.profiles.coralx_objectives import WEIGHTS


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """What a genome must reach in each objective, at first and at last. An objective not named has no bar."""

    base: Mapping[str, float]
    last: Mapping[str, float]


def _thresholds(base: tuple[float, ...], last: tuple[float, ...]) -> Thresholds:
    names = ("bugfix", "style", "security", "runtime", "syntax")
    return Thresholds(base=dict(zip(names, base, strict=True)), last=dict(zip(names, last, strict=True)))


THRESHOLDS = MappingProxyType(
    {
        "codellama_modal": _thresholds((0.3, 0.3, 0.4, 0.3, 0.2), (0.8, 0.7, 0.9, 0.7, 0.8)),
        "archive": _thresholds((0.25, 0.35, 0.4, 0.3, 0.3), (0.75, 0.8, 0.85, 0.8, 0.9)),
        "spec": _thresholds((0.6, 0.8, 0.9, 0.7, 0.3), (0.9, 0.97, 1.0, 0.9, 0.9)),
    }
)


# ------------------------- The threshold gate: what a genome must reach to breed, rising over the generations.
# Source: ``core/domain/threshold_gate.py``, ``core/services/population_manager.py``. The source drops who fails
# any bar, keeps the two fittest where fewer than two pass, and with its strictest bars drops the reference
# solution. The other reading is a constraint: who misses by less is better (``pareto.beats``), and none is
# dropped.


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


# ------------ When CORAL-X gives up. Source: ``should_stop_early`` of ``core/services/population_manager.py``.


WINDOW = 5
"""Generations that are looked back on."""
LEAST_GAIN = 0.001
ALIKE = 0.1
"""Diversity below which a generation counts as uniform."""


def diversity(evaluated: Sequence[Evaluated], objectives: Sequence[str]) -> float:
    """Mean of three: spread of fitness, share of different adapters, mean distance of scores."""
    if len(evaluated) <= 1:
        return 0.0
    adapters = {
        (one.genome.adapter.rank, one.genome.adapter.alpha, one.genome.adapter.modules, one.genome.adapter.dropout)
        for one in evaluated
    }
    distances = [dist(a, b) for a, b in combinations(points(evaluated, objectives), 2)]
    spread = pstdev(fitness(one.scores.objectives) for one in evaluated)
    return fmean([spread, len(adapters) / len(evaluated), fmean(distances)])


def stops(best: Sequence[float], diversities: Sequence[float]) -> bool:
    """Whether the last five generations gained next to nothing and at least two of them were uniform.

    Args:
        best: greatest fitness of each generation so far.
        diversities: of each generation so far.
    """
    if len(best) <= WINDOW:
        return False
    flat = max(best[-WINDOW:]) - min(best[-WINDOW:]) < LEAST_GAIN
    uniform = sum(value < ALIKE for value in diversities[-WINDOW:])
    return flat and uniform >= WINDOW // 2
