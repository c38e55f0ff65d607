"""Means of scores that are no shares, and shares of many problems with few draws each.

The mean of scores that are no shares: they may lie outside [0, 1], so intervals of shares do not apply.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

import msgspec

from truegrade.errors import UserError
from truegrade.records import Estimate
from truegrade.statistics.paired import bootstrap_interval

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


# -------- Shares of many problems with few draws each, drawn towards their mean: for ranking, not for testing.
# The empirical Bayes estimate under a beta-binomial model (Efron & Morris 1975, J. American Statistical
# Association 70:311-319; Kleinman 1973, 68:46-54): a problem with 1 of 1 is no worse than one with 9 of 10.


_NOT_IDENTIFIED = 0.5
"""Correlation within a problem taken where no problem has two draws: a prior worth one draw."""


def intraclass_correlation(successes: Sequence[int], draws: Sequence[int]) -> float | None:
    """How alike the draws of a problem are, by moments: 0 as draws of different problems, 1 all the same.

    The analysis-of-variance estimate for shares (Ridout, Demétrio & Firth 1999, Biometrics 55:137-148), cut to
    [0, 1]. Problems without draws are left out; None with fewer than two others, or without two draws of any.
    """
    cases = [(x, n) for x, n in zip(successes, draws, strict=True) if n]
    total, groups = sum(n for _, n in cases), len(cases)
    if groups < 2 or total == groups:
        return None
    mean = sum(x for x, _ in cases) / total
    between = sum(n * (x / n - mean) ** 2 for x, n in cases) / (groups - 1)
    within = sum(x * (n - x) / n for x, n in cases) / (total - groups)
    size = (total - sum(n * n for _, n in cases) / total) / (groups - 1)
    spread = between + (size - 1) * within
    return 0.0 if spread <= 0.0 else min(1.0, max(0.0, (between - within) / spread))


def shrunken_shares(successes: Sequence[int], draws: Sequence[int]) -> list[float | None]:
    """The posterior mean of each problem's share, in the order given; None for a problem without draws.

    The prior is a beta distribution of the pooled mean, worth ``(1 - r) / r`` draws at the moments' correlation r.
    """
    total = sum(draws)
    if not total:
        return [None] * len(draws)
    mean = sum(successes) / total
    alike = intraclass_correlation(successes, draws)
    alike = _NOT_IDENTIFIED if alike is None else alike
    # (x + s mean) / (n + s) with s = (1 - r) / r, multiplied by r, so that r = 0 gives the mean.
    return [
        None if not n else (alike * x + (1 - alike) * mean) / (alike * n + 1 - alike)
        for x, n in zip(successes, draws, strict=True)
    ]
