"""A published number beside a run's own: the denominators that it fits, the difference, what stands in the way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from math import comb

import msgspec

from truegrade.analysis.standings import tallies_of
from truegrade.errors import UnknownName, UserError
from truegrade.pipeline.sample_cautions import POPULATIONS
from truegrade.pipeline.summary import ProfileSummary, Summary
from truegrade.pipeline.verdicts import first_sample, verdict_table
from truegrade.profiles import AnyProfile, find_profile
from truegrade.records import Estimate, Reason
from truegrade.statistics import METRICS, TaskTally, estimate
from truegrade.statistics.claims import USUAL_SAMPLES, USUAL_TASKS, Claim, Fit, fit, fit_cut_off, fits, parse_claim
from truegrade.statistics.tally import is_metric, samples_needed
from truegrade.store import Run

# ----------------------------------------------------------------------------------------------------------------
# The one rule for a claim about a file: whether the file's own number prints as the claim, and how far it is off.
# The claims of `truegrade check` and the flags of an audit are all held against a claim by it.


class Agreement(StrEnum):
    """Whether a number prints as the claim."""

    ROUNDED = "prints as the claim"
    TRUNCATED = "fits only truncated"
    """The claim's digits come out only if further ones are dropped: 79.8 for 79.878."""
    DIFFERS = "differs"


class OwnNumber(msgspec.Struct, frozen=True, kw_only=True):
    """The number that a file or run itself gives, held against a claim about it."""

    agreement: Agreement
    share: float
    """As a fraction of 1."""
    count: int | None = None
    """What is right of ``total``; None for a mean of other fractions: pass@k of more than k samples, pass@1 of
    uneven samples."""
    total: int | None = None
    difference: int | None = None
    """Smallest difference between ``count`` and a count that prints as the claim; None if none out of ``total``
    does."""
    apart: str
    """How far claim and number are apart, such as ``8 of 164 draws`` or ``4.88 points``; empty if they are not, or
    no count prints as the claim."""
    sentence: str

    @property
    def agrees(self) -> bool:
        """Whether the number prints as the claim, rounded or truncated."""
        return self.agreement is not Agreement.DIFFERS


def own_number(claim: Claim, metric: str, tallies: Sequence[TaskTally]) -> OwnNumber | None:
    """Hold the value of a metric against a claim about it; None where no problem has the samples for it.

    Problems with fewer samples than the metric needs are left out, as by `truegrade.statistics.estimate`.
    """
    needed = samples_needed(metric)
    counted = [tally for tally in tallies if tally.n >= needed]
    if not counted:
        return None
    widths = {tally.n for tally in counted}
    if metric == "all_correct":
        return own_count(claim, sum(tally.c == tally.n for tally in counted), len(counted), "problems")
    if metric == "any_correct" or (needed > 1 and widths == {needed}):
        return own_count(claim, sum(tally.c > 0 for tally in counted), len(counted), "problems")
    if metric == "all_solutions" or (needed == 1 and len(widths) == 1):
        return own_count(claim, sum(tally.c for tally in counted), sum(tally.n for tally in counted), "draws")
    return _own_mean(claim, metric, _mean_pass_at_k(counted, needed))


def own_count(claim: Claim, count: int, total: int, unit: str) -> OwnNumber:
    """Hold ``count`` out of ``total`` ``draws`` or ``problems``, as ``unit`` says, against a claim."""
    share = Fraction(count, total)
    agreement, words = _words(claim, share)
    ends = {
        end
        for counts in (fit(claim, total), fit_cut_off(claim, total))
        if counts
        for end in (counts[0], counts[-1])
    }
    difference: int | None = 0
    apart = ""
    if agreement is Agreement.DIFFERS:
        nearest = min(ends, key=lambda end: abs(end - count), default=None)
        difference = None if nearest is None else abs(nearest - count)
        apart = f"{difference} of {total} {unit}" if difference else ""
        words += (
            f"; no count out of {total} prints as {claim.text}"
            if nearest is None
            else f"; the nearest count that prints as {claim.text} is {nearest}"
        )
    return OwnNumber(
        agreement=agreement,
        share=float(share),
        count=count,
        total=total,
        difference=difference,
        apart=apart,
        sentence=f"measured: {count} of {total} {unit}, {words}",
    )


def _own_mean(claim: Claim, metric: str, share: Fraction) -> OwnNumber:
    """A mean of fractions is no count of draws: what separates it from the claim is given in points."""
    agreement, words = _words(claim, share)
    points = 100 * float(abs(share - claim.value))
    return OwnNumber(
        agreement=agreement,
        share=float(share),
        apart=f"{points:.{claim.decimals + 1}f} points" if agreement is Agreement.DIFFERS else "",
        sentence=f"measured: the mean of {metric} over the problems, {words}",
    )


def _words(claim: Claim, share: Fraction) -> tuple[Agreement, str]:
    """Whether a share prints as the claim, in words too."""
    percent = f"{100 * float(share):.{claim.decimals + 2}f} %"
    if share.numerator in fit(claim, share.denominator):
        return Agreement.ROUNDED, f"which prints as {claim.text}"
    if share.numerator in fit_cut_off(claim, share.denominator):
        rounded = f"{100 * float(share):.{claim.decimals}f}"
        return Agreement.TRUNCATED, f"{percent}; {claim.text} fits only truncated, rounded it prints as {rounded}"
    return Agreement.DIFFERS, percent


def _mean_pass_at_k(tallies: Sequence[TaskTally], k: int) -> Fraction:
    """Exactly what `truegrade.statistics.mean_pass_at_k` gives as a float: Chen et al. 2021, equation 1."""
    kinds = Counter((tally.n, tally.c) for tally in tallies)
    total = sum(times * (1 - Fraction(comb(n - c, k), comb(n, k))) for (n, c), times in kinds.items())
    return Fraction(total) / len(tallies)


# ---- A claim resolved against a run: which problems and denominators it is about, and what stands in the way.


MEANS = ("pass@1", "all_solutions")
"""Metrics that are a share of all draws."""

OF_N = ("any_correct", "all_correct")
"""Metrics that are a share of problems and depend on the number of samples."""

FIRST_SAMPLE = "first_sample"
"""The share of problems whose first sample passes; known of every run, whether or not its summary has it."""
_PRINTED = re.compile(rf"{FIRST_SAMPLE}|({'|'.join(POPULATIONS)})_pass@1")
"""Estimates of a summary that `truegrade.statistics.estimate` does not make, but for a profile's own scores."""


def require_metric(metric: str, profile: AnyProfile) -> None:
    """Refuse what no run under a profile prints, before anything is graded.

    Raises:
        UnknownName: no such metric.
    """
    scored = find_profile(profile).scored
    if not (is_metric(metric) or _PRINTED.fullmatch(metric) or metric in scored):
        meant = [f"pass@{k}" for k in re.findall(r"[1-9]\d*", metric)]
        raise UnknownName("metric", metric, {*METRICS, *meant, FIRST_SAMPLE, *scored})


class PublishedNumber(msgspec.Struct, frozen=True, kw_only=True):
    """A number as somebody published it, and what is known of it.

    Raises:
        UserError: the text is no percentage, or a number is out of its range.
    """

    text: str
    """In percent as printed; its digits count."""
    metric: str = "pass@1"
    """``pass@K``, ``any_correct``, ``all_correct``, ``all_solutions``, ``first_sample`` or another estimate of the
    run's summary."""
    tasks: int | None = None
    """How many problems, or draws over the run's problems, it is a share of; None if nobody says."""
    samples: int | None = None
    """Samples per problem behind it; None if nobody says."""
    tolerance_points: float = 0.0
    """Percentage points by which it may miss the interval of an independent draw."""

    @property
    def claim(self) -> Claim:
        """The number and what its digits say."""
        return parse_claim(self.text)

    def __post_init__(self) -> None:
        """Refuse what no claim can be held with, whatever the run."""
        parse_claim(self.text)
        for name, number in (("tasks", self.tasks), ("samples", self.samples)):
            if number is not None and number < 1:
                raise UserError(f"`{name}` {number}: a number from 1 up is needed")
        if self.tolerance_points < 0:
            given = f"`tolerance_points` {self.tolerance_points:g}"
            raise UserError(f"{given}: percentage points from 0 up are needed")


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, resolved against one profile of the run."""

    claim: Claim
    metric: str
    tasks: int
    samples: int | None
    """Samples per problem behind the claim, where known."""
    tolerance: float
    fits: tuple[Fit, ...]
    same_tasks: bool
    """The claim is about as many problems as the run."""
    tallies: list[TaskTally]
    ours: Estimate | None
    """None where the run cannot give the metric."""
    own: OwnNumber | None
    """The run's own number beside the claim; None with ``ours``."""
    obstacles: tuple[str, ...]
    """Why claim and run do not measure the same thing; empty if nothing stands in the way."""
    no_fit: str | None
    """That no count prints as the claim; None where one does, or the run's own number."""

    def inside(self, ours: Estimate) -> bool:
        """Whether some share that prints like the claim lies in the interval, give or take the tolerance."""
        if ours.low is None or ours.high is None:
            return False
        return self.claim.low - self.tolerance <= ours.high and self.claim.high + self.tolerance >= ours.low

    def holds(self, ours: Estimate) -> bool:
        """Whether an independent draw could give the claim: it is the run's own number, or inside its interval."""
        return self.inside(ours) or (self.own is not None and self.own.agrees)

    def position(self, ours: Estimate) -> str:
        """The sentence that says where the claim lies, and what follows for an independent draw."""
        if ours.low is None or ours.high is None:
            return (
                "all problems form one cluster, so there is no interval: what another draw could give is not known"
            )
        allowance = f", widened by {100 * self.tolerance:g} points" if self.tolerance else ""
        interval = (
            f"the {100 * ours.confidence:g} % interval of this run, {100 * ours.value:.1f} %"
            f" [{100 * ours.low:.1f}, {100 * ours.high:.1f}]"
            f"{allowance}"
        )
        if self.holds(ours):
            return f"an independent draw could give {self.claim.text} %, which lies inside {interval}"
        return f"the claim of {self.claim.text} % lies outside {interval}"

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
        return f"{counts} as {text}, {each}"


def resolve(run: Run, summary: Summary, profile: ProfileSummary, published: PublishedNumber) -> Question:
    """Find the denominators, and what stands between the claim and this run's numbers under one profile.

    Raises:
        UnknownName: the run has no such metric under any profile.
    """
    claim, metric, tallies = published.claim, published.metric, tallies_of(profile)
    if is_metric(metric):
        ours, own = estimate_of(metric, tallies), own_number(claim, metric, tallies)
    else:
        tallies = []
        ours = printed_estimate(run, summary, profile, metric)
        own = None if ours is None else own_estimate(claim, ours)
    size, each = _claimed_size(run, summary, ours, published.tasks, published.samples)
    covered = ours.tasks if ours is not None else len(tallies)
    other_tasks = [*_other_tasks(run, summary, size, covered), *_too_few_samples(metric, size, covered, tallies)]
    tried = _samples_behind(metric, each, summary.samples_per_task, published.tasks is not None)
    fitting = fits(claim, [size or covered], tried)
    no_fit = None
    if not fitting and tried and not (own is not None and own.agrees):
        no_fit = _no_fit(claim, size or covered, tried)
        fitting = fits(claim, [covered, *USUAL_TASKS])
    return Question(
        claim=claim,
        metric=metric,
        tasks=size or covered,
        samples=each,
        tolerance=published.tolerance_points / 100,
        fits=fitting,
        same_tasks=not other_tasks,
        tallies=tallies,
        ours=ours,
        own=own,
        obstacles=(
            *_grader_errors(profile),
            *other_tasks,
            *_other_width(summary, metric, each),
            *_no_estimate(metric, ours),
        ),
        no_fit=no_fit,
    )


def estimate_of(metric: str, tallies: Sequence[TaskTally]) -> Estimate | None:
    """The metric, or None where no problem has the samples for it."""
    needed = samples_needed(metric)
    return estimate(metric, tallies) if any(tally.n >= needed for tally in tallies) else None


def printed_estimate(run: Run, summary: Summary, profile: ProfileSummary, metric: str) -> Estimate | None:
    """An estimate that is more than counts of right samples, as the summary has it; None where it has none.

    Raises:
        UnknownName: no profile of the run has one.
    """
    found = {one.metric: one for one in profile.estimates}
    if metric == FIRST_SAMPLE and metric not in found:
        clusters = {line.id: line.cluster for line in profile.tasks}
        return first_sample(clusters, verdict_table(run.verdict_facts(profile.profile), clusters, 1))
    every = {one.metric for each in summary.profiles for one in each.estimates}
    if metric not in every and not is_metric(metric):
        raise UnknownName("metric", metric, sorted({*METRICS, *every, FIRST_SAMPLE}))
    return found.get(metric)


def own_estimate(claim: Claim, ours: Estimate) -> OwnNumber:
    """Hold an estimate against a claim about it: as a count of problems or draws if it is one, else as a mean."""
    for total, unit in ((ours.tasks, "problems"), (ours.samples, "draws")):
        count = round(ours.value * total)
        if abs(count - ours.value * total) < 1e-9 * total:
            return own_count(claim, count, total, unit)
    return _own_mean(claim, ours.metric, Fraction(ours.value))


def _claimed_size(
    run: Run, summary: Summary, ours: Estimate | None, tasks: int | None, samples: int | None
) -> tuple[int | None, int | None]:
    """Problems and samples per problem that the claim is said to be about; None for what is left open.

    A number of draws is a number of problems, too: 820 over 164 problems is five samples of each. It is taken so
    only if it is this run's own, or its samples per problem are usual ones: over two problems every even number is
    a number of draws.
    """
    sizes = {ours.tasks, summary.tasks} if ours is not None else {summary.tasks}
    if tasks is None or tasks in sizes:
        return tasks, samples
    if ours is not None and tasks == ours.samples:
        return ours.tasks, samples or summary.samples_per_task
    for size in sorted(sizes) if tasks != run.manifest.benchmark.problems else ():
        each = tasks // size
        if tasks % size == 0 and (samples == each or (samples is None and each in USUAL_SAMPLES)):
            return size, each
    return tasks, samples


def _other_tasks(run: Run, summary: Summary, size: int | None, covered: int) -> list[str]:
    """Sentences that say that claim and run are about different problems."""
    ours, whole = summary.tasks, run.manifest.benchmark.problems
    excluded = f"; {len(summary.excluded)} are not scored" if summary.excluded else ""
    if size not in (None, ours, covered):
        return [f"the claim covers {size} problems, this run {ours}{excluded}"]
    if size is None and ours < whole:
        part = f"the run covers {ours} of the {whole} problems of {summary.benchmark}{excluded}"
        return [f"{part}; if the claim does so too, give `tasks` {covered}"]
    return []


def _too_few_samples(metric: str, size: int | None, covered: int, tallies: Sequence[TaskTally]) -> list[str]:
    """The sentence that problems lack samples for the metric, unless the claim is said to be about the others."""
    if not tallies or size == covered or covered == len(tallies):
        return []
    few = f"only {covered} of {len(tallies)} problems have the samples that {metric} needs"
    return [f"{few}; if the claim is about these alone, give `tasks` {covered}"]


def _other_width(summary: Summary, metric: str, samples: int | None) -> list[str]:
    """Any-of-N and all-of-N depend on N; the other metrics estimate the same thing from any number of samples."""
    ours = summary.samples_per_task
    if metric not in OF_N or samples in (None, ours):
        return []
    return [f"{metric} of {samples} samples and of this run's {ours} are different metrics"]


def _no_estimate(metric: str, ours: Estimate | None) -> list[str]:
    if ours is None and not is_metric(metric):
        return [f"there is no {metric} of this run under these rules"]
    return [] if ours is not None else [f"{metric} needs more samples per problem than this run has"]


def _grader_errors(profile: ProfileSummary) -> list[str]:
    errors = profile.reasons.get(Reason.GRADER_ERROR.value, 0)
    if not errors:
        return []
    return [f"{errors} verdicts are grader errors, which carry no information about the model; grade again"]


def _samples_behind(metric: str, samples: int | None, ours: int, size_given: bool) -> tuple[int, ...]:
    """Samples per problem that the claim's denominator may count, this run's own first; none where digits cannot
    decide.

    pass@k of n > k samples is a mean of fractions with large denominators: every number of digits fits.
    """
    if metric in (*OF_N, FIRST_SAMPLE):
        return (1,)
    if metric not in MEANS:
        return ()
    if samples is not None:
        return (samples,)
    return tuple(dict.fromkeys((ours, 1) if size_given else (ours, *USUAL_SAMPLES)))


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
