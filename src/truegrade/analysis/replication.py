"""Comparison of a published number with a stored run: a verdict per profile, and possible explanations.

Pure reading of stored files; nothing is graded here. The statistics are in `truegrade.statistics.claims`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from truegrade.analysis.audit.findings import Audit, Severity
from truegrade.analysis.replication_causes import Explanation, explain
from truegrade.analysis.replication_question import (
    MEANS,
    OwnNumber,
    Question,
    estimate_of,
    own_number,
    refuse_wrong_numbers,
    resolve,
)
from truegrade.errors import UserError
from truegrade.files.json_text import read_json
from truegrade.pipeline.cautions import Caution
from truegrade.pipeline.summary import Summary, read_summary
from truegrade.records import Estimate
from truegrade.statistics import TaskTally
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
    """What became of a claim: whether an independent draw could give it."""

    REPRODUCED = "reproduced"
    """It is our own number, or its digits fit its denominator and it lies inside our interval."""
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
    obstacles: list[str]
    """Those of them that say why claim and run do not measure the same thing; empty if they do."""
    estimate: Estimate | None
    """Ours; None where the run cannot give the metric."""
    own: OwnNumber | None
    """Our number beside the claim; None with ``estimate``."""
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
    samples: int
    """Samples per problem of the run."""
    claimed_samples: int | None
    """Samples per problem behind the claim, where known."""
    tolerance: float
    """By how much the claim may miss the interval."""
    fits: list[Fit]
    """Denominators that can print the claim."""
    result: ProfileResult
    """Under the profile in question."""
    others: list[ProfileResult]
    """Under the other profiles of the run."""
    explanations: list[Explanation]
    """What could explain a difference. None where the claim is the run's own number; only what gives exactly
    the claim where it is reproduced."""
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
    claimed, tolerance = parse_claim(claim), tolerance_points / 100
    asked = {
        item.profile: resolve(run, summary, item, claimed, metric, tasks, samples, tolerance)
        for item in summary.profiles
    }
    wanted = run.profile_id(profile) if profile is not None else summary.profiles[0].profile
    if wanted not in asked:
        raise UserError(f"{run.given}: its summary lacks {wanted}; grade it again under that profile")
    results = {name: _judge(question, name) for name, question in asked.items()}
    result, question = results.pop(wanted), asked[wanted]
    audited = stored_audit(run)
    return Replication(
        run=str(run.given),
        benchmark=summary.benchmark,
        model=summary.model,
        claim=claimed.text,
        claim_low=claimed.low,
        claim_high=claimed.high,
        metric=metric,
        tasks=summary.tasks,
        samples=summary.samples_per_task,
        claimed_samples=question.samples,
        tolerance=tolerance,
        fits=list(question.fits),
        result=result,
        others=list(results.values()),
        explanations=_explanations(run, summary, question, result, list(results.values())),
        audited=None if run.manifest.imported_from is None else audited is not None,
        condemned=[f.sentence for f in audited.findings if f.severity is Severity.ERROR] if audited else [],
        warnings=summary.warnings,
    )


def _explanations(
    run: Run, summary: Summary, asked: Question, result: ProfileResult, others: Sequence[ProfileResult]
) -> list[Explanation]:
    """What could explain that the run's own number is not the claim."""
    if result.own is not None and result.own.agrees:
        return []

    def matches(tallies: Sequence[TaskTally], metric: str) -> tuple[bool, str] | None:
        """Whether other tallies or another metric give exactly the claim or only cover it, and the sentence."""
        own, found = own_number(asked.claim, metric, tallies), estimate_of(metric, tallies)
        if own is None or found is None or not (own.agrees or asked.inside(found)):
            return None
        interval = "" if own.agrees else "; the claim lies inside its interval"
        return own.agrees, own.sentence + interval

    chosen = next(item for item in summary.profiles if item.profile == result.profile)
    found = [*_other_profiles(others), *explain(run, summary, chosen, asked.claim, asked.metric, matches)]
    return [cause for cause in found if cause.exact or result.outcome is not ReplicationOutcome.REPRODUCED]


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


def _judge(asked: Question, profile: str) -> ProfileResult:
    ours, own = asked.ours, asked.own
    p_values = _p_values(asked, ours)
    result = ProfileResult(
        profile=profile,
        outcome=ReplicationOutcome.NOT_COMPARABLE,
        why=[*asked.obstacles, *([own.sentence] if own is not None and own.agrees else [])],
        obstacles=list(asked.obstacles),
        estimate=ours,
        own=own,
        **p_values,
    )
    if ours is None or own is None or asked.obstacles:
        return result
    if asked.no_fit is not None or (ours.low is None and not own.agrees):
        return msgspec.structs.replace(result, why=[asked.no_fit or asked.position(ours)])
    inside = asked.holds(ours)
    told = own.agrees or any(fit.denominator == own.total for fit in asked.fits[:1])
    digits = [] if told else [asked.digits()]
    return msgspec.structs.replace(
        result,
        outcome=ReplicationOutcome.REPRODUCED if inside else ReplicationOutcome.NOT_REPRODUCED,
        why=[own.sentence, asked.position(ours), *digits, *_chance(inside, **p_values)],
    )


def _p_values(asked: Question, ours: Estimate | None) -> dict[str, float | None]:
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
        "p_same_tasks": same_tasks_p(asked.claim, asked.samples or 1, asked.tallies) if means else None,
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


def _other_profiles(others: Sequence[ProfileResult]) -> list[Explanation]:
    """Other rules under which the claim holds."""
    return [
        Explanation(
            kind="profile",
            explains=True,
            exact=other.own.agrees,
            sentence=f"under {other.profile} {other.own.sentence if other.own.agrees else other.why[1]}",
        )
        for other in others
        if other.outcome is ReplicationOutcome.REPRODUCED and other.own is not None
    ]
