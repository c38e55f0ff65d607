"""Which properties two runs must share to be comparable, and which differences are only reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from truegrade.errors import UserError
from truegrade.pipeline.loading import made_for
from truegrade.pipeline.summary import ProfileSummary, profile_summary, read_summary
from truegrade.statistics.windows import EVERYTHING, FILTERS, described, inside, narrowed
from truegrade.store import Run


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
        yield "tasks", *_subsets(first, second)
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
