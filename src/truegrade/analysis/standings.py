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


class PairStanding(msgspec.Struct, frozen=True, kw_only=True):
    """One model on one benchmark, of a call that asks several models about several benchmarks."""

    benchmark: str
    model: str
    run: Path
    """The folder, which `truegrade.load` opens; it is not there where nothing could be begun."""
    standings: list[RunStanding]
    """One for each profile; none where nothing was counted."""
    cost_usd: float | None
    """Of all requests, those of earlier calls too; None where it is not known."""
    failure: str | None
    """Why it is not complete, and None where it is."""


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


def pair_standing(
    run: Run | Path, profiles: Sequence[str], *, benchmark: str, model: str, failure: str | None
) -> PairStanding:
    """What a pair has come to.

    Args:
        run: the run, or its folder where there may be none.
        profiles: ids of those that it was to be graded under.
        benchmark, model: names.
        failure: why it is not complete; None to say so where the grader failed, as its summary tells.
    """
    folder = run.path if isinstance(run, Run) else run
    opened = run if isinstance(run, Run) else Run.open(folder) if (folder / "manifest.json").exists() else None
    costs = [] if opened is None else [facts.cost_usd for facts in opened.completion_facts()]
    known = [usd for usd in costs if usd is not None]
    counted: list[RunStanding] = []
    if opened is not None and (folder / "summary.json").exists():
        summary = read_summary(opened)
        found = [each for each in summary.profiles if each.profile in profiles]
        counted = [_standing(opened, each, None) for each in found]
        if failure is None and (errors := sum(len(each.grader_errors) for each in found)):
            failure = f"the grader failed on {errors} samples, which are not counted: truegrade grade {folder}"
    return PairStanding(
        benchmark=benchmark,
        model=model,
        run=folder,
        standings=counted,
        cost_usd=sum(known) if known else None,
        failure=failure,
    )


def _standing(run: Run, summary: ProfileSummary, first: tuple[Run, ProfileSummary] | None) -> RunStanding:
    reasoning = summary.reasoning or ReasoningSummary()
    prediction, choice = reasoning.prediction, reasoning.choice
    order = [] if choice is None else [e for e in choice.order if e.metric == "same_program"]
    gaps = [] if prediction is None else prediction.differences
    return RunStanding(
        run=run.given,
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
