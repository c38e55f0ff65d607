"""Several runs side by side, models or data sets: each with its own intervals, and paired with the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from truegrade.app import folder_kind
from truegrade.errors import UserError
from truegrade.pipeline.cautions import Caution
from truegrade.pipeline.summary import ProfileSummary, Summary, profile_summary, read_summary
from truegrade.pipeline.verdicts import VerdictTable, disputed, first_sample, side_by_side, verdict_table
from truegrade.records import SCHEMA_VERSION, Estimate
from truegrade.statistics import TaskTally, estimate
from truegrade.statistics.power import ALPHA, POWER, mcnemar_detectable, mcnemar_power, mcnemar_tasks
from truegrade.statistics.reasoning import ReasoningSummary, compare_reasoning
from truegrade.statistics.reasoning_choice import difference
from truegrade.statistics.reasoning_records import ShareDifference
from truegrade.statistics.windows import Gap
from truegrade.store import Run
from truegrade.store.facts import sample_hash
from truegrade.store.packing import is_pack

MAX_DEPTH = 3
"""Folders between the one given and a run."""


def run_folders(path: Path, depth: int = MAX_DEPTH) -> Iterator[Path]:
    """The runs and packs below a folder, by name; a run or pack itself."""
    if not path.is_dir() or (path / "manifest.json").is_file() or folder_kind(path):
        yield path
        return
    for below in sorted(path.iterdir()):
        if is_pack(below) or (below / "manifest.json").is_file() or folder_kind(below):
            yield below
        elif depth and below.is_dir() and not below.name.startswith("."):
            yield from run_folders(below, depth - 1)


# ------------ One set of completions under several profiles: headline numbers and the spread between profiles.


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
    return rule_matrix(summary, outcomes_of(run, summary))


def outcomes_of(run: Run, summary: Summary) -> dict[str, VerdictTable]:
    """Profile to its verdicts on the problems of a summary."""
    tasks = {line.id for profile in summary.profiles for line in profile.tasks}
    return {
        profile.profile: verdict_table(run.verdict_facts(profile.profile), tasks, summary.samples_per_task)
        for profile in summary.profiles
    }


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
    compared = disagreeing = 0
    for _, row in side_by_side([outcomes[name] for name in headlines]):
        compared += 1
        disagreeing += disputed(row)
    return Matrix(
        benchmark=summary.benchmark,
        model=summary.model,
        samples_per_task=summary.samples_per_task,
        rows=[_row(profile, outcomes[profile.profile]) for profile in summary.profiles],
        spread=headlines[highest] - headlines[lowest],
        lowest=lowest,
        highest=highest,
        compared=compared,
        disagreeing=disagreeing,
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


class ProfileCount(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts under one profile so far: a count of what came first, no estimate."""

    profile: str
    graded: int
    passed: int


class RunCount(msgspec.Struct, frozen=True, kw_only=True):
    """How far a run has come that is not complete."""

    expected: int
    """Samples that were to be answered."""
    answered: int
    profiles: list[ProfileCount]
    """Those with a verdict."""


def count_so_far(run: Run) -> RunCount:
    """Replies and verdicts of a run, whatever was stopped; its data set is not needed."""
    profiles = []
    run = run.so_far()
    for profile in run.profiles:
        graded, passed = set[int](), set[int]()
        for verdict in run.verdict_facts(profile):  # the last one of a sample counts
            graded.add(sample := sample_hash(verdict))
            (passed.add if verdict.passed else passed.discard)(sample)
        profiles.append(ProfileCount(profile=profile, graded=len(graded), passed=len(passed)))
    expected = run.manifest.wanted * run.manifest.samples_per_task
    return RunCount(expected=expected, answered=len(run.answered()), profiles=profiles)


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
    only_short: bool = False
    """It is not complete only because samples are missing; the others are graded and counted."""
    so_far: RunCount | None = None
    """Of one that was begun and is not complete."""


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
    run: Run | Path,
    profiles: Sequence[str],
    *,
    benchmark: str,
    model: str,
    failure: str | None,
    only_short: bool = False,
) -> PairStanding:
    """What a pair has come to.

    Args:
        run: the run, or its folder where there may be none.
        profiles: ids of those that it was to be graded under.
        benchmark, model: names.
        failure: why it is not complete; None to say so where the grader failed, as its summary tells.
        only_short: whether the reason is that samples are missing, and no other.
    """
    folder = run.path if isinstance(run, Run) else run
    opened = run if isinstance(run, Run) else Run.open(folder) if (folder / "manifest.json").exists() else None
    replies = () if opened is None else opened.completion_facts()
    used = [facts.usage for facts in replies if facts.usage is not None]
    counted: list[RunStanding] = []
    warnings: list[Caution] = []
    cutoff = None
    if opened is not None and (folder / "summary.json").exists():
        summary = read_summary(opened)
        found = [each for each in summary.profiles if each.profile in profiles]
        counted = [_standing(opened, each, None) for each in found]
        warnings, cutoff = summary.warnings, summary.cutoff
        errors = sum(len(each.grader_errors) for each in found)
        only_short = only_short and not errors
        if failure is None and errors:
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
        only_short=only_short,
        so_far=None if opened is None or failure is None else count_so_far(opened),
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


# ------------------------ Sample size planning: any two of problems, difference and power determine the third.


USUAL_DISCORDANT = (5.0, 10.0, 20.0, 40.0)
"""Percent of problems on which two runs differ: from two versions of one model to two unlike models."""


class PowerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a plan: one sample a problem, McNemar's exact test."""

    discordant: float
    """Percent of problems on which exactly one of the runs is right."""
    points: float | None
    """Difference in percentage points; None if no difference is seen with this power."""
    tasks: int | None
    power: float
    """As a fraction."""
    alpha: float


def plan(
    *,
    points: float | None = None,
    tasks: int | None = None,
    power: float | None = None,
    discordant: Sequence[float] = (),
    alpha: float = ALPHA,
) -> list[PowerPlan]:
    """Compute what is not given, for each share of problems on which the runs differ.

    Args:
        points: a difference in percentage points.
        tasks: how many there are.
        power: chance to see the difference, as a fraction; None for 0.8 unless both others are given.
        discordant: shares in percent; empty for `USUAL_DISCORDANT`, as far as the difference can be had there.
        alpha: significance level, two-sided.

    Raises:
        UserError: neither points nor problems, all three, or a number that cannot be.
    """
    if points is None and tasks is None:
        raise UserError("give `points` (to learn how many problems), `tasks` (to learn which difference), or both")
    if points is not None and tasks is not None and power is not None:
        raise UserError("`points`, `tasks` and `power` leave nothing to compute; leave one of them out")
    points = None if points is None else float(points)
    shares = list(discordant) or [share for share in USUAL_DISCORDANT if share >= abs(points or 0.0)]
    return [_line(points, tasks, power, share, alpha) for share in shares or [abs(points or 0.0)]]


def _line(points: float | None, tasks: int | None, power: float | None, share: float, alpha: float) -> PowerPlan:
    aim, discordant = POWER if power is None else power, share / 100
    match points, tasks:
        case None, int(known):
            found = mcnemar_detectable(known, discordant, power=aim, alpha=alpha)
            # No more tasks can be won than the runs differ on.
            points = 100 * found if found is not None and found <= discordant else None
        case float(wanted), None:
            tasks = mcnemar_tasks(discordant, wanted / 100, power=aim, alpha=alpha)
        case float(wanted), int(known):
            aim = mcnemar_power(known, discordant, wanted / 100, alpha=alpha)
    return PowerPlan(discordant=share, points=points, tasks=tasks, power=aim, alpha=alpha)
