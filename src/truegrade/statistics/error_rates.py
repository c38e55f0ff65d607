"""How often a grader errs, what follows of it, and pass rates corrected by an audit.

TPR is the share of right programs that it accepts, FPR that of wrong ones, and J = TPR - FPR (Youden 1950, Cancer
3:32-35): 1 for a grader that is never wrong, 0 for one whose verdicts say nothing. Problems are clusters: a test
that is too weak accepts many programs of the same problem.

Accepted programs whose label is undecided confine FPR between two bounds: ``accepted / wrong`` if none of them is
wrong, ``(accepted + undecided) / (wrong + undecided)`` if all are. Intervals are then Imbens and Manski's
(`truegrade.statistics.ratios`), each end a Wilson or a MOVER end at their critical value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, log, sqrt
from typing import NamedTuple

import msgspec

from truegrade.errors import UserError
from truegrade.statistics.intervals import METHOD as WILSON
from truegrade.statistics.intervals import NO_METHOD, effective_sample_size, wilson
from truegrade.statistics.ratios import METHOD as IMBENS_MANSKI
from truegrade.statistics.ratios import (
    Bounds,
    Ratios,
    Share,
    imbens_manski_critical,
    percentile_interval,
    ratio_span,
    spread,
)
from truegrade.statistics.tally import TaskTally

J_METHOD = "MOVER of two Wilson intervals with their covariance over problems"
PPV_METHOD = "MOVER of the ratio FPR / TPR"
BOOTSTRAP_METHOD = "percentile bootstrap of whole clusters"


class GraderCount(msgspec.Struct, frozen=True, kw_only=True):
    """What a grader said of one problem's probes."""

    problem_id: str
    cluster: str
    right: int = 0
    right_accepted: int = 0
    wrong: int = 0
    """Proven wrong."""
    wrong_accepted: int = 0
    undecided_accepted: int = 0


class RateSpan(NamedTuple):
    """A value with its interval; bounds None where none can be had."""

    value: float
    low: float | None
    high: float | None
    method: str


TPR, FPR, FPR_UPPER = range(3)
"""Places of the shares in `error_ratios`."""


def accepted_share(counts: Sequence[GraderCount], *, right: bool = False, upper: bool = False) -> Share:
    """Share accepted of right programs, or of wrong ones, or of wrong ones and all undecided ones."""
    if right:
        bottoms = [count.right for count in counts]
        return Share([count.right_accepted for count in counts], bottoms, bottoms)
    also = [count.undecided_accepted if upper else 0 for count in counts]
    bottoms = [count.wrong + more for count, more in zip(counts, also, strict=True)]
    return Share([count.wrong_accepted + more for count, more in zip(counts, also, strict=True)], bottoms, bottoms)


def error_ratios(counts: Sequence[GraderCount], *, confidence: float = 0.95) -> Ratios | None:
    """TPR, FPR and FPR's upper bound of one grader.

    Args:
        counts: one a problem.
        confidence: of all intervals.

    Returns:
        None where there are no right or no wrong programs.
    """
    if not any(count.right for count in counts) or not any(count.wrong for count in counts):
        return None
    shares = [accepted_share(counts, right=True), accepted_share(counts), accepted_share(counts, upper=True)]
    return Ratios(shares, [count.cluster for count in counts], confidence)


def share_span(ratios: Ratios, low: int, high: int) -> RateSpan:
    """Interval of a share that lies between those at two places, which are one where nothing is undecided."""
    value, z = ratios.values[low], ratios.z
    below, above = ratios.bounds(low, z), ratios.bounds(high, z)
    if below is None or above is None:
        return RateSpan(value, None, None, NO_METHOD)
    gap = ratios.values[high] - value
    if gap <= 0.0:
        return RateSpan(value, below[0], below[1], WILSON)
    critical = imbens_manski_critical(
        gap, max(value - below[0], above[1] - ratios.values[high]) / z, ratios.confidence
    )
    below, above = ratios.bounds(low, critical), ratios.bounds(high, critical)
    assert below is not None and above is not None
    return RateSpan(value, below[0], above[1], f"{IMBENS_MANSKI}, of {WILSON}")


def accepted_span(
    counts: Sequence[GraderCount], *, right: bool = False, confidence: float = 0.95
) -> RateSpan | None:
    """Share accepted of right programs, or of wrong ones with what is undecided; None without proven ones."""
    shares = [accepted_share(counts, right=right), accepted_share(counts, right=right, upper=True)]
    if not any(shares[0].bottoms):
        return None
    return share_span(Ratios(shares, [count.cluster for count in counts], confidence), 0, 1)


def j_span(ratios: Ratios) -> RateSpan:
    """J at the proven FPR; its interval reaches down to where all undecided programs are wrong."""
    value, at_worst, z = _j(ratios, FPR), _j(ratios, FPR_UPPER), ratios.z

    def end(fpr: int, side: int, critical: float) -> float | None:
        """Distance from J at one of the two FPR to the end of its interval."""
        bounds = _bounds(ratios, (TPR, fpr), critical)
        if bounds is None:
            return None
        places = (TPR, fpr)
        values = [ratios.values[place] for place in places]
        return spread((1, -1), values, bounds, lambda i, j: ratios.correlation(places[i], places[j]), side)

    below, above = end(FPR_UPPER, -1, z), end(FPR, 1, z)
    if below is None or above is None:
        return RateSpan(value, None, None, NO_METHOD)
    critical = imbens_manski_critical(value - at_worst, max(below, above) / z, ratios.confidence)
    below, above = end(FPR_UPPER, -1, critical), end(FPR, 1, critical)
    assert below is not None and above is not None
    return RateSpan(value, max(-1.0, at_worst - below), min(1.0, value + above), J_METHOD)


def _j(ratios: Ratios, fpr: int) -> float:
    """TPR - FPR, rounded once: 19 of 20 less 1 of 20 is 0.9, and the difference of the two floats is below."""
    tops, bottoms = ratios.tops.sum(axis=1), ratios.bottoms.sum(axis=1)
    right, wrong = (Fraction(tops[place]) / Fraction(bottoms[place]) for place in (TPR, fpr))
    return float(right - wrong)


def j_bootstrap_span(ratios: Ratios, seed: int = 0) -> RateSpan:
    """The same by the cluster bootstrap; of width 0 where every cluster is alike, e.g. without any error."""
    draws = ratios.resampled(seed=seed)
    value = _j(ratios, FPR)
    below = percentile_interval(draws[TPR] - draws[FPR_UPPER], ratios.confidence)
    above = percentile_interval(draws[TPR] - draws[FPR], ratios.confidence)
    if ratios.tops.shape[1] < 2 or below is None or above is None:
        return RateSpan(value, None, None, NO_METHOD)
    return RateSpan(value, below[0], above[1], BOOTSTRAP_METHOD)


def rogan_gladen(passed: float, tpr: float, fpr: float) -> float:
    """``(passed - fpr) / (tpr - fpr)``, which may lie outside [0, 1]; J must not be 0.

    The share of right programs that a measured pass rate stands for, if the grader errs on them as often as on the
    probes (Rogan & Gladen 1978, American J. Epidemiology 107:71-76).
    """
    return (passed - fpr) / (tpr - fpr)


def ppv(tpr: float, fpr: float, base_rate: float) -> float | None:
    """Probability that an accepted program is right, where a share ``base_rate`` is; None if none is accepted.

    At FPR 11.3 % and TPR 1 it is 0.90 where half of the programs are right, and 0.50 where a tenth is.
    """
    accepted = tpr * base_rate + fpr * (1 - base_rate)
    return None if accepted <= 0.0 else tpr * base_rate / accepted


def ppv_span(ratios: Ratios, base_rate: float) -> RateSpan | None:
    """`ppv` with the interval of FPR / TPR, of which it is a falling function; None if nothing is accepted."""
    value = ppv(ratios.values[TPR], ratios.values[FPR], base_rate)
    if value is None:
        return None
    z = ratios.z
    near, far = _ratio_span(ratios, FPR, z), _ratio_span(ratios, FPR_UPPER, z)
    if near is None or far is None:
        return RateSpan(value, None, None, NO_METHOD)
    odds = base_rate / (1 - base_rate)
    return RateSpan(value, odds / (odds + far[1]), odds / (odds + near[0]), PPV_METHOD)


def _ratio_span(ratios: Ratios, fpr: int, critical: float) -> Bounds | None:
    """Interval of FPR / TPR."""
    bounds = _bounds(ratios, (fpr, TPR), critical)
    if bounds is None:
        return None
    correlation = ratios.correlation(fpr, TPR)
    return ratio_span(ratios.values[fpr], ratios.values[TPR], bounds[0], bounds[1], correlation)


def _bounds(ratios: Ratios, places: Sequence[int], critical: float) -> list[Bounds] | None:
    """Wilson's interval of every share; None where one of them has none."""
    found = [ratios.bounds(place, critical) for place in places]
    whole = [bounds for bounds in found if bounds is not None]
    return whole if len(whole) == len(found) else None


# ----------------------------------------------------------------------------------------------------------------
# Telling a verdict from chance by sending the same program again: who is ahead, and by how much it has to be.


def chance_of_lead(flip_rate: float, lead: int) -> float:
    """The probability that flipped verdicts are ever ahead of the others by ``lead``, however often one looks.

    Each verdict flips with probability ``flip_rate`` on its own, so the difference of both binomial counts is a
    random walk that steps up with that probability. It ever reaches a height h with probability (e / (1 - e))^h,
    exactly (the gambler's ruin: Feller 1968, An Introduction to Probability Theory I, XIV.2); 1 from e = 1/2 on.

    Args:
        flip_rate: e, in [0, 1].
        lead: h, at least 0.
    """
    return 1.0 if flip_rate >= 0.5 else (flip_rate / (1.0 - flip_rate)) ** lead


def lead_needed(flip_rate: float, level: float) -> int | None:
    """The least lead that flipped verdicts ever have with a probability of at most ``level``; None where none is.

    Raises:
        UserError: ``level`` does not lie between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise UserError("a level lies between 0 and 1")
    if flip_rate >= 0.5:
        return None
    lead = max(1, ceil(log(level) / log(flip_rate / (1.0 - flip_rate)))) if flip_rate > 0.0 else 1
    return lead if chance_of_lead(flip_rate, lead) <= level else lead + 1  # the quotient may be rounded


# ----------------------------------------------------------------------------------------------------------------
# pass@1 of a grader that is never wrong, from the grader that was used and an audit of some of its verdicts.
# Two-phase sampling (Neyman 1938, J. American Statistical Association 33:101-116; Cochran 1977, Sampling
# Techniques, chapter 12): every sample has the grader's verdict, and a simple random sample of the passes, or of
# the failures too, has a right one. The rate is the sum over both verdicts of their share P times the share r of
# the audited ones that are right. Its error has two independent parts, each with an interval of its own, put
# together as the square root of the summed squares of their distances (MOVER, `truegrade.statistics.ratios`):
#
# - that the problems and samples are a sample: Wilson's interval at the cluster-robust effective sample size of
# the
#   rate that an audit of everything would give. Its variance is the ultimate cluster variance of the linearised
#   estimate (Hansen, Hurwitz & Madow 1953), less the audit's part of it;
# - that only some verdicts were audited: Wilson's interval of r with the finite-population correction, audited
#   verdicts counted as ``A (C - 1) / (C - A)`` of C (Cochran 1977, section 2.6; of unequal weights Kish's 1965
#   effective number). It is nothing once all are audited.

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
