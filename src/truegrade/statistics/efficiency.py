"""How fast right answers are: the score of one, and eff@k, of Qiu et al. 2024 (arXiv 2406.06647, section 3).

The formulas are those of q-rz/enamel@b97da79 ``enam/evaluate.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

import msgspec

from truegrade.errors import UserError
from truegrade.records import Estimate
from truegrade.statistics.bootstrap import bootstrap_interval

METHOD = "cluster bootstrap, percentile"
NO_METHOD = "none: a single cluster"


class TaskScores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one problem's graded samples; a wrong one has 0."""

    cluster: str
    scores: tuple[float, ...]


def typical_cost(costs: Sequence[float]) -> float:
    """The Hodges-Lehmann estimate of repeated measurements: the median of the means of all pairs, each with itself
    included.

    Raises:
        UserError: there are none.
    """
    if not costs:
        raise UserError("a typical cost needs at least one measurement; measure once")
    return median((one + other) / 2 for place, one in enumerate(costs) for other in costs[: place + 1])


def level_efficiency(cost: float, reference: float, limit: float) -> float:
    """``max(0, limit - cost) / (limit - reference)``: 1 where an answer costs what the reference costs.

    Args:
        cost: of the answer on the level's most expensive test.
        reference: of the reference on its most expensive one, in the same unit.
        limit: what an answer may cost at most.

    Raises:
        UserError: the reference itself is not below the limit.
    """
    if reference >= limit:
        raise UserError(f"the reference costs {reference:g}, which is not below the limit {limit:g}")
    return max(0.0, limit - cost) / (limit - reference)


def sample_efficiency(levels: Sequence[float], hardness: Sequence[float]) -> float:
    """The mean of a sample's levels, weighted by hardness; levels that it did not reach count as 0.

    Raises:
        UserError: there are more levels than weights, or no weight.
    """
    if len(levels) > len(hardness) or not sum(hardness) > 0:
        raise UserError(f"{len(levels)} levels cannot be weighted by hardness {list(hardness)}")
    return sum(weight * level for weight, level in zip(hardness, levels, strict=False)) / sum(hardness)


def eff_at_k(scores: Sequence[float], k: int) -> float:
    """Estimate the expected best score among ``k`` samples from those of ``n``: without bias, whatever their law.

    The mean of the maximum over all subsets of k, as ``sum over r of C(r-1, k-1) / C(n, k) * (r-th smallest)``
    (theorem 1 there); the weights by recursion from the largest, as upstream computes them. Scores of 0 and 1 give
    pass@k.

    Raises:
        UserError: k is not between 1 and n.
    """
    n = len(scores)
    if not 1 <= k <= n:
        raise UserError(f"eff@{k} cannot be estimated from {n} samples; choose k between 1 and {n}")
    weight, total = k / n, 0.0
    for rank, score in zip(range(n, k - 1, -1), sorted(scores, reverse=True), strict=False):
        total += weight * score
        weight *= 1 - (k - 1) / (rank - 1) if rank > 1 else 0.0
    return total


def mean_eff_at_k(tasks: Sequence[TaskScores], k: int, confidence: float = 0.95) -> Estimate:
    """Mean over problems of eff@k; those with fewer than k samples are left out and counted.

    The interval is a bootstrap over clusters: scores may exceed 1, so the intervals of shares do not apply.

    Raises:
        UserError: no problem has k samples.
    """
    counted = [task for task in tasks if len(task.scores) >= k]
    if not counted:
        raise UserError(f"eff@{k} needs {k} samples of at least one problem; generate more samples (`n`)")
    values = [eff_at_k(task.scores, k) for task in counted]
    clusters: dict[str, list[float]] = defaultdict(list)
    for task, value in zip(counted, values, strict=True):
        clusters[task.cluster].append(value)
    interval = bootstrap_interval(list(clusters.values()), confidence)
    return Estimate(
        metric=f"eff@{k}",
        value=sum(values) / len(values),
        low=interval.low,
        high=interval.high,
        confidence=confidence,
        method=NO_METHOD if interval.low is None else METHOD,
        samples=sum(len(task.scores) for task in counted),
        tasks=len(counted),
        clusters=len(clusters),
        left_out=len(tasks) - len(counted),
    )
