"""How often a grader accepts right programs (TPR) and wrong ones (FPR), and what follows of it, with intervals.

TPR is the share of right programs that it accepts, FPR that of wrong ones, and J = TPR - FPR (Youden 1950, Cancer
3:32-35): 1 for a grader that is never wrong, 0 for one whose verdicts say nothing. Problems are clusters: a test
that is too weak accepts many programs of the same problem.

Accepted programs whose label is undecided confine FPR between two bounds: ``accepted / wrong`` if none of them is
wrong, ``(accepted + undecided) / (wrong + undecided)`` if all are. Intervals are then Imbens and Manski's
(`truegrade.statistics.ratios`), each end a Wilson or a MOVER end at their critical value.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log
from typing import NamedTuple

import msgspec

from truegrade.errors import UserError
from truegrade.statistics.intervals import METHOD as WILSON
from truegrade.statistics.intervals import NO_METHOD
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
    value, z = ratios.values[TPR] - ratios.values[FPR], ratios.z
    at_worst = ratios.values[TPR] - ratios.values[FPR_UPPER]

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


def j_bootstrap_span(ratios: Ratios, seed: int = 0) -> RateSpan:
    """The same by the cluster bootstrap; of width 0 where every cluster is alike, e.g. without any error."""
    draws = ratios.resampled(seed=seed)
    value = ratios.values[TPR] - ratios.values[FPR]
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
