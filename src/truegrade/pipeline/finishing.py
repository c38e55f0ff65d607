"""The last stages: samples are graded and counted, written as files of other tools, and told to trackers."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from truegrade.errors import UserError
from truegrade.files.json_text import encode
from truegrade.files.writing import require_writable, writing
from truegrade.pipeline.grade import Grader, grade_run
from truegrade.pipeline.summary import ProfileSummary, Summary, read_summary, refuse_ks, summarise_run
from truegrade.pipeline.totals import RunUsage
from truegrade.pipeline.verdicts import answer_of
from truegrade.profiles import Profile, open_stored
from truegrade.records import Problem, sha256_json
from truegrade.settings import Settings
from truegrade.statistics.windows import EVERYTHING, Window, described
from truegrade.store import Manifest, Run
from truegrade.store.exporters import Exported, Exporter, find_exporter
from truegrade.store.importers.samples import PLUS_SETS
from truegrade.store.journal import OfSample
from truegrade.store.manifest import replacing, without_places
from truegrade.store.trackers import NotTracked, OpenTracker, TrackedRun, log_run


def grade_and_count(
    run: Run,
    problems: Mapping[str, Problem],
    profiles: Sequence[Profile],
    settings: Settings,
    grader: Grader,
    *,
    graded: bool = False,
    window: Window = EVERYTHING,
) -> None:
    """Grade under every profile, then count; earlier gradings stay in the summary.

    Args:
        run: with its replies.
        problems: those to grade, by id, inside the window.
        profiles: the rules, in the order to report.
        settings: say how it is counted, and who watches.
        grader: closed at the end.
        graded: whether the verdicts were given already (`AskedRun.graded`), so that it only counts.
        window: what left the other problems out.

    Raises:
        UserError: a k exceeds the samples per task, or the folder cannot be written to; nothing was graded.
        SandboxError: programs would have to run at level 1, and that is not allowed.
    """
    with closing(grader):
        refuse_ks(settings.ks, run.manifest.samples_per_task)
        require_writable(run.path)
        with run.locked():
            for profile in () if graded else profiles:
                grade_run(run, problems, profile, progress=settings.progress, grader=grader)
            earlier = graders_of(run, problems, besides={profile.id for profile in profiles})
            counted = [*profiles, *earlier]
            summarise(run, problems, counted, settings.ks or None, window=window, cutoff=settings.cutoff)
            write_own_files(run, problems, profiles)


def summarise(
    run: Run,
    problems: Mapping[str, Problem],
    profiles: Sequence[Profile],
    ks: Sequence[int] | None = None,
    *,
    window: Window = EVERYTHING,
    cutoff: str | None = None,
) -> Summary:
    """Count, with intervals, and write ``summary.json``; arguments as of `summarise_run`.

    Raises:
        UserError: a k of pass@k exceeds the samples per problem.
    """
    summary = summarise_run(run, problems, profiles, ks, window=window, cutoff=cutoff)
    run.write("summary.json", encode(summary, indent=2) + b"\n")
    return summary


def summarise_part(run: Run, problems: Mapping[str, Problem], *, window: Window, cutoff: str | None) -> Summary:
    """Count a part of a graded run, with the k of its stored summary; nothing is written.

    Args:
        run: graded.
        problems: those in the window.
        window: what left the others out.
        cutoff: last day of the model's training data; None for that of the stored summary.

    Raises:
        UserError: it was not graded, or nothing of the part was.
    """
    stored = read_summary(run)
    metrics = [estimate.metric for estimate in stored.profiles[0].estimates]
    ks = [int(name.removeprefix("pass@")) for name in metrics if name.startswith("pass@")]
    profiles = graders_of(run, problems)
    if not profiles:
        raise UserError(f"{run.given}: nothing in {described(window)} was graded; truegrade grade {run.given}")
    return summarise_run(run, problems, profiles, ks, window=window, cutoff=cutoff or stored.cutoff)


def summarise_so_far(run: Run, problems: Mapping[str, Problem]) -> Summary:
    """Count what a run holds that was stopped before its summary was written; nothing is written.

    Args:
        run: `Run.so_far`.
        problems: those that it was to answer, by id.

    Raises:
        UserError: nothing was graded yet.
    """
    profiles = graders_of(run, problems)
    if not profiles:
        held = f"{len(run.answered())} of {len(problems) * run.manifest.samples_per_task} samples have a reply"
        raise UserError(f"{run.given}: {held}, and none has a verdict yet; truegrade grade {run.given}")
    return summarise_run(run, problems, profiles)


def is_outgrown(run: Run) -> bool:
    """Whether a run was stopped before its summary was written, or asked for more since and was stopped then."""
    if not (run.path / "summary.json").exists():
        return True
    summary = read_summary(run)
    whole = run.manifest.generation is not None and not summary.window
    return whole and len(run.answered()) > summary.answered


def graders_of(run: Run, problems: Container[str], *, besides: Container[str] = ()) -> list[Profile]:
    """Profiles with verdicts on some of these problems: an earlier grading may have been for another window.

    Args:
        run: graded.
        problems: by id.
        besides: ids of profiles that the caller has already, whose verdicts need not be read.
    """
    return [
        open_stored(name, run.manifest.origin(name), run.path)
        for name in run.profiles
        if name not in besides and run.graded(name, problems=problems)
    ]


# -------- A run as a file that another tool reads: stored completions and verdicts in its shape. Runs nothing.


BASE_PROFILE = "evalplus-base"
"""Whose verdicts are those on the base tests of a plus set."""


def export_run(
    run: Run,
    problems: Mapping[str, Problem],
    profile: Profile,
    file_format: str | Exporter,
    out: Path | None = None,
) -> Path:
    """Write a run in another tool's format.

    Args:
        run: with completions and, where the format asks for verdicts, graded under ``profile``.
        problems: those of the run, by id, in the data set's order.
        profile: its rule takes the answers out of the replies.
        file_format: an exporter, or its name: see `truegrade.store.exporters.find_exporter`.
        out: the file, or a folder for one of the format's own name; None for the run's.

    Returns:
        The file written, all of it or nothing.

    Raises:
        UnknownName: no such format.
        UserError: the format's readers do not know the benchmark, the run lacks replies or verdicts, or the file
            cannot be written.
    """
    exporter = find_exporter(file_format)
    benchmark = run.manifest.benchmark.name
    if exporter.covers and benchmark not in exporter.covers:
        covered = ", ".join(exporter.covers)
        raise UserError(f"format {exporter.name!r} does not cover {benchmark!r}; it covers {covered}")
    if exporter.verdicts:
        _demand_verdicts(run, profile, exporter)
    path = run.outputs / exporter.file if out is None else out / exporter.file if out.is_dir() else out
    with writing(path):
        run.outputs.mkdir(exist_ok=True)
    with replacing(path) as file:
        exporter.write(_samples(run, problems, profile, exporter), problems, file)
    return path


def write_own_files(run: Run, problems: Mapping[str, Problem], profiles: Sequence[Profile]) -> list[Path]:
    """The output files that the harnesses of these profiles would have left behind, beside ours; none where the
    harness has no shape for the benchmark."""
    benchmark = run.manifest.benchmark.name
    named = [(profile, profile.own_file) for profile in profiles if profile.timeout_s is None]
    own = [(profile, find_exporter(file_format)) for profile, file_format in named if file_format is not None]
    return [
        export_run(run, problems, profile, exporter)
        for profile, exporter in own
        if not exporter.covers or benchmark in exporter.covers
    ]


def _samples(
    run: Run, problems: Mapping[str, Problem], profile: Profile, exporter: Exporter
) -> Iterator[Exported]:
    """Every answered sample of the problems, once, in the order the replies arrived.

    Raises:
        UserError: the run holds no reply at all.
    """
    graded = profile.name if profile.timeout_s is None else profile.id
    prompts = run.prompts() if exporter.verdicts else {}
    plus = exporter.verdicts and run.manifest.benchmark.name in PLUS_SETS
    config = run.manifest.generation.sha256 if run.manifest.generation else None
    empty, about = True, without_places(run.manifest)

    def counts(record: OfSample) -> bool:
        return record.problem_id in problems and record.sample < run.manifest.samples_per_task

    with ExitStack() as opened:
        verdicts = opened.enter_context(run.last_verdicts(graded, counts)) if exporter.verdicts else None
        base = opened.enter_context(run.last_verdicts(BASE_PROFILE, counts)) if plus else None
        for completion in run.completions():
            empty = empty and completion.text is None
            if completion.text is None or not counts(completion):
                continue
            problem = problems[completion.problem_id]
            answer = answer_of(completion, problem, profile)
            verdict = verdicts.of(completion) if verdicts else None
            on_base = base.of(completion) if base else None
            yield Exported(
                problem=problem,
                completion=completion,
                answer=answer,
                kept=profile.kept(completion, answer),
                reused=config not in (None, completion.config_sha256),
                reason=None if verdict is None else verdict.reason,
                base_reason=None if on_base is None else on_base.reason,
                harness=None if verdict is None else verdict.harness,
                verdict=verdict,
                prompt=prompts.get(completion.problem_id),
                run=about,
            )
    if empty:
        raise UserError(f"{run.given}: holds no reply to export; generate some first")


def _demand_verdicts(run: Run, profile: Profile, exporter: Exporter) -> None:
    base = (BASE_PROFILE,) if run.manifest.benchmark.name in PLUS_SETS else ()
    graded = {name.partition("@")[0] for name in run.profiles}
    missing = [name for name in (profile.name, *base) if name not in graded]
    if missing:
        commands = "; ".join(f"truegrade grade {run.given} --as {name}" for name in missing)
        raise UserError(f"format {exporter.name!r} needs verdicts that {run.given} lacks: {commands}")


# ------------------------------------------------------------ What a tracker is told of a run, and telling it.


M = TypeVar("M")

_LONGEST = 500
"""Characters of a value: MLflow's limit for parameters where it is lowest."""


def track(run: Run, trackers: Sequence[OpenTracker], made: M) -> M:
    """Log a graded run, and return ``made``, which is there whether that succeeds or not.

    Raises:
        NotTracked: a tracker failed; holds ``made``.
    """
    if trackers:
        try:
            log_run(run, tracked(run), trackers)
        except NotTracked as error:
            error.made = made
            raise
    return made


def tracked(run: Run) -> TrackedRun:
    """The results of a graded run as a tracker takes them.

    Raises:
        UserError: it was not graded yet.
    """
    summary, manifest = read_summary(run), run.manifest
    files = (run.path / "summary.json", run.outputs / "report.html")
    return TrackedRun(
        id=sha256_json([*manifest.identity, manifest.created])[:16],
        name=run.path.resolve().name,
        parameters={name: value[:_LONGEST] for name, value in _parameters(manifest, summary)},
        metrics=dict(_metrics(summary)),
        tags={name: value[:_LONGEST] for name, value in _tags(manifest, summary)},
        artifacts=tuple(path for path in files if path.is_file()),
    )


def _parameters(manifest: Manifest, summary: Summary) -> Iterator[tuple[str, str]]:
    yield "benchmark", manifest.benchmark.name
    yield "model", summary.model
    for name, value in manifest.benchmark.args.items():
        yield f"benchmark.{name}", value
    config = manifest.generation
    if config is None:
        yield "imported_from", manifest.imported_from or ""
        return
    yield "prompt_rule", config.prompt_rule
    settings: dict[str, Any] = msgspec.to_builtins(config.sampling)
    settings |= {f"model.{name}": value for name, value in config.model_args.items()}
    if config.agent is not None:
        settings["agent"] = f"{config.agent.name}@{config.agent.version}"
        settings |= {f"agent.{name}": value for name, value in config.agent.args.items()}
    yield from ((name, str(value)) for name, value in settings.items() if value not in (None, [], ()))


def _tags(manifest: Manifest, summary: Summary) -> Iterator[tuple[str, str]]:
    yield "truegrade.version", manifest.environment.get("truegrade", "")
    yield "truegrade.dataset_sha256", manifest.benchmark.dataset_sha256
    yield "truegrade.profiles", ", ".join(profile.profile for profile in summary.profiles)
    yield "truegrade.created", manifest.created
    if summary.window:
        yield "truegrade.window", " ".join(f"{name}={value}" for name, value in summary.window.items())
    if told := list(dict.fromkeys(words for profile in summary.profiles for words in profile.warnings)):
        yield "truegrade.warnings", "; ".join(told)


def _metrics(summary: Summary) -> Iterator[tuple[str, float]]:
    for name in ("tasks", "samples_per_task", "expected", "answered", "missing", "disagreeing"):
        yield name, float(getattr(summary, name))
    yield from _spent(summary.usage)
    for profile in summary.profiles:
        yield from _of_profile(profile)


def _spent(usage: RunUsage) -> Iterator[tuple[str, float]]:
    yield "attempts", float(usage.attempts)
    yield "failed_attempts", float(usage.failed_attempts)
    if usage.cost_usd is not None:
        yield "cost_usd", usage.cost_usd
    if usage.input_tokens is not None:
        yield "input_tokens", usage.input_tokens.total
    if usage.output_tokens is not None:
        yield "output_tokens", usage.output_tokens.total
    if usage.latency_s is not None:
        yield "latency_s_median", usage.latency_s.median


def _of_profile(profile: ProfileSummary) -> Iterator[tuple[str, float]]:
    name = short_profile(profile.profile)
    for estimate in profile.estimates:
        metric = f"{name}/{estimate.metric.replace('@', '_at_')}"
        yield metric, estimate.value
        if estimate.low is not None and estimate.high is not None:
            yield f"{metric}_low", estimate.low
            yield f"{metric}_high", estimate.high
    yield f"{name}/warnings", float(len(profile.warnings))


def short_profile(profile: str) -> str:
    """A profile's id without its version, which a chart over months should not break at: ``human-eval_30s``."""
    name, _, version = profile.partition("@")
    _, plus, limit = version.partition("+")
    return f"{name}_{limit}" if plus else name
