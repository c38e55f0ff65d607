"""A claim resolved against a run: which problems and denominators it is about, and what stands in the way."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from truegrade.errors import UnknownName, UserError
from truegrade.pipeline.summary import Summary
from truegrade.records import Estimate
from truegrade.statistics import METRICS
from truegrade.statistics.claims import USUAL_SAMPLES, USUAL_TASKS, Claim, Fit, fits
from truegrade.store import Run

MEANS = ("pass@1", "all_solutions")
"""Metrics that are a share of all draws."""

OF_N = ("any_correct", "all_correct")
"""Metrics that are a share of problems and depend on the number of samples."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, resolved against the run."""

    claim: Claim
    metric: str
    tasks: int
    samples: int | None
    """Samples per problem behind the claim, where known."""
    tolerance: float
    fits: tuple[Fit, ...]
    same_tasks: bool
    """The claim is about as many problems as the run."""
    obstacles: tuple[str, ...]
    """Why no profile can be compared; empty if nothing stands in the way."""

    def inside(self, ours: Estimate) -> bool:
        """Whether some share that prints like the claim lies in the interval, give or take the tolerance."""
        if ours.low is None or ours.high is None:
            return False
        return self.claim.low - self.tolerance <= ours.high and self.claim.high + self.tolerance >= ours.low

    def position(self, ours: Estimate) -> str:
        """The sentence that says where the claim lies."""
        where = "inside" if self.inside(ours) else "outside"
        low, high = (f"{100 * bound:.1f}" if bound is not None else "–" for bound in (ours.low, ours.high))
        allowance = f", widened by {100 * self.tolerance:g} points" if self.tolerance else ""
        value = f"{100 * ours.value:.1f} % [{low}, {high}]"
        return f"the claim of {self.claim.text} % lies {where} the interval of this run, {value}{allowance}"

    def digits(self) -> str:
        """The sentence that says what the digits say about the denominator."""
        if not self.fits:
            return f"the digits of {self.metric} do not determine its denominator"
        best, text = self.fits[0], self.claim.text
        if best.cut_off:
            return f"{best.first}/{best.denominator} gives {text} only if digits were truncated, not rounded"
        one = best.first == best.last
        counts = f"{best.first} of {best.denominator} prints" if one else f"{best.first} to {best.last} print"
        if best.samples == 1 or self.samples is not None:
            return f"{counts} as {text}"
        each = f"{best.samples} samples per problem" if best.decisive else "with that many draws every value fits"
        return f"no count out of {self.tasks} prints as {text}; {counts} so, {each}"


def resolve(
    run: Run,
    summary: Summary,
    claim: Claim,
    metric: str,
    tasks: int | None,
    samples: int | None,
    tolerance: float,
) -> Question:
    """Find the denominators, and what stands between the claim and this run."""
    ours = summary.tasks
    if tasks is not None and samples is None and metric in MEANS:
        # A number of draws is a denominator: 820 over 164 tasks is five samples of each.
        samples = tasks // ours if tasks % ours == 0 else 1
        tasks //= samples
    other_tasks = _other_tasks(run, summary, tasks)
    obstacles = [*other_tasks, *_other_width(summary, metric, samples)]
    each = _samples_behind(metric, samples, summary.samples_per_task)
    fitting = fits(claim, [tasks or ours], each)
    if not fitting and each:
        obstacles.append(_no_fit(claim, tasks or ours, each))
        fitting = fits(claim, [ours, *USUAL_TASKS])
    return Question(
        claim=claim,
        metric=metric,
        tasks=tasks or ours,
        samples=samples,
        tolerance=tolerance,
        fits=fitting,
        same_tasks=not other_tasks,
        obstacles=tuple(obstacles),
    )


def _other_tasks(run: Run, summary: Summary, tasks: int | None) -> list[str]:
    """Sentences that say that claim and run are about different problems."""
    ours, whole = summary.tasks, run.manifest.benchmark.problems
    excluded = f"; {len(summary.excluded)} are not scored" if summary.excluded else ""
    if tasks is not None and tasks != ours:
        return [f"the claim covers {tasks} problems, this run {ours}{excluded}"]
    if tasks is None and ours < whole:
        part = f"the run covers {ours} of the {whole} problems of {summary.benchmark}{excluded}"
        return [f"{part}; if the claim does so too, give `tasks` {ours}"]
    return []


def _other_width(summary: Summary, metric: str, samples: int | None) -> list[str]:
    """Any-of-N and all-of-N depend on N; the other metrics estimate the same thing from any number of samples."""
    ours = summary.samples_per_task
    if metric not in OF_N or samples in (None, ours):
        return []
    return [f"{metric} of {samples} samples and of this run's {ours} are different metrics"]


def _samples_behind(metric: str, samples: int | None, ours: int) -> tuple[int, ...]:
    """Samples per problem that the claim's denominator may count; none where digits cannot decide.

    pass@k of n > k samples is a mean of fractions with large denominators: every number of digits fits.
    """
    if metric in OF_N:
        return (1,)
    if metric not in MEANS:
        return ()
    return (samples,) if samples is not None else tuple(sorted({*USUAL_SAMPLES, ours}))


def _no_fit(claim: Claim, tasks: int, samples: Sequence[int]) -> str:
    """The sentence that no count prints like the claim, with the neighbours that do print."""
    draws = tasks * max(samples)
    below = int(claim.value * draws)
    near = " and ".join(
        f"{count}/{draws} = {100 * count / draws:.{claim.decimals}f}" for count in (below, below + 1)
    )
    return (
        f"no count out of {draws} prints as {claim.text} (nearest: {near}); the claim has a different denominator"
    )


def refuse_wrong_numbers(metric: str, tasks: int | None, samples: int | None, tolerance_points: float) -> None:
    """Refuse what a claim cannot be held with, whatever the run.

    Raises:
        UnknownName: no such metric.
        UserError: a number is out of its range.
    """
    if metric not in METRICS and not re.fullmatch(r"pass@[1-9]\d*", metric):
        raise UnknownName("metric", metric, METRICS)
    for name, number in (("tasks", tasks), ("samples", samples)):
        if number is not None and number < 1:
            raise UserError(f"`{name}` {number}: a number from 1 up is needed")
    if tolerance_points < 0:
        raise UserError(f"`tolerance_points` {tolerance_points:g}: percentage points from 0 up are needed")
