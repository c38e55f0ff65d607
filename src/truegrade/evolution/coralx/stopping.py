"""When CORAL-X gives up. Source: ``should_stop_early`` of ``core/services/population_manager.py``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import dist
from statistics import fmean, pstdev

from truegrade.evolution.coralx.gate import fitness
from truegrade.evolution.genomes import Evaluated
from truegrade.evolution.survival import points

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
