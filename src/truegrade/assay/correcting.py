"""pass@1 of stored runs, corrected for the measured errors of the grader that gave the verdicts.

The error rates are those over natural wrong programs, with every problem weighted alike, as pass@1 weights them;
and only those problems count that the run asked. Run and assay share problems, so that the interval takes pass
rate, TPR and FPR together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import sqrt
from pathlib import Path

import msgspec

from truegrade.analysis.comparability import GradedRun, graded, obstacles
from truegrade.analysis.matrix import tallies_of
from truegrade.assay.acceptance import NATURAL, Acceptance, problem_counts, settle
from truegrade.assay.folder import latest_assay
from truegrade.assay.measures import MeasuredValue
from truegrade.assay.records import Probe, ProbeClass, Said
from truegrade.errors import NotComparable, UnknownName, UserError
from truegrade.statistics import TaskTally, estimate
from truegrade.statistics.corrected_rates import (
    PASSED,
    correctable,
    corrected_bootstrap_span,
    corrected_span,
    covariance_reach,
    odds_band,
    odds_ratio_span,
    rogan_gladen,
    stratified_span,
    turning_odds,
)
from truegrade.statistics.error_rates import (
    FPR,
    FPR_UPPER,
    TPR,
    GraderCount,
    RateSpan,
    accepted_share,
    error_ratios,
    j_span,
    mean_over_problems,
    share_span,
)
from truegrade.statistics.ratios import Ratios, Share
from truegrade.statistics.shrinkage import between_variance
from truegrade.store import Run
from truegrade.store.journal import read_journal

ODDS_FACTORS = (1.0, 2.0, 4.0)


class OddsBand(msgspec.Struct, frozen=True, kw_only=True):
    """The corrected rate if the model's wrong programs are accepted with other odds than the probes."""

    g: float
    low: float | None
    """With ``g`` times the odds; None where J may then be 0."""
    high: float | None
    """With ``1 / g`` times the odds."""


class StratumCorrection(msgspec.Struct, frozen=True, kw_only=True):
    """One group of problems, corrected by its own error rates."""

    stratum: str
    problems: int
    raw: float
    corrected: MeasuredValue


class CorrectedPass(msgspec.Struct, frozen=True, kw_only=True):
    """pass@1 of one run as it would be under a grader that is never wrong."""

    run: str
    grader: str
    confidence: float
    problems: int
    """Of the run."""
    measured: int
    """Of these, with probes in the assay."""
    raw: MeasuredValue
    tpr: MeasuredValue
    """Mean over problems."""
    fpr: MeasuredValue
    """Mean over problems, of natural wrong programs."""
    j: MeasuredValue
    refused: str = ""
    """Why nothing is corrected; else empty."""
    corrected: MeasuredValue | None = None
    """At the proven FPR; the interval reaches down to where all undecided programs are wrong."""
    bootstrap: MeasuredValue | None = None
    """The same by the joint bootstrap over problems."""
    unclipped: float | None = None
    """Before it was cut to [0, 1]."""
    strata: tuple[StratumCorrection, ...] = ()
    """By difficulty, where the data set tells it."""
    stratified: MeasuredValue | None = None
    """Their weighted mean."""
    covariance: tuple[float, float] | None = None
    """The interval, widened by as much as t can go with J over problems."""
    odds: tuple[OddsBand, ...] = ()
    replies_g: MeasuredValue | None = None
    """Odds of acceptance of models' own wrong replies over that of mutants; None where it is not identified."""


class TurningPoint(msgspec.Struct, frozen=True, kw_only=True):
    """How much two runs' errors must differ from the probes for their order to turn round."""

    better: str
    worse: str
    g: float | None
    """None where no factor up to a million turns it."""


class CorrectedRuns(msgspec.Struct, frozen=True, kw_only=True):
    """What ``truegrade assay verdicts --corrected`` says."""

    runs: tuple[CorrectedPass, ...]
    turning: tuple[TurningPoint, ...] = ()
    """Of every two runs."""


class _Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """A grader's verdicts on an assay's probes."""

    grader: str
    acceptance: Acceptance
    probes: list[Probe]

    def counts(self, tallies: Sequence[TaskTally], kinds: Sequence[ProbeClass]) -> dict[str, GraderCount]:
        """By problem of a run."""
        clusters = {tally.task_id: tally.cluster for tally in tallies}
        probes = [probe for probe in self.probes if probe.problem_id in clusters]
        found = problem_counts(probes, self.acceptance, clusters.__getitem__, kinds)
        return {count.problem_id: count for count in found}


def corrected_runs(
    runs: Sequence[str | Path],
    assay: str | Path | None = None,
    *,
    profile: str | None = None,
    grader: str | None = None,
    pass_at: float | None = None,
    confidence: float = 0.95,
) -> CorrectedRuns:
    """Correct pass@1 of graded runs by a stored assay of their grader.

    Args:
        runs: folders of runs; several must be comparable.
        assay: folder of an assay, with ``probes.jsonl`` and ``verdicts.jsonl``; None for the latest below ``runs``
            that measured the grader on the runs' data.
        profile: under which the runs are graded, by name or id; None if they have only one.
        grader: which grader of the assay gave the runs' verdicts; None for the one with the profile's id.
        pass_at: as `truegrade.assay.measuring.measure` took it.
        confidence: of all intervals.

    Raises:
        UserError: no run, a run that is not graded, or an assay without this grader or without these problems.
        NotComparable: two runs differ in data set, profile, problems or prompt rule.
    """
    sides = [graded(Run.open(Path(run)), profile) for run in runs]
    if not sides:
        raise UserError("no run is named; give the folder of a graded run")
    for first, second in combinations(sides, 2):
        refused = obstacles(first, second)
        if refused:
            raise NotComparable("; ".join(refused))
    name = grader or sides[0].summary.profile
    folder = latest_assay(sides[0].run.manifest.benchmark.dataset_sha256, name) if assay is None else Path(assay)
    calibration = _read(folder, name, pass_at)
    found = tuple(_corrected(side, calibration, confidence, folder) for side in sides)
    return CorrectedRuns(runs=found, turning=tuple(_turning(found)))


def _read(folder: Path, grader: str, pass_at: float | None) -> _Calibration:
    """Read probes and verdicts of one grader."""
    probes = list(read_journal(folder / "probes.jsonl", Probe))
    if not probes:
        raise UserError(f"{folder}: holds no probes.jsonl with probes; give the folder of a finished assay")
    graders = settle(read_journal(folder / "verdicts.jsonl", Said))
    if grader not in graders:
        hint = "`grader` says which of them gave the run's verdicts"
        raise UnknownName("grader in this assay", grader, graders, hint)
    acceptance = Acceptance(probes, graders[grader], pass_at)
    return _Calibration(grader=grader, acceptance=acceptance, probes=probes)


def _corrected(side: GradedRun, calibration: _Calibration, confidence: float, folder: Path) -> CorrectedPass:
    tallies = [tally for tally in tallies_of(side.summary) if tally.n]
    counts = calibration.counts(tallies, ("right", *NATURAL))
    if not counts:
        raise UserError(
            f"{folder}: has no verdict on a program for a problem of {side.run.given}; assay the run's benchmark"
        )
    strata = {task.id: task.tags["difficulty"] for task in side.summary.tasks if "difficulty" in task.tags}
    mutants, replies = (calibration.counts(tallies, (kind,)) for kind in ("mutant", "reply"))
    found = corrected_pass(tallies, counts, strata=strata, confidence=confidence)
    return msgspec.structs.replace(
        found,
        run=str(side.run.given),
        grader=calibration.grader,
        replies_g=_replies_g(mutants, replies, confidence),
    )


def corrected_pass(
    tallies: Sequence[TaskTally],
    counts: Mapping[str, GraderCount],
    *,
    strata: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    bootstrap: bool = True,
) -> CorrectedPass:
    """Correct the pass@1 of tallied samples.

    Args:
        tallies: one a problem, each with a sample.
        counts: what the grader made of right and natural wrong programs, by problem.
        strata: difficulty of problems, by id; None where nothing tells it.
        confidence: of all intervals.
        bootstrap: give the bootstrap's interval as well, which takes most of the time.

    Raises:
        UserError: no right or no wrong program has a verdict.
    """
    ratios = _ratios(tallies, counts, confidence)
    if ratios is None:
        raise UserError("a correction needs verdicts on right and on wrong programs; the assay lacks one of them")
    raw = estimate("pass@1", tallies, confidence)
    value = _value(RateSpan(raw.value, raw.low, raw.high, raw.method))
    found = CorrectedPass(
        run="",
        grader="",
        confidence=confidence,
        problems=len(tallies),
        measured=sum(tally.task_id in counts for tally in tallies),
        raw=value,
        tpr=_value(share_span(ratios, TPR, TPR)),
        fpr=_value(share_span(ratios, FPR, FPR_UPPER)),
        j=_value(j_span(ratios)),
    )
    if not correctable(ratios):
        said = "the interval of J touches 0, or there is none: the verdicts hardly tell right from wrong"
        return msgspec.structs.replace(found, refused=said)
    tpr, fpr, passed = (ratios.values[place] for place in (TPR, FPR, PASSED))
    span = corrected_span(ratios)
    parts = _strata(tallies, counts, strata or {}, confidence)
    reach = covariance_reach(tpr - fpr, _sd_right(tallies, span.value, tpr - fpr), _sd_j(counts))
    return msgspec.structs.replace(
        found,
        corrected=_value(span),
        bootstrap=_value(corrected_bootstrap_span(ratios)) if bootstrap else None,
        unclipped=rogan_gladen(passed, tpr, fpr),
        strata=tuple(one for one, _, _ in parts),
        stratified=_value(stratified_span([part[1:] for part in parts])) if parts else None,
        covariance=None
        if span.low is None or span.high is None
        else (max(0.0, span.low - reach), min(1.0, span.high + reach)),
        odds=tuple(_odds(passed, tpr, fpr)),
    )


def _ratios(tallies: Sequence[TaskTally], counts: Mapping[str, GraderCount], confidence: float) -> Ratios | None:
    """TPR, FPR, its upper bound and pass@1, every problem weighted alike."""
    rows = [
        counts.get(tally.task_id, GraderCount(problem_id=tally.task_id, cluster=tally.cluster))
        for tally in tallies
    ]
    passed = Share([tally.c / tally.n for tally in tallies], [1.0] * len(rows), [tally.n for tally in tallies])
    return error_ratios(rows, passed, by_problem=True, confidence=confidence)


def _strata(
    tallies: Sequence[TaskTally],
    counts: Mapping[str, GraderCount],
    strata: Mapping[str, str],
    confidence: float,
) -> list[tuple[StratumCorrection, float, Ratios]]:
    """Each stratum with its weight; none unless every problem has one, and all of several can be corrected."""
    groups: dict[str, list[TaskTally]] = defaultdict(list)
    for tally in tallies:
        groups[strata.get(tally.task_id, "")].append(tally)
    if len(groups) < 2 or "" in groups:
        return []
    parts = []
    for stratum, members in sorted(groups.items()):
        ratios = _ratios(members, counts, confidence)
        if ratios is None or not correctable(ratios):
            return []
        correction = StratumCorrection(
            stratum=stratum,
            problems=len(members),
            raw=ratios.values[PASSED],
            corrected=_value(corrected_span(ratios)),
        )
        parts.append((correction, len(members) / len(tallies), ratios))
    return parts


def _sd_right(tallies: Sequence[TaskTally], corrected: float, j: float) -> float:
    """Largest standard deviation over problems that the probability of being right may have.

    Single samples do not tell how unlike problems are: then it is that of problems solved always or never.
    """
    between = between_variance([tally.c for tally in tallies], [tally.n for tally in tallies])
    return min(sqrt(corrected * (1 - corrected)), sqrt(between) / j)


def _sd_j(counts: Mapping[str, GraderCount]) -> float:
    """Standard deviation of J over problems, without what few programs a problem add to it."""
    rows = list(counts.values())
    rights = between_variance([row.right_accepted for row in rows], [row.right for row in rows])
    wrongs = between_variance([row.wrong_accepted for row in rows], [row.wrong for row in rows])
    both = [
        (row.right_accepted / row.right, row.wrong_accepted / row.wrong) for row in rows if row.right and row.wrong
    ]
    if len(both) < 2:
        return sqrt(rights + wrongs)
    means = [sum(column) / len(both) for column in zip(*both, strict=True)]
    together = sum((t - means[0]) * (f - means[1]) for t, f in both) / (len(both) - 1)
    return sqrt(max(0.0, rights + wrongs - 2 * together))


def _odds(passed: float, tpr: float, fpr: float) -> Iterator[OddsBand]:
    for g in ODDS_FACTORS:
        low, high = odds_band(passed, tpr, fpr, g) or (None, None)
        yield OddsBand(g=g, low=low, high=high)


def _replies_g(
    mutants: Mapping[str, GraderCount], replies: Mapping[str, GraderCount], confidence: float
) -> MeasuredValue | None:
    """G of the models' own wrong replies against mutants of the same problems."""
    problems = sorted(set(mutants) & set(replies))
    shares = [
        mean_over_problems(accepted_share([of[problem] for problem in problems])) for of in (replies, mutants)
    ]
    if not problems or not all(any(share.bottoms) for share in shares):
        return None
    clusters = [mutants[problem].cluster for problem in problems]
    span = odds_ratio_span(Ratios(shares, clusters, confidence), 0, 1)
    return None if span is None else _value(span)


def _turning(runs: Sequence[CorrectedPass]) -> Iterator[TurningPoint]:
    """Of every two runs that are corrected: the G at which their order turns."""
    for pair in combinations(runs, 2):
        if any(run.refused or run.raw.value is None for run in pair):
            continue
        worse, better = sorted(pair, key=lambda run: run.raw.value or 0.0)
        # Runs of the same problems under the same grader have the same error rates.
        assert better.tpr.value is not None
        assert better.fpr.value is not None
        g = turning_odds(better.raw.value or 0.0, worse.raw.value or 0.0, better.tpr.value, better.fpr.value)
        yield TurningPoint(better=better.run, worse=worse.run, g=g)


def _value(span: RateSpan) -> MeasuredValue:
    return MeasuredValue(value=span.value, low=span.low, high=span.high, method=span.method)


# ------------------------------------------------------------------------------------------------- text


def corrected_lines(found: CorrectedRuns, *, corrected: bool = True) -> Iterator[str]:
    """The same for a terminal, line by line; without ``corrected`` the measured values alone."""
    for run in found.runs:
        yield f"{run.run}, graded by {run.grader}: {run.problems} problems, {run.measured} of them measured"
        yield f"  raw pass@1   {_told(run.raw)}"
        yield f"  TPR {_told(run.tpr)}, FPR {_told(run.fpr)}, J {_told(run.j)}"
        if not corrected:
            continue
        if run.refused:
            yield f"  not corrected: {run.refused}"
        else:
            yield from _correction_lines(run)
    for pair in found.turning if corrected else ():
        at = "no factor of the odds turns it" if pair.g is None else f"it turns at G = {pair.g:.2f}"
        yield f"{pair.better} is above {pair.worse}; {at}"


def _correction_lines(run: CorrectedPass) -> Iterator[str]:
    assert run.corrected is not None
    assert run.unclipped is not None
    cut = "" if 0.0 <= run.unclipped <= 1.0 else f"; cut from {100 * run.unclipped:.1f}"
    yield f"  corrected    {_told(run.corrected)}{cut}"
    if run.bootstrap is not None:
        yield f"  bootstrap    {_told(run.bootstrap)}"
    if run.stratified is not None:
        yield f"  by strata    {_told(run.stratified)}: {', '.join(one.stratum for one in run.strata)}"
    if run.covariance is not None:
        low, high = run.covariance
        yield f"  if easier problems are graded otherwise: {100 * low:.1f} to {100 * high:.1f} %"
    for band in run.odds:
        if band.g > 1 and band.low is not None and band.high is not None:
            yield f"  odds of FPR within a factor {band.g:g}: {100 * band.low:.1f} to {100 * band.high:.1f} %"
    g = run.replies_g
    if g is None or g.value is None:
        yield "  whether the model's errors are accepted as often as the probes is not identified"
    else:
        yield f"  odds of acceptance of wrong replies over mutants: G = {g.value:.2f} [{g.low:.2f}, {g.high:.2f}]"


def _told(value: MeasuredValue) -> str:
    """``61.2 % [55.0, 67.1]``."""
    if value.value is None:
        return "none"
    interval = (
        "" if value.low is None or value.high is None else f" [{100 * value.low:.1f}, {100 * value.high:.1f}]"
    )
    return f"{100 * value.value:.1f} %{interval}"
