"""Gates in continuous integration: a condition on a run or on a comparison, and how often it holds by chance.

``--fail-if worse`` and the like end a command with exit code 3. What is printed beside it says how often the
condition would hold where nothing has changed, and what it finds with a probability of 80 %: of a run of up to
`_EXACT` draws by the binomial distribution, else by drawing the estimate anew from a normal distribution with the
standard error of its interval, on a fixed grid of quantiles.

Rates and differences are fractions of counts. Samples without a verdict and problems that one run lacks make them
unknown, so that a condition on them holds, unless it bounds ``missing`` (or ``left_out``), as ``or missing > 3``
does: it then says itself how much may be missing, and the rest is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import comb, sqrt
from statistics import NormalDist

import msgspec

from truegrade.analysis.comparison import Comparison, RunPairing, Side
from truegrade.analysis.standings import tallies_of
from truegrade.pipeline.summary import ProfileSummary, Summary
from truegrade.statistics.claims import effective_draws
from truegrade.statistics.conditions import Condition, Number, Values, read_condition
from truegrade.statistics.intervals import two_sided_z, wilson
from truegrade.statistics.tally import TaskTally, exact_value, is_metric

POWER = 0.8
FALSE_ALARM = 0.05
"""Of the gate on one run: the true rate is named at which one run in twenty fails."""
NO_INTERVAL = "there is no interval of so few problems"
_STEP = 0.005
_EXACT = 1_000
"""Draws up to which what a run would show is drawn from the binomial distribution, and not from a normal one."""
_ROUNDING = 1e-12
"""Far more than a mean of floats is off, and less than two fractions of a million samples differ."""
_GRID = tuple(NormalDist().inv_cdf((place + 0.5) / 400) for place in range(400))
"""Quantiles of the standard normal distribution, in the middle of 400 parts of equal probability."""

OF_COMPARISON = ("difference", "difference_low", "difference_high", "rate_before", "rate_after", "p")
COUNTS_OF_COMPARISON = ("worse", "better", "lost", "won", "missing", "left_out")
OF_RUN = ("rate", "rate_low", "rate_high")
COUNTS_OF_RUN = ("missing", "warnings")
_NOT_DRAWN = frozenset({*COUNTS_OF_RUN, "left_out"})
"""Of a condition on these alone nothing is said: they are as they are in every draw."""


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a condition holds for one pair of runs, or one profile of a run."""

    of: str
    holds: bool
    unknown: str = ""
    """What was not measured, where that is why it holds."""
    false_alarm: float | None = None
    """Of a comparison: share of comparisons of equals for which it holds; None where that cannot be computed."""
    found: float | None = None
    """The smallest drop, or the highest true rate, at which it holds with a probability of `POWER`."""
    quiet: float | None = None
    """Of a run: the lowest true rate at which it holds with a probability of `FALSE_ALARM` at most."""
    approximate: bool = True
    """Whether these are of a normal distribution."""


def comparison_condition(text: str) -> Condition:
    """Read a condition on a pair of runs: `OF_COMPARISON` are shares, 0.02 for 2 points, of the second run less
    the first; `COUNTS_OF_COMPARISON` stand alone: ``worse`` and ``better`` where the interval excludes 0, ``lost``
    and ``won`` are problems; ``missing`` are samples without a verdict in either run, ``left_out`` problems that
    are not compared for lack of one.

    Raises:
        UserError: it is none; the message names the place.
    """
    return read_condition(text, OF_COMPARISON, COUNTS_OF_COMPARISON, example="worse or difference < -0.02")


def run_condition(text: str) -> Condition:
    """Read a condition on the headline of a run: `OF_RUN` are shares, `COUNTS_OF_RUN` stand alone; ``missing`` are
    samples without a verdict.

    Raises:
        UserError: it is none; the message names the place.
    """
    return read_condition(text, OF_RUN, COUNTS_OF_RUN, example="rate < 0.6 or missing")


def gate_comparison(condition: Condition, comparison: Comparison) -> list[GateResult]:
    """Hold a condition against every pair."""
    sides = {side.label: side for side in comparison.sides}
    return [_gate_pair(condition, pair, sides[pair.first], sides[pair.second]) for pair in comparison.pairs]


def _gate_pair(condition: Condition, pair: RunPairing, first: Side, second: Side) -> GateResult:
    found = pair.paired
    compared = {*found.wins, *found.losses, *found.ties}
    counted = [{task.id: task for task in side.tasks} for side in (first, second)]
    before, after = (
        exact_value("pass@1", [TaskTally(task_id=id_, cluster="", n=of[id_].n, c=of[id_].c) for id_ in compared])
        for of in counted
    )
    known = _of_difference(after - before, found.low, found.high, pair.p_adjusted) | {
        "rate_before": before, "rate_after": after, "lost": len(found.losses), "won": len(found.wins),
    }  # fmt: skip
    asked = {*counted[0], *counted[1]}
    lacking = {
        id_: sum(side.samples_per_task - (of[id_].n if id_ in of else 0)
                 for side, of in zip((first, second), counted, strict=True))
        for id_ in asked
    }  # fmt: skip
    missing, left_out = sum(lacking.values()), len(asked - compared)
    unknown = []
    if not condition.bounds("missing"):
        if any(lacking[id_] for id_ in compared):
            unknown.append(_missing(missing))
        if left_out and not condition.bounds("left_out"):
            unknown.append(f"{left_out} {'problem is' if left_out == 1 else 'problems are'} left out")
    result = _held(
        condition, f"{pair.second} − {pair.first}", known, {"missing": missing, "left_out": left_out}, unknown
    )
    if unknown or condition.names <= _NOT_DRAWN:
        return result
    if found.low is None or found.high is None or found.low == found.high:
        return result
    half = (found.high - found.low) / 2
    error = half / two_sided_z(found.confidence)

    def chance(true: float) -> float | None:
        """How often the condition holds where the true difference is this."""

        def drawn(z: float) -> Values:
            difference = true + z * error
            p = 2 * (1 - NormalDist().cdf(abs(difference) / error))
            drawn = _of_difference(difference, difference - half, difference + half, p)
            return {**drawn, "missing": missing, "left_out": left_out}.get

        return _share_of_draws(condition, drawn)

    drops = (-_STEP * step for step in range(int(1 / _STEP) + 1))
    return msgspec.structs.replace(result, false_alarm=chance(0.0), found=_first(drops, chance, POWER))


def _held(
    condition: Condition, of: str, known: Mapping[str, Number | None], counts: Mapping[str, int],
    unknown: Sequence[str],
) -> GateResult:  # fmt: skip
    """Whether a condition holds; what is known counts only where nothing is unknown."""
    values: Mapping[str, Number | None] = counts if unknown else {**known, **counts}
    truth = condition.truth(values.get)
    said = " and ".join(unknown) or NO_INTERVAL
    return GateResult(of=of, holds=truth is not False, unknown=said if truth is None else "")


def _missing(samples: int) -> str:
    return f"{samples} {'sample has' if samples == 1 else 'samples have'} no verdict"


def _of_difference(
    difference: Number, low: float | None, high: float | None, p: float
) -> dict[str, Number | None]:
    return {
        "difference": difference, "difference_low": low, "difference_high": high, "p": p,
        "worse": None if high is None else float(high < 0), "better": None if low is None else float(low > 0),
    }  # fmt: skip


def gate_run(condition: Condition, summary: Summary, absent: int = 0) -> list[GateResult]:
    """Hold a condition against the headline of every profile.

    Args:
        condition: of `run_condition`.
        summary: of the run.
        absent: problems that were to be answered and of which the run knows nothing.
    """
    return [_gate_profile(condition, profile, summary, absent) for profile in summary.profiles]


def _gate_profile(condition: Condition, profile: ProfileSummary, summary: Summary, absent: int) -> GateResult:
    headline = profile.estimates[0]
    # Samples without a reply, and those on which the grader failed.
    missing = absent * summary.samples_per_task + max(
        summary.expected - summary.answered,
        sum(summary.samples_per_task - task.n for task in profile.tasks),
    )
    known = {"rate": _exact_rate(profile), "rate_low": headline.low, "rate_high": headline.high}
    unknown = [_missing(missing)] if missing and not condition.bounds("missing") else []
    result = _held(
        condition, f"{headline.metric} under {profile.profile}", known,
        {"missing": missing, "warnings": len(summary.warnings)}, unknown,
    )  # fmt: skip
    draws = effective_draws(headline)
    if draws is None or unknown or condition.names <= _NOT_DRAWN:
        return result

    def of(rate: Number) -> Values:
        low, high = wilson(float(rate) * draws, draws, headline.confidence)
        counts = {"missing": missing, "warnings": len(summary.warnings)}
        return {"rate": rate, "rate_low": low, "rate_high": high, **counts}.get

    size = round(draws)
    counts = range(size + 1) if 0 < size <= _EXACT else ()
    truths = [condition.truth(of(Fraction(right, size))) for right in counts] or [None]
    ways = None if None in truths else [(right, comb(size, right)) for right in counts if truths[right]]

    @cache
    def chance(true: float) -> float | None:
        if ways is not None:
            return sum(number * true**right * (1 - true) ** (size - right) for right, number in ways)
        error = sqrt(true * (1 - true) / draws)
        return _share_of_draws(condition, lambda z: of(min(1.0, max(0.0, true + z * error))))

    falling = [1 - _STEP * step for step in range(int(1 / _STEP) + 1)]
    quiet = [rate for rate in falling if (share := chance(rate)) is not None and share <= FALSE_ALARM]
    return msgspec.structs.replace(
        result,
        found=_first(falling, chance, POWER),
        quiet=min(quiet) if quiet and quiet[0] == 1 else None,
        approximate=ways is None,
    )


def _exact_rate(profile: ProfileSummary) -> Number:
    """The headline as a fraction; of a part of the problems the nearest one of its samples."""
    headline = profile.estimates[0]
    if is_metric(headline.metric):
        return exact_value(headline.metric, tallies_of(profile))
    nearest = Fraction(headline.value).limit_denominator(headline.samples)
    return nearest if abs(nearest - Fraction(headline.value)) < _ROUNDING else headline.value


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
    if result.unknown:
        said[0] += f", since what it asks is not known: {result.unknown}"
        if result.unknown != NO_INTERVAL:
            said[0] += f". To judge the rest, say how many may be missing: `({text}) or missing > N`"
    found = None if result.found is None else abs(100 * result.found)
    if result.false_alarm is not None:
        finds = "no drop is found" if found is None else f"a drop of {found:.1f} points is found"
        said.append(
            f"in comparisons like this one it holds for {100 * result.false_alarm:.1f} % of equals; {finds} with"
            f" {100 * POWER:g} % probability (normal approximation of the interval)"
        )
    elif result.quiet is not None and found is not None:
        said.append(
            f"in runs like this one it holds for at most {100 * FALSE_ALARM:g} % where the true rate is"
            f" {100 * result.quiet:.1f} % or more, and for {100 * POWER:g} % or more where it is {found:.1f} % or"
            f" less ({'normal approximation' if result.approximate else 'binomial'})"
        )
    else:
        said.append("how often it holds by chance is not computed for this condition")
    return said
