"""pass@1 of a grader that is never wrong, from the grader that was used and an audit of some of its verdicts.

Two-phase sampling (Neyman 1938, J. American Statistical Association 33:101-116; Cochran 1977, Sampling
Techniques, chapter 12): every sample has the grader's verdict, and a simple random sample of the passes, or of the
failures too, has a right one. The rate is the sum over both verdicts of their share P times the share r of the
audited ones that are right. Its error has two independent parts, each with an interval of its own, put together as
the square root of the summed squares of their distances (MOVER, `truegrade.statistics.ratios`):

- that the problems and samples are a sample: Wilson's interval at the cluster-robust effective sample size of the
  rate that an audit of everything would give. Its variance is the ultimate cluster variance of the linearised
  estimate (Hansen, Hurwitz & Madow 1953), less the audit's part of it;
- that only some verdicts were audited: Wilson's interval of r with the finite-population correction, audited
  verdicts counted as ``A (C - 1) / (C - A)`` of C (Cochran 1977, section 2.6; of unequal weights Kish's 1965
  effective number). It is nothing once all are audited.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import sqrt

import msgspec

from truegrade.statistics.intervals import NO_METHOD, effective_sample_size, wilson
from truegrade.statistics.ratios import Bounds
from truegrade.statistics.tally import TaskTally

METHOD = "two-phase: Wilson by clusters, and of the audit with finite-population correction, by MOVER"
USUAL_RIGHT = 0.8
"""Share of passes that a plan takes for right, by guess; the more are right, the narrower is the interval."""
WIDER = 1.1
"""Times the width with every pass audited that is accepted where nobody says how wide an interval may be."""


class AuditedTask(msgspec.Struct, frozen=True, kw_only=True):
    """One problem: the grader's verdicts, and what the audit made of some of them."""

    task_id: str
    cluster: str
    n: int
    """Samples; at least 1."""
    c: int
    """Those that the grader passed."""
    audited: int = 0
    """Passes that the audit gave a verdict on."""
    right: int = 0
    """Of these."""
    failures_audited: int = 0
    failures_right: int = 0


class AuditedRate(msgspec.Struct, frozen=True, kw_only=True):
    """The corrected pass@1; bounds are None where all problems are one cluster."""

    value: float
    low: float | None
    high: float | None
    sampling: Bounds | None
    """The interval if every verdict were audited and gave what the sample gave."""
    right_of_passes: float
    right_of_passes_bounds: Bounds
    """Of this run's passes: it is exact once all are audited."""
    method: str = METHOD


class _Verdicts:
    """The passes of all problems, or their failures, weighted as pass@1 weights them."""

    def __init__(self, rows: Sequence[AuditedTask], *, passes: bool) -> None:
        self.sizes = [row.c if passes else row.n - row.c for row in rows]
        self.audited = [row.audited if passes else row.failures_audited for row in rows]
        self.right = [row.right if passes else row.failures_right for row in rows]
        self.each = [1 / row.n for row in rows]
        self.share = sum(size * each for size, each in zip(self.sizes, self.each, strict=True)) / len(rows)
        self.weight = sum(m * each for m, each in zip(self.audited, self.each, strict=True))
        self.squares = sum(m * each**2 for m, each in zip(self.audited, self.each, strict=True))
        found = sum(y * each for y, each in zip(self.right, self.each, strict=True))
        self.rate = min(1.0, found / self.weight) if self.weight else 0.0
        """Share that is right; 0 where none was audited, which must then be so."""

    def residuals(self, problems: int) -> list[float]:
        """What each problem adds to the linearised estimate of ``share * rate``."""
        return [
            (self.rate * (size * each - self.share)) / problems
            + (self.share * each * (y - self.rate * m) / self.weight if self.weight else 0.0)
            for size, each, m, y in zip(self.sizes, self.each, self.audited, self.right, strict=True)
        ]

    @property
    def variance(self) -> float:
        """Of ``share * rate`` by the audit alone."""
        count, total = sum(self.audited), sum(self.sizes)
        if count < 2:
            return 0.0
        square = sum(
            each**2 * (y * (1 - self.rate) ** 2 + (m - y) * self.rate**2)
            for each, m, y in zip(self.each, self.audited, self.right, strict=True)
        )
        return float(self.share**2 * (1 - count / total) * count / (count - 1) * square / self.weight**2)

    def bounds(self, confidence: float) -> Bounds:
        """Of the rate among this run's verdicts."""
        count, total = sum(self.audited), sum(self.sizes)
        if not count or count == total:
            return self.rate, self.rate
        size = self.weight**2 / self.squares * (total - 1) / (total - count)
        return wilson(self.rate * size, size, confidence)


def audited_rate(rows: Sequence[AuditedTask], confidence: float = 0.95) -> AuditedRate:
    """pass@1 corrected by an audit: the mean over problems of the share of right samples.

    Failures count as wrong unless some of them were audited.

    Args:
        rows: one a problem; where the grader passed anything, at least one pass is audited.
        confidence: of all intervals.
    """
    passes, failures = _Verdicts(rows, passes=True), _Verdicts(rows, passes=False)
    parts = [passes, failures] if any(failures.audited) else [passes]
    value = min(1.0, sum(part.share * part.rate for part in parts))
    residuals = [sum(each) for each in zip(*(part.residuals(len(rows)) for part in parts), strict=True)]
    plain = [
        sum(part.rate * (size * each - part.share) for part, size in zip(parts, sizes, strict=True)) / len(rows)
        for each, *sizes in zip(passes.each, *(part.sizes for part in parts), strict=True)
    ]
    clusters = [row.cluster for row in rows]
    variance = max(
        _by_cluster(residuals, clusters) - sum(part.variance for part in parts), _by_cluster(plain, clusters)
    )
    sampling = _sampling(value, variance, rows, confidence)
    bounds = [part.bounds(confidence) for part in parts]
    low, high = (None, None) if sampling is None else _joined(value, sampling, parts, bounds)
    return AuditedRate(
        value=value,
        low=low,
        high=high,
        sampling=sampling,
        right_of_passes=passes.rate,
        right_of_passes_bounds=bounds[0],
        method=METHOD if sampling else NO_METHOD,
    )


def _by_cluster(residuals: Sequence[float], clusters: Sequence[str]) -> float:
    """Sum of the squares of each cluster's residuals, scaled by G / (G - 1)."""
    totals: dict[str, float] = defaultdict(float)
    for residual, cluster in zip(residuals, clusters, strict=True):
        totals[cluster] += residual
    return len(totals) / max(1, len(totals) - 1) * sum(total**2 for total in totals.values())


def _sampling(value: float, variance: float, rows: Sequence[AuditedTask], confidence: float) -> Bounds | None:
    clusters = len({row.cluster for row in rows})
    if clusters < 2:
        return None
    size = effective_sample_size(value, variance, sum(row.n for row in rows), clusters, confidence)
    return wilson(value * size, size, confidence)


def _joined(value: float, sampling: Bounds, parts: Sequence[_Verdicts], bounds: Sequence[Bounds]) -> Bounds:
    below, above = (value - sampling[0]) ** 2, (sampling[1] - value) ** 2
    for part, (low, high) in zip(parts, bounds, strict=True):
        below += (part.share * (part.rate - low)) ** 2
        above += (part.share * (high - part.rate)) ** 2
    return max(0.0, value - sqrt(below)), min(1.0, value + sqrt(above))


# --------------------------------------------------------------------------------------------- planning


def expected_width(
    tallies: Sequence[TaskTally], audited: int, right: float = USUAL_RIGHT, confidence: float = 0.95
) -> float:
    """Width of the interval that an audit of so many passes should give.

    Args:
        tallies: of the grader, each with a sample.
        audited: passes, chosen at random among all.
        right: share of passes that are right, by guess or by an earlier audit.
        confidence: of the interval.
    """
    passes = sum(tally.c for tally in tallies)
    problems = len(tallies)
    share = sum(tally.c / tally.n for tally in tallies) / problems
    between = _by_cluster(
        [right * (tally.c / tally.n - share) / problems for tally in tallies], [tally.cluster for tally in tallies]
    )
    within = right * (1 - right) * sum(tally.c / tally.n**2 for tally in tallies) / problems**2
    rows = [AuditedTask(task_id=each.task_id, cluster=each.cluster, n=each.n, c=each.c) for each in tallies]
    value = share * right
    sampling = _sampling(value, between + within, rows, confidence)
    if sampling is None or not passes:
        return 1.0
    low = high = right
    if audited < passes:
        size = max(1, audited) * (passes - 1) / (passes - audited)
        low, high = wilson(right * size, size, confidence)
    below = sqrt((value - sampling[0]) ** 2 + (share * (right - low)) ** 2)
    above = sqrt((sampling[1] - value) ** 2 + (share * (high - right)) ** 2)
    return min(1.0, value + above) - max(0.0, value - below)


def audits_needed(
    tallies: Sequence[TaskTally], width: float | None = None, right: float = USUAL_RIGHT, confidence: float = 0.95
) -> int:
    """The fewest passes whose audit should give an interval of this width; all of them where none does.

    Args:
        tallies: as `expected_width` takes them.
        width: of the interval; None for `WIDER` times that with every pass audited.
        right: as `expected_width` takes it.
        confidence: of the interval.
    """
    low, high = 0, sum(tally.c for tally in tallies)
    wanted = width if width is not None else WIDER * expected_width(tallies, high, right, confidence)
    while low + 1 < high:
        middle = (low + high) // 2
        enough = expected_width(tallies, middle, right, confidence) <= wanted
        low, high = (low, middle) if enough else (middle, high)
    return high
