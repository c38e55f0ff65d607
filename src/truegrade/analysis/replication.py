"""Comparison of a published number with a stored run: a verdict per profile, and possible explanations.

Pure reading of stored files; nothing is graded here. The statistics are in `truegrade.statistics.claims`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from truegrade.analysis.audit.findings import Audit, Severity
from truegrade.analysis.matrix import tallies_of
from truegrade.analysis.replication_causes import Explanation, explain
from truegrade.analysis.replication_question import MEANS, Question, refuse_wrong_numbers, resolve
from truegrade.errors import UserError
from truegrade.files.json_text import read_json
from truegrade.pipeline.cautions import Caution
from truegrade.pipeline.summary import ProfileSummary, read_summary
from truegrade.records import Estimate, Reason
from truegrade.statistics import TaskTally, estimate
from truegrade.statistics.claims import (
    Fit,
    effective_draws,
    independent_p,
    parse_claim,
    same_tasks_p,
)
from truegrade.store import Run

AUDIT = "audit.json"
"""Where a run keeps the audit of the file that it was made of: `truegrade check`, or ``audit FILE --json``."""

SMALL_P = 0.05
"""The p-value under which a difference is called more than chance."""


class ReplicationOutcome(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    """Its digits fit its denominator, and it lies inside our interval."""
    NOT_REPRODUCED = "not reproduced"
    """It fits its denominator, and lies outside."""
    NOT_COMPARABLE = "not comparable"
    """It and the run do not measure the same thing."""


class ProfileResult(msgspec.Struct, frozen=True, kw_only=True):
    """The claim under one profile."""

    profile: str
    outcome: ReplicationOutcome
    why: list[str]
    """Sentences."""
    estimate: Estimate | None
    """Ours; None where the run cannot give the metric."""
    p_independent: float | None = None
    """See `truegrade.statistics.claims.independent_p`."""
    p_same_tasks: float | None = None
    """See `truegrade.statistics.claims.same_tasks_p`; None unless every problem has two samples or more."""


class Replication(msgspec.Struct, frozen=True, kw_only=True):
    """A claim against a run. Shares are fractions."""

    run: str
    benchmark: str
    model: str
    claim: str
    claim_low: float
    claim_high: float
    metric: str
    tasks: int
    """Problems of the run."""
    tolerance: float
    """By how much the claim may miss the interval."""
    fits: list[Fit]
    """Denominators that can print the claim."""
    result: ProfileResult
    """Under the profile in question."""
    others: list[ProfileResult]
    """Under the other profiles of the run."""
    explanations: list[Explanation]
    """What could explain a difference; empty where the claim is reproduced."""
    audited: bool | None
    """Whether the run keeps an audit of the file that it was made of; None where it was not made of a file."""
    condemned: list[str]
    """Sentences of that audit: what in the file must not count."""
    warnings: list[Caution] = []
    """Of the run."""

    @property
    def holds(self) -> bool:
        """Whether the claim is reproduced, and no audit says that the number must not count."""
        return self.result.outcome is ReplicationOutcome.REPRODUCED and not self.condemned


def replicate(
    run: Run,
    claim: str,
    *,
    metric: str = "pass@1",
    tasks: int | None = None,
    samples: int | None = None,
    profile: str | None = None,
    tolerance_points: float = 0.0,
) -> Replication:
    """Hold a claim against a graded run.

    Args:
        run: graded.
        claim: in percent as printed; its digits count.
        metric: ``pass@K``, ``any_correct``, ``all_correct`` or ``all_solutions``.
        tasks: how many problems, or draws over this run's problems, the claim is a share of; None if nobody says.
        samples: samples per problem behind the claim; None if nobody says.
        profile: the rules in question, by name or id; None for the first that the run was graded under.
        tolerance_points: percentage points by which the claim may miss the interval.

    Raises:
        UserError: the claim is no percentage, the run was not graded, or a name or number is at fault.
    """
    summary = read_summary(run)
    refuse_wrong_numbers(metric, tasks, samples, tolerance_points)
    asked = resolve(run, summary, parse_claim(claim), metric, tasks, samples, tolerance_points / 100)
    wanted = run.profile_id(profile) if profile is not None else summary.profiles[0].profile
    results = {item.profile: _judge(asked, item) for item in summary.profiles}
    if wanted not in results:
        raise UserError(f"{run.given}: its summary lacks {wanted}; grade it again under that profile")
    result = results.pop(wanted)
    chosen = next(item for item in summary.profiles if item.profile == wanted)
    audited = stored_audit(run)

    def covers(tallies: Sequence[TaskTally], other_metric: str) -> Estimate | None:
        """The estimate of other tallies or of another metric, if the claim lies inside its interval."""
        found = _estimate(other_metric, tallies)
        return found if found is not None and asked.inside(found) else None

    return Replication(
        run=str(run.given),
        benchmark=summary.benchmark,
        model=summary.model,
        claim=asked.claim.text,
        claim_low=asked.claim.low,
        claim_high=asked.claim.high,
        metric=metric,
        tasks=summary.tasks,
        tolerance=asked.tolerance,
        fits=list(asked.fits),
        result=result,
        others=list(results.values()),
        explanations=[]
        if result.outcome is ReplicationOutcome.REPRODUCED
        else [
            *_other_profiles(list(results.values())),
            *explain(run, summary, chosen, asked.claim, metric, covers),
        ],
        audited=None if run.manifest.imported_from is None else audited is not None,
        condemned=[f.sentence for f in audited.findings if f.severity is Severity.ERROR] if audited else [],
        warnings=summary.warnings,
    )


def stored_audit(run: Run) -> Audit | None:
    """The audit that a run keeps; None if it keeps none.

    Raises:
        BadRecord: the file is no audit.
    """
    path = run.path / AUDIT
    if not path.is_file():
        return None
    return read_json(path, Audit, "write it anew with `truegrade audit FILE --json`, or remove it")


# ---------------------------------------------------------------------------------------- the verdict


def _judge(asked: Question, profile: ProfileSummary) -> ProfileResult:
    tallies = tallies_of(profile)
    ours = _estimate(asked.metric, tallies)
    obstacles = [*asked.obstacles, *_gaps(asked, profile, ours)]
    p_values = _p_values(asked, tallies, ours)
    if ours is None or obstacles:
        return ProfileResult(
            profile=profile.profile,
            outcome=ReplicationOutcome.NOT_COMPARABLE,
            why=obstacles,
            estimate=ours,
            **p_values,
        )
    inside = asked.inside(ours)
    return ProfileResult(
        profile=profile.profile,
        outcome=ReplicationOutcome.REPRODUCED if inside else ReplicationOutcome.NOT_REPRODUCED,
        why=[asked.position(ours), asked.digits(), *_chance(inside, **p_values)],
        estimate=ours,
        **p_values,
    )


def _gaps(asked: Question, profile: ProfileSummary, ours: Estimate | None) -> list[str]:
    """What this profile's verdicts lack for the metric."""
    if ours is None:
        return [f"{asked.metric} needs more samples per problem than this run has"]
    gaps = []
    errors = profile.reasons.get(Reason.GRADER_ERROR.value, 0)
    if errors:
        gaps.append(
            f"{errors} verdicts are grader errors, which carry no information about the model; grade again"
        )
    if ours.tasks < len(profile.tasks):
        gaps.append(
            f"only {ours.tasks} of {len(profile.tasks)} problems have the samples that {asked.metric} needs"
        )
    if ours.low is None:
        gaps.append("all problems form one cluster, so there is no interval to compare the claim with")
    return gaps


def _p_values(asked: Question, tallies: Sequence[TaskTally], ours: Estimate | None) -> dict[str, float | None]:
    """Both p-values, where they can be had.

    The claim's draws are taken to be worth its number of problems, whatever its samples: nobody knows how alike
    the samples of a problem were, and fewer draws mean a larger, more careful p-value.
    """
    draws = effective_draws(ours) if ours is not None else None
    if ours is None or draws is None or not asked.same_tasks:
        return {"p_independent": None, "p_same_tasks": None}
    means = asked.metric in MEANS
    return {
        "p_independent": independent_p(asked.claim, asked.tasks, ours.value, draws),
        "p_same_tasks": same_tasks_p(asked.claim, asked.samples or 1, tallies) if means else None,
    }


def _chance(inside: bool, p_independent: float | None, p_same_tasks: float | None) -> list[str]:
    """What the p-values add to the interval, which is about our number alone and allows for other problems."""
    if inside:
        if p_same_tasks is None or p_same_tasks >= SMALL_P:
            return []
        beyond = f"conditional on these problems the difference is significant (p = {p_same_tasks:.2g})"
        return [f"the interval covers the sampling of problems; {beyond}"]
    p = p_same_tasks if p_same_tasks is not None else p_independent
    if p is None or p < SMALL_P:
        return []
    return [f"the claim has a sampling error too, and with it the difference is not significant (p = {p:.2g})"]


# -------------------------------------------------------------------------------------------- helpers


def _estimate(metric: str, tallies: Sequence[TaskTally]) -> Estimate | None:
    """The metric, or None where no problem has the samples for it."""
    needed = int(match[1]) if (match := re.fullmatch(r"pass@([1-9]\d*)", metric)) else 1
    return estimate(metric, tallies) if any(tally.n >= needed for tally in tallies) else None


def _other_profiles(others: Sequence[ProfileResult]) -> list[Explanation]:
    """Other rules under which the claim holds."""
    return [
        Explanation(
            kind="profile",
            explains=True,
            sentence=f"under {other.profile} the claim is reproduced: {100 * other.estimate.value:.1f} %",
        )
        for other in others
        if other.outcome is ReplicationOutcome.REPRODUCED and other.estimate is not None
    ]
