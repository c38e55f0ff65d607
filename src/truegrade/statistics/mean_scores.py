"""The mean of scores that are no shares: they may lie outside [0, 1], so intervals of shares do not apply."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

import msgspec

from truegrade.errors import UserError
from truegrade.records import Estimate
from truegrade.statistics.bootstrap import bootstrap_interval

METHOD = "cluster bootstrap, percentile"
NO_CLUSTERS = "none: a single cluster"
NO_SPREAD = "none: all problems have the same score"


class ProblemScores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one problem's graded samples."""

    cluster: str
    scores: tuple[float, ...]


def mean_score(metric: str, problems: Sequence[ProblemScores], confidence: float = 0.95) -> Estimate:
    """Mean over problems of the mean over a problem's samples; problems without one are left out and counted.

    Where all problems have the same score there is no interval: draws from equal values are equal, and a width of
    zero would say that nothing is uncertain.

    Args:
        metric: its name.
        problems: those that count.
        confidence: of the interval, strictly between 0 and 1.

    Raises:
        UserError: no problem has a sample.
    """
    counted = [problem for problem in problems if problem.scores]
    if not counted:
        raise UserError(f"{metric} needs a graded sample of at least one problem")
    clusters: dict[str, list[float]] = defaultdict(list)
    for problem in counted:
        clusters[problem.cluster].append(fmean(problem.scores))
    values = [value for cluster in clusters.values() for value in cluster]
    low = high = None
    method = NO_CLUSTERS if len(clusters) < 2 else NO_SPREAD
    if len(clusters) >= 2 and max(values) > min(values):
        interval = bootstrap_interval(list(clusters.values()), confidence)
        low, high, method = interval.low, interval.high, METHOD
    return Estimate(
        metric=metric,
        value=fmean(values),
        low=low,
        high=high,
        confidence=confidence,
        method=method,
        samples=sum(len(problem.scores) for problem in counted),
        tasks=len(counted),
        clusters=len(clusters),
        left_out=len(problems) - len(counted),
    )
