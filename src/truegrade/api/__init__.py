"""The commands as Python functions: names are resolved here, and the stages called in order.

Every function has a command of the same name. ``docs/python.md`` shows each with an example.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.datasets.learned import past_of
from truegrade.errors import UserError
from truegrade.files.json_text import encode
from truegrade.pipeline.finishing import (
    export_run,
    grade_and_count,
    is_outgrown,
    summarise_part,
    summarise_so_far,
    track,
)
from truegrade.pipeline.grade import Grader, open_grader
from truegrade.pipeline.importing import RUNS, benchmark_of, import_file, note_past, slug
from truegrade.pipeline.importing import opened as opened_source
from truegrade.pipeline.loading import (
    apart,
    completion_file,
    left_out,
    load_announced,
    load_for,
    narrow,
    problems_of,
    reference_programs,
    references_at_hand,
    removals,
    select,
    tell_rows,
    window_of,
)
from truegrade.pipeline.own_rows_check import rows_at_fault
from truegrade.pipeline.summary import Summary
from truegrade.pipeline.verdicts import Progress, refuse_ungradable, with_packages
from truegrade.profiles import AnyProfile, Profile, find_profile
from truegrade.records import Problem
from truegrade.report.progress_lines import download_progress
from truegrade.settings import GRADING_ONLY, GradeSettings, RunSettings, Settings, Silent, keywords_of
from truegrade.statistics.windows import EVERYTHING, check_cutoff, described
from truegrade.store import Run
from truegrade.store.exporters import Exporter, find_exporter
from truegrade.store.importers import find_format, importer_origin
from truegrade.store.journal import Notice, ignore
from truegrade.store.manifest import AUDIT
from truegrade.store.packing import is_pack, is_run, unpack_for_grading
from truegrade.store.trackers import open_trackers

if TYPE_CHECKING:  # what one function alone needs is imported there, since it would take longer than a grading
    from truegrade.analysis.audit import Audit, Evidence
    from truegrade.analysis.replication import Check
    from truegrade.statistics import PairedComparison

__all__ = [
    "check",
    "compare",
    "export",
    "generate",
    "grade",
    "load",
    "report",
    "report_files",
    "run",
    "unsafe_allowed",
]


@keywords_of(RunSettings)
def run(benchmark: str | BenchmarkSpec, given: dict[str, Any]) -> Run:
    """Evaluate a model on a benchmark: `generate`, `grade`, `report` in order.

    The same call resumes where an earlier one stopped. Its keywords are the fields of
    `truegrade.settings.RunSettings`.

    Args:
        benchmark: a name of ``truegrade list benchmarks``, the path of a benchmark file (``.py``, ``.jsonl``), or
            a BenchmarkSpec; see ``docs/extend.md``, also for profiles, models and agents of your own.

    Raises:
        UserError: a name, file or number is at fault; the message says which and what to do. Nothing was asked.
        ModelError: the model service refuses everything.
        NotTracked: the run is complete, and a tracker did not take its results.
    """
    return evaluate(benchmark, RunSettings(**given))


def evaluate(benchmark: str | BenchmarkSpec, settings: RunSettings) -> Run:
    """`run` with its settings as one object."""
    from truegrade.pipeline.stages import ask

    opened, trackers = [find_profile(each) for each in settings.profiles], open_trackers(settings.log_to)
    check_cutoff(settings.cutoff)
    with_packages({}, settings.packages)  # refused before anything is asked
    settings = replace(settings, allow_unsafe=unsafe_allowed(settings.allow_unsafe))
    grader = grader_for(settings)
    asked = ask(benchmark, settings, opened, grader=grader, shown=download_progress)
    grade_and_count(asked.run, asked.problems, opened, settings, grader, graded=asked.graded)
    _write_page(asked.run, asked.problems)
    return track(asked.run, trackers, asked.run)


@keywords_of(RunSettings, but=GRADING_ONLY)
def generate(benchmark: str | BenchmarkSpec, given: dict[str, Any]) -> Run:
    """Ask a model for completions, and stop there.

    Args:
        benchmark: as for `run`.

    Raises:
        UserError, ModelError: as `run`; or there are several profiles.
    """
    settings = RunSettings(**given)
    if len(settings.profiles) != 1:
        raise UserError("`profiles`: one words the prompts; name the others when you grade")
    from truegrade.pipeline.stages import ask

    settings = replace(settings, allow_unsafe=unsafe_allowed(settings.allow_unsafe))
    return ask(benchmark, settings, [find_profile(settings.profiles[0])], shown=download_progress).run


@keywords_of(GradeSettings)
def grade(completions: str | Path, given: dict[str, Any]) -> Run:
    """Grade a run, or a file of completions that any harness wrote.

    Of the task arguments, those that only leave problems out (``start``, ``end``, ``month``, ``platform``,
    ``difficulty`` of contests) grade and count a part of the run or file. The verdicts under a limit of time that
    the call gives stand in a column of their own, ``human-eval@6d43fb9+30s``.

    Args:
        completions: a run's folder, a zip or pack of it, which stays as it is, a file in one of the formats of
            ``docs/formats.md``, or a folder or zip that holds one.

    Raises:
        UserError, NotTracked: as `run`.
    """
    settings = GradeSettings(**given)
    trackers = open_trackers(settings.log_to)
    path = Path(completions)
    if path.name == "completions.jsonl" and (path.parent / "manifest.json").exists():
        path = path.parent
    opened = [find_profile(each, settings.timeout_s) for each in settings.profiles]
    grader = grader_for(settings)
    check_cutoff(settings.cutoff)
    made_with = None if settings.adapter is None else _adapter(settings.adapter)
    if is_pack(path):
        path = unpack_for_grading(path, as_path(settings.out), RUNS)
    opened_run = _stored if (path / "manifest.json").exists() else _imported
    run_, loaded, window = opened_run(path, settings, opened, made_with)
    offered = with_packages(problems_of(run_, loaded), settings.packages)
    if faults := rows_at_fault(offered.values(), grader):
        tell_rows(faults.values(), settings.notice)
        run_.update(excluded=run_.manifest.excluded | faults)
    problems = problems_of(run_, loaded)
    chosen = narrow(with_packages(problems, settings.packages), window)
    if window:
        settings.notice(left_out(run_, problems, chosen, window))
    grade_and_count(run_, chosen, opened, settings, grader, window=window)
    _write_page(run_, problems)
    return track(run_, trackers, run_)


def _stored(
    path: Path, settings: GradeSettings, profiles: Sequence[Profile], adapter: Path | None
) -> tuple[Run, Benchmark, dict[str, str]]:
    """A run that is there, its data set, and the part of it that the task arguments ask for."""
    if settings.limit is not None:
        raise UserError(f"`limit` chooses among the problems of a file; the run {path} knows its own")
    if settings.model_name is not None:
        raise UserError(f"`model_name` is the name of a file's model; the run {path} knows its own")
    run_ = Run.open(path, notice=settings.notice)
    window = window_of(run_.manifest, settings.task_args)
    loaded = load_for(run_, settings.benchmark, as_path(settings.data), settings.notice, download_progress)
    refuse_ungradable(profiles, loaded.problems)
    if adapter is not None:
        past = partial(past_of, None, adapter, exclude_seen=settings.exclude_seen)
        note_past(run_, problems_of(run_, loaded), adapter, past)
    return run_, loaded, window


def _imported(
    path: Path, settings: GradeSettings, profiles: Sequence[Profile], adapter: Path | None
) -> tuple[Run, Benchmark, dict[str, str]]:
    """The run that a file becomes, its data set, and the part of it that the task arguments ask for."""
    notice, file_format = settings.notice, settings.file_format
    with completion_file(path, notice) as file, opened_source(file) as source:
        importer = find_format(source, file_format)
        name = settings.benchmark or benchmark_of(source, importer)
        window, args = apart(name, settings.task_args)
        if window and importer.positional:  # its rows are those of the window
            window, args = {}, {**window, **args}
        loaded = load_announced(name, as_path(settings.data), args, notice, download_progress)
        refuse_ungradable(profiles, loaded.problems)
        chosen_rows = select(loaded, settings.limit, rows=True) if settings.limit is not None else None
        past = partial(past_of, None, adapter, exclude_seen=settings.exclude_seen)
        run_ = import_file(
            source, importer, loaded, chosen_rows, out=as_path(settings.out), progress=settings.progress,
            notice=notice, read_by=importer_origin(file_format), past=past if adapter else None,
            model=settings.model_name,
        )  # fmt: skip
    return run_, loaded, window


def check(
    claim: str,
    path: str | Path,
    *,
    benchmark: str | None = None,
    profile: str = "strict",
    metric: str = "pass@1",
    tasks: int | None = None,
    samples: int | None = None,
    tolerance_points: float = 0.0,
    data: str | Path | None = None,
    task_args: Mapping[str, str] | None = None,
    file_format: str | None = None,
    previous: Sequence[str | Path] = (),
    shots: Sequence[str] = (),
    label: str | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    allow_unsafe: bool | None = None,
    progress: Progress | None = None,
    notice: Notice = ignore,
) -> Check:
    """Grade a file, hold a published number against its own and audit it: one answer, such as "confirmed".

    The claim is about this file: it is confirmed if the file's own count prints so, rounded or truncated. Under
    the rules of another profile than `strict` all of it is graded by `strict` too: the answer says how many passes
    fail there, and where the end of a program changed its tests, and `strict` does not pass it without that end,
    the number should not count. Whether an independent draw could give it stands in
    `truegrade.analysis.replication.Check.replication`.

    Args:
        claim: the number in percent as printed, such as ``"67.7"``; its digits count.
        path: the file of completions.
        benchmark: what they answer; None where the file says.
        profile: rules of the grading.
        metric: ``pass@K``, ``any_correct``, ``all_correct``, ``all_solutions``, ``first_sample`` or another
            estimate that a run under the profile prints.
        tasks: tasks, or draws over the file's tasks, behind the claim; None for the whole benchmark.
        samples: samples per problem behind the claim, where known.
        tolerance_points: percentage points by which the claim may miss the interval of an independent draw.
        data: local data file or folder.
        task_args: arguments of the benchmark, by name.
        file_format: name of the file's format; None to recognise it.
        previous: earlier files of the same pipeline, to look for feedback and copies.
        shots: ids of problems that the prompt shows solved.
        label: the model that the file is said to come from; None reads it off the file's name.
        out: folder for the run that the file becomes; None for one under ``runs``.
        workers, allow_unsafe, progress, notice: as for `grade`.

    Raises:
        UserError: a name, number or file is at fault.
        SandboxError: this machine cannot run programs.
    """
    from truegrade.analysis.audit import Evidence
    from truegrade.analysis.published_number import PublishedNumber, require_metric
    from truegrade.analysis.replication import answer, replicate

    published = PublishedNumber(
        text=claim, metric=metric, tasks=tasks, samples=samples, tolerance_points=tolerance_points
    )
    require_metric(metric, profile)
    evidence = Evidence(
        path=Path(path), benchmark=benchmark, profile=profile, data=as_path(data), task_args=task_args or {},
        file_format=file_format, previous=[Path(file) for file in previous], shots=shots, label=label,
        workers=workers, allow_unsafe=unsafe_allowed(allow_unsafe), progress=progress or Silent(), notice=notice,
    )  # fmt: skip
    run_, audited = _grade_and_audit(evidence, out, claim)
    report(run_)
    return answer(replicate(run_, published, profile=profile), published, audited)


def _grade_and_audit(evidence: Evidence, out: str | Path | None, claim: str) -> tuple[Run, Audit]:
    """A run made of a file, and the audit of the file, which the run keeps."""
    from truegrade.analysis.audit import audit, require_file

    for earlier in evidence.previous:
        require_file(earlier)
    with completion_file(evidence.path, evidence.notice) as file:
        name = _named_by_its_rows(file, evidence.file_format, evidence.benchmark, claim)
        window, args = apart(name, evidence.task_args)
        if window:
            evidence.notice(
                f"the claim is held against {described(window)} alone; the audit looks at the whole file"
            )
        run_ = grade(
            file, benchmark=name, profiles=_with_strict(evidence.profile), data=evidence.data,
            task_args=evidence.task_args, file_format=evidence.file_format, out=out, workers=evidence.workers,
            allow_unsafe=evidence.allow_unsafe, progress=evidence.progress, notice=evidence.notice,
        )  # fmt: skip
        audited = audit(replace(evidence, path=file, benchmark=name, task_args=args), run_)
    audited = replace(audited, file=str(evidence.path))
    run_.write(AUDIT, encode(audited, indent=2) + b"\n")
    return run_, audited


def _with_strict(profile: AnyProfile) -> tuple[AnyProfile, ...]:
    """The rules in question, and `strict` beside those of another harness: a pass of theirs may be none."""
    rules = find_profile(profile)
    return (rules,) if rules.name == "strict" else (rules, "strict")


def _named_by_its_rows(path: Path, file_format: str | None, benchmark: str | None, claim: str) -> str:
    """The benchmark that a file answers; refuses what cannot be audited as a file."""
    if is_run(path):
        raise UserError(
            f"{path}: is a run, not a file of completions; to compare it with the claim use: truegrade check"
            f" {claim} {path}"
        )
    with opened_source(path) as source:
        importer = find_format(source, file_format)
        if importer.positional:
            raise UserError(
                f"{path}: its rows name no problems, so it cannot be audited; without an audit: truegrade grade"
                f" {path} --benchmark NAME, then truegrade check {claim} RUN"
            )
        return benchmark or benchmark_of(source, importer)


# ----------------------------------------------------------------------------------------------------------------
# What is done with a run that is stored.


def load(path: str | Path) -> Run:
    """Open a run from its folder, or from a zip or pack of it.

    Raises:
        BadRecord: the folder holds no run, or the file is damaged.
    """
    return Run.open(Path(path))


def report(run_: Run | str | Path) -> Path:
    """Write a run's ``report.html`` anew and return its path; `report_files` writes other formats, or a part.

    Raises:
        UserError: the run was not graded yet.
    """
    return report_files(run_)[0]


def _write_page(run_: Run, problems: Mapping[str, Problem]) -> None:
    from truegrade.report.html import write_report

    write_report(run_, references=reference_programs(problems))


def report_files(
    run_: Run | str | Path,
    file_format: str = "html",
    *,
    window: Mapping[str, str] = EVERYTHING,
    cutoff: str | None = None,
    data: str | Path | None = None,
    out: str | Path | None = None,
    log_to: Sequence[str] = (),
    notice: Notice = ignore,
) -> list[Path]:
    """Write a run's report as files, one for each table or figure, and return their paths.

    A run that was stopped is counted as it is, which needs its data set, and its report says that it is partial.

    Args:
        run_: the run, or its folder.
        file_format: ``html`` (one page), ``png``, ``svg``, ``latex``, ``markdown``, ``csv``, ``parquet``,
            ``json``, ``bibtex``, ``model-index``, ``eval-results``.
        window: arguments of the benchmark that leave problems out, for a report on the others; the summary stays.
        cutoff: last day of the model's training data, ``YYYY-MM-DD``: contest problems are split by it.
        data: local data file or folder, for a window or a cut-off.
        out: the page, or the folder of the other formats' files; None for the run's own folder.
        log_to: as for `run`; the stored summary is logged.
        notice: told of a run that is not complete how far it has come, and what it was made with that this
            version has no more.

    Raises:
        UserError: the run was not graded yet, the format is not known, or PNG cannot be made here; an argument
            is unknown, or leaves nothing.
        NotTracked: the files are written, and a tracker did not take the results.
    """
    from truegrade.report.export import export_report

    opened, trackers = run_ if isinstance(run_, Run) else load(run_), open_trackers(log_to)
    for removed in removals(opened):
        notice(str(removed))
    if not window and cutoff is None:
        if is_outgrown(opened):
            reported, summary, problems = _so_far(opened, as_path(data), notice)
            beside = reference_programs(problems)
        else:
            reported, summary = opened, None
            beside = references_at_hand(opened) if file_format == "html" else {}
        return track(opened, trackers, export_report(reported, file_format, as_path(out), summary, beside))
    if log_to:
        raise UserError("`log_to` logs whole runs: leave out `window` and `cutoff`")
    check_cutoff(cutoff)
    chosen = window_of(opened.manifest, window)
    problems = narrow(
        problems_of(opened, load_for(opened, None, as_path(data), ignore, download_progress)), chosen
    )
    summary = summarise_part(opened, problems, window=chosen, cutoff=cutoff)
    part = "-".join(f"{name}-{value}" for name, value in [*window.items(), ("cutoff", cutoff)] if value)
    own = opened.path / (f"report-{slug(part)}" + (".html" if file_format == "html" else ""))
    return export_report(opened, file_format, as_path(out) or own, summary, reference_programs(problems))


def _so_far(run_: Run, data: Path | None, notice: Notice) -> tuple[Run, Summary, Mapping[str, Problem]]:
    """A run that was stopped as it is to be reported, its summary, counted here, and its problems."""
    from truegrade.report.wording import how_far

    run_ = run_.so_far()
    problems = problems_of(run_, load_for(run_, None, data, ignore, download_progress))
    summary = summarise_so_far(run_, problems)
    if told := how_far(summary):
        notice(f"partial result: {told}")
    return run_, summary, problems


def export(
    run_: Run | str | Path,
    file_format: str | Exporter,
    *,
    profile: AnyProfile | None = None,
    benchmark: str | BenchmarkSpec | None = None,
    data: str | Path | None = None,
    out: str | Path | None = None,
) -> Path:
    """Write a run as a file that another tool reads, and return its path.

    Args:
        run_: the run, or its folder.
        file_format: a name of `truegrade.store.exporters.EXPORTERS`, or an Exporter.
        profile: the rules that take the answers out of the replies, and whose verdicts are written; None for the
            format's own choice.
        benchmark: the benchmark file, of a run that was made elsewhere with one.
        data: local data file or folder.
        out: the file, or a folder for one of the format's own name; None for the run's.

    Raises:
        UserError: a name or file is at fault, or the run lacks what the format needs.
    """
    rules = find_profile(profile or find_exporter(file_format).profile)
    opened = run_ if isinstance(run_, Run) else load(run_)
    problems = problems_of(opened, load_for(opened, benchmark, as_path(data), ignore, download_progress))
    return export_run(opened, problems, rules, file_format, as_path(out))


def compare(
    first: Run | str | Path,
    second: Run | str | Path,
    *,
    profile: str | None = None,
    force: bool = False,
    window: Mapping[str, str] = EVERYTHING,
) -> PairedComparison:
    """Compare two runs, paired by task: second minus first, with an interval.

    `truegrade.analysis.comparison.compare_runs` compares more of them, and profiles of one run.

    Args:
        first: the baseline.
        second: the contender.
        profile: under which rules; None if each run has only one.
        force: compare even what is not comparable.
        window: arguments of the benchmark that leave problems out.

    Raises:
        NotComparable: data set, profile, selected problems or prompt rule differ, or no problem is in both.
    """
    from truegrade.analysis.comparison import compare_runs

    profiles = () if profile is None else (profile,)
    return compare_runs([first, second], profiles=profiles, force=force, window=window).pairs[0].paired


def as_path(value: str | Path | None) -> Path | None:
    """A path of what a caller gave."""
    return None if value is None else Path(value)


def _adapter(given: str | Path) -> Path:
    folder = Path(given)
    if not folder.exists():
        raise UserError(f"`adapter` {folder}: no such folder; name the one that the completions were made with")
    return folder


def grader_for(settings: Settings) -> Grader:
    """What gives the verdicts, where and with as many workers as the settings say."""
    unsafe = unsafe_allowed(settings.allow_unsafe)
    return open_grader(settings.executor, workers=settings.workers, allow_unsafe=unsafe)


def unsafe_allowed(allowed: bool | None = None) -> bool:
    """What the caller says, else what TRUEGRADE_ALLOW_UNSAFE says."""
    return os.environ.get("TRUEGRADE_ALLOW_UNSAFE", "") not in ("", "0") if allowed is None else allowed
