"""One set of completions under several profiles: headline numbers and the spread between profiles."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from truegrade.errors import UserError
from truegrade.pipeline.cautions import Caution
from truegrade.pipeline.score_means import first_sample
from truegrade.pipeline.summary import ProfileSummary, Summary, read_summary
from truegrade.pipeline.verdict_table import VerdictTable, disputed, side_by_side, verdict_table
from truegrade.records import Estimate
from truegrade.statistics import TaskTally, estimate
from truegrade.store import Run


class MatrixRow(msgspec.Struct, frozen=True, kw_only=True):
    """One profile. Each number is None where no problem has the samples for it."""

    profile: str
    headline: str
    """The metric that the profile's summary puts first."""
    all_solutions: Estimate | None
    """Share of all samples that pass."""
    any_of_n: Estimate | None
    """Share of problems with at least one sample that passes."""
    first_sample: Estimate | None
    """Share of problems whose sample 0 passes."""
    pass_at: dict[int, Estimate]
    """pass@k by k."""


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """Rules down, numbers across, and the spread that the rules alone make."""

    benchmark: str
    model: str
    samples_per_task: int
    rows: list[MatrixRow]
    spread: float
    """Largest headline less smallest, as a fraction; 0 for a single profile."""
    lowest: str
    """Profile with the smallest headline."""
    highest: str
    compared: int
    """Samples that at least one profile graded."""
    disagreeing: int
    """Samples that pass under one profile and fail under another."""
    warnings: list[Caution] = []
    """Those of the run."""


def read_matrix(run: Run) -> Matrix:
    """The matrix of a graded run, from its summary and verdicts.

    Raises:
        UserError: it was not graded.
    """
    summary = read_summary(run)
    tasks = {line.id for profile in summary.profiles for line in profile.tasks}
    outcomes = {
        profile.profile: verdict_table(run.verdict_facts(profile.profile), tasks, summary.samples_per_task)
        for profile in summary.profiles
    }
    return rule_matrix(summary, outcomes)


def rule_matrix(summary: Summary, outcomes: Mapping[str, VerdictTable]) -> Matrix:
    """Put the numbers of every profile side by side.

    Args:
        summary: of the run.
        outcomes: by profile id; sample 0 is read from here, for a summary only counts.

    Raises:
        UserError: no profile, or one without outcomes.
    """
    missing = [profile.profile for profile in summary.profiles if profile.profile not in outcomes]
    if missing or not summary.profiles:
        raise UserError(f"no verdicts under {', '.join(missing) or 'any profile'}; grade the run first")
    headlines = {profile.profile: profile.estimates[0].value for profile in summary.profiles}
    lowest, highest = min(headlines, key=headlines.__getitem__), max(headlines, key=headlines.__getitem__)
    table = [row for _, row in side_by_side([outcomes[name] for name in headlines])]
    return Matrix(
        benchmark=summary.benchmark,
        model=summary.model,
        samples_per_task=summary.samples_per_task,
        rows=[_row(profile, outcomes[profile.profile]) for profile in summary.profiles],
        spread=headlines[highest] - headlines[lowest],
        lowest=lowest,
        highest=highest,
        compared=len(table),
        disagreeing=sum(map(disputed, table)),
        warnings=summary.warnings,
    )


def tallies_of(profile: ProfileSummary) -> list[TaskTally]:
    """The counts behind a profile's numbers."""
    return [TaskTally(task_id=t.id, cluster=t.cluster, n=t.n, c=t.c) for t in profile.tasks]


def _row(profile: ProfileSummary, outcomes: VerdictTable) -> MatrixRow:
    tallies = tallies_of(profile)
    sampled = any(tally.n for tally in tallies)
    return MatrixRow(
        profile=profile.profile,
        headline=profile.estimates[0].metric,
        all_solutions=estimate("all_solutions", tallies) if sampled else None,
        any_of_n=estimate("any_correct", tallies) if sampled else None,
        first_sample=first_sample({line.id: line.cluster for line in profile.tasks}, outcomes),
        pass_at={
            int(e.metric.removeprefix("pass@")): e for e in profile.estimates if e.metric.startswith("pass@")
        },
    )
