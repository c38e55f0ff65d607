"""Several runs side by side, models or data sets: each with its own intervals, and paired with the first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from truegrade.analysis.matrix import tallies_of
from truegrade.pipeline.cautions import Caution
from truegrade.pipeline.summary import ProfileSummary, profile_summary, read_summary
from truegrade.records import SCHEMA_VERSION, Estimate
from truegrade.statistics.reasoning import ReasoningSummary, compare_reasoning
from truegrade.statistics.reasoning_measures import difference
from truegrade.statistics.reasoning_records import ShareDifference
from truegrade.statistics.windows import Gap
from truegrade.store import Run


class RunStanding(msgspec.Struct, frozen=True, kw_only=True):
    """One run in the table."""

    run: Path
    model: str
    benchmark: str
    args: dict[str, str] = {}
    """Task arguments of the benchmark."""
    dataset_sha256: str
    profile: str
    samples_per_task: int
    level: int | None
    """Protection level; None where nothing was executed."""
    headline: Estimate
    prediction: list[Estimate]
    """OC, MC, PC, OR, MR per case, mean; empty where nothing was predicted."""
    choice: list[Estimate]
    """preference, OC, MC, OR, MR and same_program; empty where nothing was chosen."""
    gap: ShareDifference | None
    """``MC - OC``, paired by case inside this run."""
    after_cutoff: Gap | None
    """pass@1 after the model's cut-off less that up to it; None without dated problems on both sides."""
    against_first: list[ShareDifference]
    """This run minus the first: the headline, then the metrics of reasoning. Empty for the first, and where data
    set or profile differ."""


class PairStanding(msgspec.Struct, frozen=True, kw_only=True):
    """One model on one benchmark, of a call that asks several models about several benchmarks."""

    benchmark: str
    """Its name, with the task arguments: ``dsl-list task=choice``."""
    model: str
    run: Path
    """The folder, which `truegrade.load` opens; it is not there where nothing could be begun."""
    profiles: tuple[str, ...] = ()
    """Ids of those that it was to be graded under."""
    standings: list[RunStanding]
    """One for each profile; none where nothing was counted."""
    cost_usd: float | None
    """Of all requests, those of earlier calls too; None where it is not known."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    """Of all replies; None where the service does not tell."""
    cutoff: str | None = None
    """Last day of the model's training data, as it was given."""
    warnings: list[Caution] = []
    """What must be known of the numbers."""
    failure: str | None
    """Why it is not complete, and None where it is."""


class LeftOutBenchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark of a suite that was not run."""

    benchmark: str
    why: str


class SuiteStanding(msgspec.Struct, frozen=True, kw_only=True):
    """What a suite, or several benchmarks and models of one command, have come to so far: ``suite.json``."""

    schema: int = SCHEMA_VERSION
    name: str
    description: str
    updated: str
    """When this was written."""
    origins: dict[str, str] = {}
    """Where each suite was found, by its name."""
    folder: Path
    """That holds the folders of the runs."""
    pairs: list[PairStanding]
    """All that were asked for, those not begun too: all benchmarks of the first model first."""
    left_out: list[LeftOutBenchmark] = []


def titled(name: str, args: Mapping[str, str]) -> str:
    """A benchmark's name with its task arguments, by which two of one name are told apart."""
    return " ".join([name, *(f"{key}={value}" for key, value in args.items())])


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
    replies = [] if opened is None else list(opened.completion_facts())
    used = [facts.usage for facts in replies if facts.usage is not None]
    counted: list[RunStanding] = []
    warnings: list[Caution] = []
    cutoff = None
    if opened is not None and (folder / "summary.json").exists():
        summary = read_summary(opened)
        found = [each for each in summary.profiles if each.profile in profiles]
        counted = [_standing(opened, each, None) for each in found]
        warnings, cutoff = summary.warnings, summary.cutoff
        if failure is None and (errors := sum(len(each.grader_errors) for each in found)):
            failure = f"the grader failed on {errors} samples, which are not counted: truegrade grade {folder}"
    return PairStanding(
        benchmark=benchmark,
        model=model,
        run=folder,
        profiles=tuple(profiles),
        standings=counted,
        cost_usd=known_sum(facts.cost_usd for facts in replies),
        input_tokens=known_sum(usage.input_tokens for usage in used),
        output_tokens=known_sum(usage.output_tokens for usage in used),
        cutoff=cutoff,
        warnings=warnings,
        failure=failure,
    )


_Number = TypeVar("_Number", int, float)


def known_sum(numbers: Iterable[_Number | None]) -> _Number | None:
    """The sum of those that are known; None where none is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _standing(run: Run, summary: ProfileSummary, first: tuple[Run, ProfileSummary] | None) -> RunStanding:
    reasoning = summary.reasoning or ReasoningSummary()
    prediction, choice = reasoning.prediction, reasoning.choice
    order = [] if choice is None else [e for e in choice.order if e.metric == "same_program"]
    gaps = [] if prediction is None else prediction.differences
    return RunStanding(
        run=run.given,
        model=read_summary(run).model,
        benchmark=run.manifest.benchmark.label,
        args=run.manifest.benchmark.args,
        dataset_sha256=run.manifest.benchmark.dataset_sha256,
        profile=summary.profile,
        samples_per_task=run.manifest.samples_per_task,
        level=summary.level,
        headline=summary.estimates[0],
        prediction=[] if prediction is None else prediction.tables[0].estimates,
        choice=[] if choice is None else [*choice.tables[0].estimates, *order],
        gap=next((gap for gap in gaps if gap.metric == "MC - OC"), None),
        after_cutoff=summary.after_cutoff,
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
