"""Several runs side by side, models or data sets: each with its own intervals, and paired with the first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from truegrade.analysis.matrix import tallies_of
from truegrade.pipeline.summary import ProfileSummary, profile_summary, read_summary
from truegrade.records import Estimate
from truegrade.statistics.reasoning import ReasoningSummary, compare_reasoning
from truegrade.statistics.reasoning_measures import difference
from truegrade.statistics.reasoning_records import ShareDifference
from truegrade.store import Run


class RunStanding(msgspec.Struct, frozen=True, kw_only=True):
    """One run in the table."""

    run: Path
    model: str
    benchmark: str
    dataset_sha256: str
    profile: str
    headline: Estimate
    prediction: list[Estimate]
    """OC, MC, PC, OR, MR per case, mean; empty where nothing was predicted."""
    choice: list[Estimate]
    """preference, OC, MC, OR, MR and same_program; empty where nothing was chosen."""
    gap: ShareDifference | None
    """``MC - OC``, paired by case inside this run."""
    against_first: list[ShareDifference]
    """This run minus the first: the headline, then the metrics of reasoning. Empty for the first, and where data
    set or profile differ."""


def standings(runs: Sequence[Run | str | Path], *, profile: str | None = None) -> list[RunStanding]:
    """Put runs side by side, in the order given.

    Args:
        runs: graded ones, or their folders; the first is what the others are compared with.
        profile: under which rules; None if each run has only one.

    Raises:
        UserError: a run was not graded under that profile.
        BadRecord: a folder holds no run.
    """
    found: list[RunStanding] = []
    first: tuple[Run, ProfileSummary] | None = None
    for item in runs:
        run = item if isinstance(item, Run) else Run.open(Path(item))
        summary = profile_summary(run, profile)
        found.append(_standing(run, summary, first))
        first = first or (run, summary)
    return found


def _standing(run: Run, summary: ProfileSummary, first: tuple[Run, ProfileSummary] | None) -> RunStanding:
    reasoning = summary.reasoning or ReasoningSummary()
    prediction, choice = reasoning.prediction, reasoning.choice
    order = [] if choice is None else [e for e in choice.order if e.metric == "same_program"]
    gaps = [] if prediction is None else prediction.differences
    return RunStanding(
        run=run.path,
        model=read_summary(run).model,
        benchmark=run.manifest.benchmark.label,
        dataset_sha256=run.manifest.benchmark.dataset_sha256,
        profile=summary.profile,
        headline=summary.estimates[0],
        prediction=[] if prediction is None else prediction.tables[0].estimates,
        choice=[] if choice is None else [*choice.tables[0].estimates, *order],
        gap=next((gap for gap in gaps if gap.metric == "MC - OC"), None),
        against_first=[] if first is None else _against(run, summary, *first),
    )


def _against(run: Run, summary: ProfileSummary, first: Run, baseline: ProfileSummary) -> list[ShareDifference]:
    data, other = run.manifest.benchmark, first.manifest.benchmark
    if data.dataset_sha256 != other.dataset_sha256 or data.name != other.name:
        return []
    if summary.profile != baseline.profile:
        return []
    whole = difference("pass@1", tallies_of(baseline), tallies_of(summary))
    parts = (
        compare_reasoning(baseline.reasoning, summary.reasoning)
        if baseline.reasoning is not None and summary.reasoning is not None
        else ()
    )
    return [*([whole] if whole is not None else []), *parts]
