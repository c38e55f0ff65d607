"""Gates in continuous integration: a condition on a run or on a comparison, and how often it holds by chance.

``--fail-if worse`` and the like end a command with exit code 3. What is printed beside it says how often the
condition would hold where nothing has changed, and what it finds with a probability of 80 %: both by drawing the
estimate anew from a normal distribution with the standard error of its interval, on a fixed grid of quantiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import sqrt
from statistics import NormalDist

import msgspec

from truegrade.analysis.comparison import Comparison, RunPairing
from truegrade.pipeline.summary import ProfileSummary, Summary
from truegrade.statistics.claims import effective_draws
from truegrade.statistics.conditions import Condition, Values, read_condition
from truegrade.statistics.intervals import two_sided_z, wilson

POWER = 0.8
FALSE_ALARM = 0.05
"""Of the gate on one run: the true rate is named at which one run in twenty fails."""
_STEP = 0.005
_GRID = tuple(NormalDist().inv_cdf((place + 0.5) / 400) for place in range(400))
"""Quantiles of the standard normal distribution, in the middle of 400 parts of equal probability."""

OF_COMPARISON = ("difference", "difference_low", "difference_high", "rate_before", "rate_after", "p")
COUNTS_OF_COMPARISON = ("worse", "better", "lost", "won")
OF_RUN = ("rate", "rate_low", "rate_high")
COUNTS_OF_RUN = ("missing", "warnings")


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a condition holds for one pair of runs, or one profile of a run."""

    of: str
    holds: bool
    false_alarm: float | None = None
    """Of a comparison: share of comparisons of equals for which it holds; None where that cannot be computed."""
    found: float | None = None
    """The smallest drop, or the highest true rate, at which it holds with a probability of `POWER`."""
    quiet: float | None = None
    """Of a run: the lowest true rate at which it holds with a probability of `FALSE_ALARM` at most."""


def comparison_condition(text: str) -> Condition:
    """Read a condition on a pair of runs: `OF_COMPARISON` are shares, 0.02 for 2 points, of the second run less
    the first; `COUNTS_OF_COMPARISON` stand alone: ``worse`` and ``better`` where the interval excludes 0, ``lost``
    and ``won`` are problems.

    Raises:
        UserError: it is none; the message names the place.
    """
    return read_condition(text, OF_COMPARISON, COUNTS_OF_COMPARISON, example="worse or difference < -0.02")


def run_condition(text: str) -> Condition:
    """Read a condition on the headline of a run: `OF_RUN` are shares, `COUNTS_OF_RUN` stand alone.

    Raises:
        UserError: it is none; the message names the place.
    """
    return read_condition(text, OF_RUN, COUNTS_OF_RUN, example="rate < 0.6 or missing")


def gate_comparison(condition: Condition, comparison: Comparison) -> list[GateResult]:
    """Hold a condition against every pair."""
    return [_gate_pair(condition, pair) for pair in comparison.pairs]


def _gate_pair(condition: Condition, pair: RunPairing) -> GateResult:
    found, label = pair.paired, f"{pair.second} − {pair.first}"
    known = _of_difference(found.difference, found.low, found.high, pair.p_adjusted) | {
        "rate_before": found.rate_a, "rate_after": found.rate_b,
        "lost": len(found.losses), "won": len(found.wins),
    }  # fmt: skip
    holds = condition.holds(known.__getitem__)
    if found.low is None or found.high is None or found.low == found.high:
        return GateResult(of=label, holds=holds)
    half = (found.high - found.low) / 2
    error = half / two_sided_z(found.confidence)

    def chance(true: float) -> float | None:
        """How often the condition holds where the true difference is this."""

        def drawn(z: float) -> Values:
            difference = true + z * error
            p = 2 * (1 - NormalDist().cdf(abs(difference) / error))
            return _of_difference(difference, difference - half, difference + half, p).get

        return _share_of_draws(condition, drawn)

    drops = (-_STEP * step for step in range(int(1 / _STEP) + 1))
    return GateResult(of=label, holds=holds, false_alarm=chance(0.0), found=_first(drops, chance, POWER))


def _of_difference(difference: float, low: float | None, high: float | None, p: float) -> dict[str, float | None]:
    return {
        "difference": difference, "difference_low": low, "difference_high": high, "p": p,
        "worse": None if high is None else float(high < 0), "better": None if low is None else float(low > 0),
    }  # fmt: skip


def gate_run(condition: Condition, summary: Summary) -> list[GateResult]:
    """Hold a condition against the headline of every profile."""
    missing = summary.expected - summary.answered
    return [
        _gate_profile(condition, profile, {"missing": missing, "warnings": len(summary.warnings)})
        for profile in summary.profiles
    ]


def _gate_profile(condition: Condition, profile: ProfileSummary, counts: Mapping[str, float]) -> GateResult:
    headline = profile.estimates[0]
    known = {"rate": headline.value, "rate_low": headline.low, "rate_high": headline.high, **counts}
    label = f"{headline.metric} under {profile.profile}"
    result = GateResult(of=label, holds=condition.holds(known.__getitem__))
    draws = effective_draws(headline)
    if draws is None:
        return result

    @cache
    def chance(true: float) -> float | None:
        error = sqrt(true * (1 - true) / draws)

        def drawn(z: float) -> Values:
            rate = min(1.0, max(0.0, true + z * error))
            low, high = wilson(rate * draws, draws, headline.confidence)
            return {"rate": rate, "rate_low": low, "rate_high": high, "missing": 0.0, "warnings": 0.0}.get

        return _share_of_draws(condition, drawn)

    falling = [1 - _STEP * step for step in range(int(1 / _STEP) + 1)]
    quiet = [rate for rate in falling if (share := chance(rate)) is not None and share <= FALSE_ALARM]
    return msgspec.structs.replace(
        result, found=_first(falling, chance, POWER), quiet=min(quiet) if quiet and quiet[0] == 1 else None
    )


def _share_of_draws(condition: Condition, drawn: Callable[[float], Values]) -> float | None:
    """How often a condition holds; None where it depends on what is not drawn."""
    found = [condition.truth(drawn(z)) for z in _GRID]
    return None if None in found else sum(map(bool, found)) / len(found)


def _first(values: Iterable[float], chance: Callable[[float], float | None], least: float) -> float | None:
    """The first value at which the condition holds so often."""
    return next((value for value in values if (share := chance(value)) is not None and share >= least), None)


def gate_lines(condition: Condition, results: Iterable[GateResult]) -> list[str]:
    """What a person reads: whether it holds, how often by chance, and what it finds."""
    return [line for result in results for line in _lines(condition.text, result)]


def _lines(text: str, result: GateResult) -> list[str]:
    said = [f"gate `{text}` {'holds' if result.holds else 'does not hold'} for {result.of}"]
    found = None if result.found is None else abs(100 * result.found)
    if result.false_alarm is not None:
        finds = "no drop is found" if found is None else f"a drop of {found:.1f} points is found"
        said.append(
            f"in comparisons like this one it holds for {100 * result.false_alarm:.1f} % of equals; {finds} with"
            f" {100 * POWER:g} % probability (normal approximation)"
        )
    elif result.quiet is not None and found is not None:
        said.append(
            f"in runs like this one it holds for at most {100 * FALSE_ALARM:g} % where the true rate is"
            f" {100 * result.quiet:.1f} % or more, and for {100 * POWER:g} % or more where it is {found:.1f} % or"
            " less (normal approximation)"
        )
    else:
        said.append("how often it holds by chance is not computed for this condition")
    return said
