"""pass@1 as it would be under a grader that is never wrong, from the error rates of the one that was used.

A model that is right with probability t passes with probability ``p = t TPR + (1 - t) FPR``, so that
``t = (p - FPR) / (TPR - FPR)`` (Rogan & Gladen 1978, American J. Epidemiology 107:71-76). That takes for granted
that the model's wrong programs are accepted as often as the probes, and that problems which it solves less often
are not graded more or less strictly; `covariance_reach` and `odds_band` say how far the result moves if not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import copysign, exp, log, sqrt
from typing import TYPE_CHECKING

from truegrade.statistics.error_rates import BOOTSTRAP_METHOD, FPR, FPR_UPPER, TPR, RateSpan, j_span
from truegrade.statistics.intervals import NO_METHOD
from truegrade.statistics.mover import Bounds, spread
from truegrade.statistics.ratios import Ratios, percentile_interval
from truegrade.statistics.set_identified import imbens_manski_critical

if TYPE_CHECKING:
    from truegrade.statistics.ratios import Floats

METHOD = "MOVER by Fieller's argument, with covariances over problems"
PASSED = 3
"""Place of the raw pass rate in the ratios that these functions take, behind those of `error_ratios`."""

_HALVINGS = 50
_LARGEST_G = 1e6


def rogan_gladen(passed: float, tpr: float, fpr: float) -> float:
    """``(passed - fpr) / (tpr - fpr)``, which may lie outside [0, 1]; J must not be 0."""
    return (passed - fpr) / (tpr - fpr)


def correctable(ratios: Ratios) -> bool:
    """Whether J's interval lies above 0: else a verdict says nothing, and nothing can be divided by J."""
    low = j_span(ratios).low
    return low is not None and low > 0.0


def corrected_span(ratios: Ratios) -> RateSpan:
    """The corrected rate at the proven FPR, cut to [0, 1], with its interval.

    The interval holds every t for which the MOVER interval of ``p - t TPR - (1 - t) FPR`` holds 0 (the argument of
    Fieller 1954, J. Royal Statistical Society B 16:175-185): no division by an uncertain J, and no share that was
    seen as 0 or 1 is taken for known. Its lower end is at the FPR with every undecided program wrong.

    Args:
        ratios: TPR, FPR, FPR's upper bound and the pass rate, of the same problems; `correctable`.
    """
    z = ratios.z
    value, least = (_clipped(_at(ratios, fpr)) for fpr in (FPR, FPR_UPPER))
    below, above = _end(ratios, FPR_UPPER, -1, z), _end(ratios, FPR, 1, z)
    if below is None or above is None:
        return RateSpan(value, None, None, NO_METHOD)
    if value > least:
        critical = imbens_manski_critical(value - least, max(least - below, above - value) / z, ratios.confidence)
        below, above = _end(ratios, FPR_UPPER, -1, critical), _end(ratios, FPR, 1, critical)
    return RateSpan(value, below, above, METHOD)


def _end(ratios: Ratios, fpr: int, side: int, critical: float) -> float | None:
    """The lower (``side`` -1) or upper (1) end of t at one of the two FPR; None for a single cluster."""
    places = (PASSED, TPR, fpr)
    found = [ratios.bounds(place, critical) for place in places]
    bounds: list[Bounds] = [each for each in found if each is not None]
    if len(bounds) < len(found):
        return None
    values = [ratios.values[place] for place in places]
    # A pass rate that no t gives is moved to the nearest that one does: else no t were left, or a single one.
    moved = min(max(values[0], values[2]), values[1]) - values[0]
    values[0], bounds[0] = values[0] + moved, (bounds[0][0] + moved, bounds[0][1] + moved)
    correlations = [[ratios.correlation(i, j) for j in places] for i in places]

    def excess(t: float) -> float:
        """Square of ``p - t TPR - (1 - t) FPR`` less that of its distance to the end: 0 where the end is 0."""
        weights = (1.0, -t, t - 1.0)
        middle = sum(weight * value for weight, value in zip(weights, values, strict=True))
        return float(middle**2 - spread(weights, values, bounds, lambda i, j: correlations[i][j], side) ** 2)

    inner, outer = _clipped(_at(ratios, fpr)), float(side > 0)
    return outer if excess(outer) <= 0.0 else _crossing(excess, inner, outer)


def _crossing(quadratic: Callable[[float], float], inner: float, outer: float) -> float:
    """Where a quadratic function changes its sign, which it does between ``inner`` and ``outer``."""
    at_0, at_half, at_1 = (quadratic(t) for t in (0.0, 0.5, 1.0))
    a, b = 2 * at_0 - 4 * at_half + 2 * at_1, -3 * at_0 + 4 * at_half - at_1
    # The numerically stable pair of roots.
    q = -(b + copysign(sqrt(max(0.0, b * b - 4 * a * at_0)), b)) / 2
    roots = [top / bottom for top, bottom in ((q, a), (at_0, q)) if bottom]
    middle = (inner + outer) / 2
    root = min(roots, key=lambda root: abs(root - middle))
    return min(max(inner, outer), max(min(inner, outer), root))


def _at(ratios: Ratios, fpr: int) -> float:
    return rogan_gladen(ratios.values[PASSED], ratios.values[TPR], ratios.values[fpr])


def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))


def corrected_draws(draws: Floats, fpr: int = FPR) -> Floats:
    """The corrected rate in each resample, cut to [0, 1]; NaN where J is not above 0."""
    import numpy as np

    j = draws[TPR] - draws[fpr]
    corrected = np.divide(draws[PASSED] - draws[fpr], j, out=np.full_like(j, np.nan), where=j > 0)
    clipped: Floats = np.clip(corrected, 0.0, 1.0)
    return clipped


def corrected_bootstrap_span(ratios: Ratios, seed: int = 0) -> RateSpan:
    """The same by the joint cluster bootstrap: pass rate, TPR and FPR of one and the same resample."""
    draws = ratios.resampled(seed=seed)
    value = _clipped(_at(ratios, FPR))
    below, above = (
        percentile_interval(corrected_draws(draws, fpr), ratios.confidence) for fpr in (FPR_UPPER, FPR)
    )
    if ratios.tops.shape[1] < 2 or below is None or above is None:
        return RateSpan(value, None, None, NO_METHOD)
    return RateSpan(value, below[0], above[1], BOOTSTRAP_METHOD)


# ----------------------------------------------------------------------- where the assumptions do not hold


def stratified_span(parts: Sequence[tuple[float, Ratios]]) -> RateSpan:
    """The corrected rate of each stratum by its own error rates, weighted; strata are independent.

    Args:
        parts: weight, which add up to 1, and ratios of each stratum, every one `correctable`.
    """
    weights = [weight for weight, _ in parts]
    spans = [corrected_span(ratios) for _, ratios in parts]
    value = sum(weight * span.value for weight, span in zip(weights, spans, strict=True))
    bounds = [(span.low, span.high) for span in spans if span.low is not None and span.high is not None]
    if len(bounds) < len(spans):
        return RateSpan(value, None, None, NO_METHOD)
    values = [span.value for span in spans]
    below, above = (spread(weights, values, bounds, lambda i, j: 0.0, side) for side in (-1, 1))
    return RateSpan(value, max(0.0, value - below), min(1.0, value + above), f"{METHOD}, by strata")


def covariance_reach(j: float, sd_right: float, sd_j: float) -> float:
    """How far t can move if it goes with J over problems: ``p = mean(FPR_j) + t mean(J_j) + Cov(t_j, J_j)``.

    Nothing observed says what the covariance is, but it cannot exceed the product of the standard deviations.

    Args:
        j: mean of J over problems.
        sd_right: standard deviation over problems of the probability that the model is right.
        sd_j: the same of J.
    """
    return sd_right * sd_j / j


def at_odds(share: float, factor: float) -> float:
    """The share whose odds are ``factor`` times those of another one."""
    return share * factor / (1 - share + share * factor)


def odds_ratio(first: float, second: float) -> float | None:
    """``odds(first) / odds(second)``: G, of a model's own wrong programs against the mutants; None at 0 and 1."""
    bottom = (1 - first) * second
    return first * (1 - second) / bottom if bottom > 0.0 else None


def odds_ratio_span(ratios: Ratios, first: int, second: int) -> RateSpan | None:
    """`odds_ratio` of the shares at two places, by the delta method on its logarithm (Woolf 1955, Annals of Human
    Genetics 19:251-253, with the covariance over problems); None where one of them is 0 or 1.
    """
    a, b = ratios.values[first], ratios.values[second]
    if not (0.0 < a < 1.0 and 0.0 < b < 1.0):
        return None
    value = odds_ratio(a, b)
    assert value is not None
    scale_a, scale_b, covariance = a * (1 - a), b * (1 - b), ratios.covariance
    square = float(
        covariance[first, first] / scale_a**2
        + covariance[second, second] / scale_b**2
        - 2 * covariance[first, second] / (scale_a * scale_b)
    )
    half = ratios.z * sqrt(max(0.0, square))
    return RateSpan(value, value * exp(-half), value * exp(half), "delta method on the logarithm")


def odds_band(passed: float, tpr: float, fpr: float, g: float) -> Bounds | None:
    """The corrected rates with odds(FPR) from ``1 / g`` to ``g`` times those measured; None where J may be 0."""
    highest, lowest = at_odds(fpr, g), at_odds(fpr, 1 / g)
    if tpr <= highest:
        return None
    return _clipped(rogan_gladen(passed, tpr, highest)), _clipped(rogan_gladen(passed, tpr, lowest))


def turning_odds(better: float, worse: float, tpr: float, fpr: float) -> float | None:
    """The smallest G at which the order of two models turns round.

    The better model's wrong programs are then accepted with G times the odds that were measured, the other's with
    1 / G times.

    Args:
        better: raw pass rate, the higher one.
        worse: the other's.
        tpr: common to both.
        fpr: measured.

    Returns:
        1 where they are equal; None where no G up to a million turns them.
    """

    def turned(g: float) -> bool:
        high, low = at_odds(fpr, g), at_odds(fpr, 1 / g)
        return high >= tpr or rogan_gladen(better, tpr, high) <= rogan_gladen(worse, tpr, low)

    return _first(turned, _LARGEST_G)


def _first(holds: Callable[[float], bool], most: float) -> float | None:
    """The smallest factor from 1 on for which something holds that goes on holding."""
    if holds(1.0):
        return 1.0
    if not holds(most):
        return None
    low, high = 0.0, log(most)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(exp(middle)) else (middle, high)
    return exp(high)
