"""Paired comparison of two or more graded runs: differences, intervals, tests and power.

Which properties two runs must share to be comparable, and which differences are only reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec

from truegrade.analysis.standings import tallies_of
from truegrade.errors import NotComparable, UnknownName, UserError
from truegrade.pipeline.cautions import Caution
from truegrade.pipeline.loading import made_for, window_of
from truegrade.pipeline.summary import ProfileSummary, TaskLine, profile_summary, read_summary
from truegrade.records import SCHEMA_VERSION, Estimate
from truegrade.statistics import PairedComparison, compare_paired, estimate
from truegrade.statistics.budgets import BudgetCurve, BudgetStretch, surely_apart
from truegrade.statistics.claims import METHOD, holm
from truegrade.statistics.paired import BootstrapInterval, bootstrap_interval, gains_by_cluster
from truegrade.statistics.power import PairPower, pair_power
from truegrade.statistics.reasoning import compare_reasoning
from truegrade.statistics.reasoning_records import ShareDifference
from truegrade.statistics.windows import EVERYTHING, FILTERS, check_cutoff, described, inside, narrowed, split
from truegrade.store import Run
from truegrade.store.importers.base import UNKNOWN_MODEL


class GradedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run under one profile: one side of a comparison."""

    run: Run
    summary: ProfileSummary
    window: Mapping[str, str]
    """What left problems out, when the run was made, counted or compared."""
    prompts: Mapping[str, str]
    """SHA-256 of what each problem was asked with; empty for imported replies."""


def graded(run: Run, profile: str | None, window: Mapping[str, str] = EVERYTHING) -> GradedRun:
    """A run under a profile, by name or id; None if it has only one.

    Args:
        run: graded.
        profile: by name or id.
        window: leaves further problems out, by the tags that the summary holds.

    Raises:
        UserError: it was not graded under that profile, or nothing is in the window.
    """
    prompts = {problem: prompt.sha256 for problem, prompt in run.prompts().items()}
    summary = profile_summary(run, profile)
    if window:
        tasks = [task for task in summary.tasks if inside(task.tags, window)]
        if not tasks:
            raise UserError(f"{run.given}: {described(window)}: none of its {len(summary.tasks)} problems fits")
        summary = msgspec.structs.replace(summary, tasks=tasks, reasoning=None)
    own = narrowed(made_for(run.manifest), read_summary(run).window)
    return GradedRun(run=run, summary=summary, window=narrowed(own, window), prompts=prompts)


def obstacles(first: GradedRun, second: GradedRun) -> list[str]:
    """Why the two must not be compared, sentence by sentence; empty if they may be.

    Two profiles of one and the same run are always comparable: the same replies under other rules.
    """
    found = [
        f"{what}: {first.run.given} has {old}, {second.run.given} has {new}"
        for what, old, new in differences(first, second)
    ]
    stopped = [] if _same(first, second) else [side.run for side in (first, second) if _stopped_by_results(side)]
    return found + [
        f"{run.given} stopped early, so no test for a fixed number of problems holds; the same command asks"
        " for the rest" for run in stopped
    ]  # fmt: skip


def differences(first: GradedRun, second: GradedRun) -> list[tuple[str, str, str]]:
    """What makes the two incomparable: its name, the first's, the second's; empty if nothing does."""
    if _same(first, second):
        return []
    return [fact for fact in _facts(first, second) if fact[1] != fact[2]]


def remarks(first: GradedRun, second: GradedRun) -> list[str]:
    """What differs besides, and leaves the comparison fair or cannot be known."""
    if _same(first, second):
        return []
    said = [
        f"{name}: {old.get(name)} against {new.get(name)}"
        for old, new in [(_settings(first.run), _settings(second.run))]
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]
    if None in (_rule(first.run), _rule(second.run)):
        said.append("how the prompts of imported replies were worded is not known")
    return said


def _stopped_by_results(side: GradedRun) -> bool:
    return any(one.code == "stopped-when-decided" for one in read_summary(side.run).warnings)


def _same(first: GradedRun, second: GradedRun) -> bool:
    """Whether both are one run."""
    return first.run.path.resolve() == second.run.path.resolve()


def _facts(first: GradedRun, second: GradedRun) -> Iterator[tuple[str, str, str]]:
    """What must be equal: name, the first's, the second's."""
    yield "data set", _data(first.run), _data(second.run)
    yield "profile", _profile(first), _profile(second)
    if _data(first.run) == _data(second.run):
        yield "window", described(first.window) or "none", described(second.window) or "none"
        yield "problems", *_subsets(first, second)
    yield "prompt rule", *_prompts(first, second)


def _data(run: Run) -> str:
    of = run.manifest.benchmark
    args = "".join(f" {key}={value}" for key, value in sorted(of.args.items()) if key not in FILTERS)
    return f"{of.name}{args} {of.dataset_sha256[:12]}…{_file(run, 'benchmark')}"


def _profile(side: GradedRun) -> str:
    return f"{side.summary.profile}{_file(side.run, side.summary.profile)}"


def _file(run: Run, of: str) -> str:
    """Which version of a file something is of: two of them may say different things under one name."""
    origin = run.manifest.origin(of)
    return f" of a file {origin.sha256[:12]}…" if origin is not None and origin.sha256 else ""


def _subsets(first: GradedRun, second: GradedRun) -> tuple[str, str]:
    """Which problems each was to answer; two empty texts where they are the same, at least in the window."""
    one, two = (
        None if side.run.manifest.selected is None else set(side.run.manifest.selected) for side in (first, second)
    )
    counted = {task.id for side in (first, second) for task in side.summary.tasks}
    if one == two or (first.window and counted & (one or counted) == counted & (two or counted)):
        return "", ""
    return _subset(first.run, one, two), _subset(second.run, two, one)


def _subset(run: Run, own: set[str] | None, other: set[str] | None) -> str:
    whole = run.manifest.benchmark.problems
    if own is None:
        return f"all {whole}"
    alone = sorted(own - other) if other is not None else []
    named = f", {len(alone)} of them alone ({alone[0]})" if alone else ""
    return f"{len(own)} of {whole}{named}"


def _prompts(first: GradedRun, second: GradedRun) -> tuple[str, str]:
    """How each was asked; two empty texts where that is the same or not known.

    The stored prompts decide: two rules may word a problem alike, and one rule may be given other examples.
    """
    rules = _rule(first.run), _rule(second.run)
    if rules[0] is None or rules[1] is None:
        return "", ""
    one, two = first.prompts, second.prompts
    common = [problem for problem in one if problem in two]
    differing = next((problem for problem in common if one[problem] != two[problem]), None)
    if differing is not None:
        hashes = (f"{of[differing][:12]}…" for of in (one, two))
        worded = [f"{rule} ({digest} for {differing})" for rule, digest in zip(rules, hashes, strict=True)]
        return worded[0], worded[1]
    return ("", "") if common else (rules[0], rules[1])


def _rule(run: Run) -> str | None:
    return None if run.manifest.generation is None else run.manifest.generation.prompt_rule


def _settings(run: Run) -> Mapping[str, Any]:
    """What a run was asked with, besides the prompt; the model is what a comparison is usually about."""
    config = run.manifest.generation
    asked: dict[str, Any] = {"samples per problem": run.manifest.samples_per_task}
    if config is None:
        return asked
    asked |= {name.replace("_", " "): value for name, value in msgspec.to_builtins(config.sampling).items()}
    asked |= {f"model argument {name}": value for name, value in config.model_args.items()}
    if config.agent is not None:
        asked["agent"] = f"{config.agent.name}@{config.agent.version}"
    return asked


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One run under one profile."""

    label: str
    """The model's name, else the folder's, or the profile's; different from every other side's."""
    run: Path
    model: str
    benchmark: str
    dataset_sha256: str
    profile: str
    prompt_rule: str | None
    """None where the replies were imported."""
    samples_per_task: int
    window: Mapping[str, str] = {}
    """What left problems out, when the run was made, counted or compared."""
    warnings: list[Caution] = []
    """Of the run, as far as they hold for the profile."""
    created: str
    budget: BudgetCurve | None = None
    """Pass rate against output tokens; None where it is not known, or a window leaves problems out."""
    rate: Estimate
    """pass@1 over all its graded tasks: more than a pair has in common, where others lack some."""
    tasks: list[TaskLine]


class PairSplit(msgspec.Struct, frozen=True, kw_only=True):
    """``second - first`` on one group of problems."""

    by: str
    """As `truegrade.statistics.windows.Split`."""
    value: str
    paired: PairedComparison


class RunPairing(msgspec.Struct, frozen=True, kw_only=True):
    """``second - first``."""

    first: str
    """Label of a side."""
    second: str
    paired: PairedComparison
    bootstrap: BootstrapInterval
    """Of the same difference, by resampling clusters."""
    p_value: float
    """Two-sided: McNemar's exact test where each problem has one sample and its own cluster, else sign flips."""
    p_adjusted: float
    """The same, corrected for all pairs of this comparison; equal to it for a single pair."""
    power: PairPower | None
    """None where the problems form a single cluster."""
    splits: tuple[PairSplit, ...] = ()
    """By difficulty, platform, kind, month and cut-off; not corrected for their number."""
    budgets_apart: tuple[BudgetStretch, ...] = ()
    """Token budgets at which the two differ, whatever the replies that were cut would have become."""
    obstacles: tuple[str, ...]
    """Why the two are not comparable; empty unless the comparison was forced."""
    remarks: tuple[str, ...]
    """What else differs."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `truegrade compare` says."""

    schema: int = SCHEMA_VERSION
    sides: list[Side]
    baseline: str | None
    """Label of the side that all others are compared with; None where every two are compared."""
    correction: str | None
    """Method of `Pairing.p_adjusted`; None for a single pair."""
    pairs: list[RunPairing]

    @property
    def same_replies(self) -> bool:
        """Whether profiles are compared over the replies of one run: which accepts more, not which is better."""
        return len({side.run.resolve() for side in self.sides}) == 1


def compare_runs(
    runs: Sequence[Run | str | Path],
    *,
    profiles: Sequence[str] = (),
    baseline: str | Path | None = None,
    every_pair: bool = False,
    force: bool = False,
    window: Mapping[str, str] = EVERYTHING,
    cutoff: str | None = None,
    points: float | None = None,
    confidence: float = 0.95,
) -> Comparison:
    """Compare runs, or several profiles of one run, in the order given.

    Args:
        runs: graded ones, or their folders.
        profiles: under which rules: one at most for several runs, two at least for a single one.
        baseline: the folder, its name, the model or the profile that the others are compared with; None for the
            first.
        every_pair: compare every two instead.
        force: compare even what is not comparable, and say so.
        window: arguments of the benchmark that leave problems out (`truegrade.statistics.windows.FILTERS`).
        cutoff: last day of the models' training data, ``YYYY-MM-DD``: contest problems are split by it.
        points: a difference in percentage points; how many problems show it is computed.
        confidence: of the intervals.

    Raises:
        NotComparable: data set, profile, selected problems or prompt rule differ, or no problem is in both.
        UserError: too few runs or profiles, one is not graded under the profile asked for, or has nothing in the
            window.
    """
    check_cutoff(cutoff)
    opened = [item if isinstance(item, Run) else Run.open(Path(item)) for item in runs]
    windows = [window_of(run.manifest, window) for run in opened]
    chosen = _sides(opened, profiles, windows[0] if windows else window)
    labels = _labels(chosen, single=len(opened) == 1)
    first = _place(baseline, chosen, labels)
    if every_pair:
        places = list(combinations(range(len(chosen)), 2))
    else:
        places = [(first, place) for place in range(len(chosen)) if place != first]
    refused = {pair: obstacles(chosen[pair[0]], chosen[pair[1]]) for pair in places}
    if not force:
        _refuse([sentence for sentences in refused.values() for sentence in sentences])
    wanted = None if points is None else points / 100
    pairs = [
        _pair(
            chosen,
            labels,
            pair,
            refused[pair],
            confidence=confidence,
            wanted=wanted,
            cutoff=cutoff,
        )
        for pair in places
    ]
    adjusted = holm([pair.p_value for pair in pairs])
    return Comparison(
        sides=[_side(label, side, confidence) for label, side in zip(labels, chosen, strict=True)],
        baseline=None if every_pair and len(chosen) > 2 else labels[first],
        correction=METHOD if len(pairs) > 1 else None,
        pairs=[msgspec.structs.replace(pair, p_adjusted=p) for pair, p in zip(pairs, adjusted, strict=True)],
    )


# ------------------------------------------------------------------------------------------------ sides


def _sides(runs: Sequence[Run], profiles: Sequence[str], window: Mapping[str, str]) -> list[GradedRun]:
    """The runs under one profile, or one run under several."""
    if len(runs) == 1:
        ids = dict.fromkeys(runs[0].profile_id(name) for name in profiles)
        if len(ids) >= 2:
            return [graded(runs[0], name, window) for name in ids]
    if len(runs) < 2:
        known = ", ".join(runs[0].profiles) if runs else ""
        raise UserError(
            "two runs at least are needed: truegrade compare RUN RUN; or two `profiles` of one run"
            + (f" (graded: {known})" if known else "")
        )
    if len(set(profiles)) > 1:
        raise UserError(
            f"`profiles` {', '.join(profiles)}: several runs need one profile; name one, or give one run"
        )
    name = profiles[0] if profiles else _common_profile(runs)
    return [graded(run, name, window) for run in runs]


def _common_profile(runs: Sequence[Run]) -> str | None:
    """The one profile that all runs were graded under; None where each was graded under one alone.

    Raises:
        UserError: several are common, and none is named.
    """
    if all(len(run.profiles) <= 1 for run in runs):
        return None
    common = [name for name in runs[0].profiles if all(name in run.profiles for run in runs)]
    if len(common) > 1:
        raise UserError(f"all runs were graded under {', '.join(common)}; name one with `profiles`")
    return common[0] if common else None


def _labels(sides: Sequence[GradedRun], *, single: bool) -> list[str]:
    """The model's name; the folder's where two runs have the same model or a file names none, or its whole path
    where two are the same; inside one run the profile's."""
    if single:
        return [side.summary.profile for side in sides]
    models, names = [read_summary(side.run).model for side in sides], [_folder(side) for side in sides]
    labels = [
        model if models.count(model) == 1 and model != UNKNOWN_MODEL else
        name if names.count(name) == 1 else str(side.run.given)
        for model, name, side in zip(models, names, sides, strict=True)
    ]  # fmt: skip
    return [
        label if labels.count(label) == 1 else f"{label} ({labels[: place + 1].count(label)})"
        for place, label in enumerate(labels)
    ]


def _folder(side: GradedRun) -> str:
    return side.run.path.resolve().name


def _place(baseline: str | Path | None, sides: Sequence[GradedRun], labels: Sequence[str]) -> int:
    """Which side the others are compared with."""
    if baseline is None:
        return 0
    within_one = len({side.run.path.resolve() for side in sides}) == 1
    for place, (side, label) in enumerate(zip(sides, labels, strict=True)):
        if str(baseline) == label or (within_one and str(baseline) == label.partition("@")[0]):
            return place
        folder = (side.run.pack or side.run.path).resolve()
        same = Path(baseline).resolve() == folder or str(baseline) == _folder(side)
        if not within_one and same:
            return place
    raise UnknownName("run to compare with", str(baseline), labels, "it must be one of those compared")


def _side(label: str, side: GradedRun, confidence: float) -> Side:
    manifest, summary = side.run.manifest, read_summary(side.run)
    profile = side.summary.profile
    return Side(
        label=label,
        run=side.run.given,
        model=summary.model,
        benchmark=manifest.benchmark.label,
        dataset_sha256=manifest.benchmark.dataset_sha256,
        profile=profile,
        prompt_rule=None if manifest.generation is None else manifest.generation.prompt_rule,
        samples_per_task=manifest.samples_per_task,
        window=side.window,
        warnings=[one for one in summary.warnings if not one.profiles or profile in one.profiles],
        created=manifest.created,
        budget=_budget(side),
        rate=estimate("pass@1", tallies_of(side.summary), confidence),
        tasks=side.summary.tasks,
    )


# ------------------------------------------------------------------------------------------------ pairs


def _refuse(sentences: Sequence[str]) -> None:
    """Raise NotComparable with every reason, each once."""
    if sentences:
        why = "; ".join(dict.fromkeys(sentences))
        raise NotComparable(f"{why}; `force=True` compares them all the same, and the result says so")


def _pair(
    sides: Sequence[GradedRun],
    labels: Sequence[str],
    places: tuple[int, int],
    refused: Sequence[str],
    *,
    confidence: float,
    wanted: float | None,
    cutoff: str | None,
) -> RunPairing:
    first, second = (sides[place] for place in places)
    names = labels[places[0]], labels[places[1]]
    a, b = tallies_of(first.summary), tallies_of(second.summary)
    paired = compare_paired(a, b, confidence)
    p_value = paired.permutation_p if paired.mcnemar_p is None else paired.mcnemar_p
    return RunPairing(
        first=names[0],
        second=names[1],
        paired=msgspec.structs.replace(paired, parts=_parts(first.summary, second.summary)),
        bootstrap=bootstrap_interval(gains_by_cluster(a, b), confidence),
        p_value=p_value,
        p_adjusted=p_value,
        power=pair_power(a, b, paired, wanted),
        splits=_splits(first.summary, second.summary, paired, cutoff),
        budgets_apart=_budgets_apart(first, second),
        obstacles=tuple(refused),
        remarks=(*remarks(first, second), *_left_out(paired, *names)),
    )


def _budget(side: GradedRun) -> BudgetCurve | None:
    """Pass rate against tokens, of a run all of whose problems are compared."""
    stored = read_summary(side.run).window
    return side.summary.budget if side.window == narrowed(made_for(side.run.manifest), stored) else None


def _budgets_apart(first: GradedRun, second: GradedRun) -> tuple[BudgetStretch, ...]:
    one, two = _budget(first), _budget(second)
    return () if one is None or two is None else tuple(surely_apart(one, two))


def _splits(
    first: ProfileSummary, second: ProfileSummary, paired: PairedComparison, cutoff: str | None
) -> tuple[PairSplit, ...]:
    """The difference on every group of the problems that both have."""
    both = {*paired.wins, *paired.losses, *paired.ties}
    groups = split(((task.id, task.tags) for task in first.tasks if task.id in both), cutoff)
    a, b = ({tally.task_id: tally for tally in tallies_of(summary)} for summary in (first, second))
    return tuple(
        PairSplit(
            by=kind,
            value=value,
            paired=compare_paired([a[t] for t in tasks], [b[t] for t in tasks], paired.confidence),
        )
        for (kind, value), tasks in groups.items()
    )


def _parts(first: ProfileSummary, second: ProfileSummary) -> tuple[ShareDifference, ...]:
    """The metrics of execution reasoning that both have."""
    if first.reasoning is None or second.reasoning is None:
        return ()
    return compare_reasoning(first.reasoning, second.reasoning)


def _left_out(paired: PairedComparison, first: str, second: str) -> list[str]:
    """Problems that only one side has a graded reply to."""
    return [
        f"{'1 problem has' if len(only) == 1 else f'{len(only)} problems have'} a graded reply in {label} only and"
        f" {'is' if len(only) == 1 else 'are'} left out: {only[0]}{' and others' if len(only) > 1 else ''}"
        for label, only in ((first, paired.only_a), (second, paired.only_b))
        if only
    ]
