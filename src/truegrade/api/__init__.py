"""The Python API: names become objects here, and the straight line is walked.

Every function has a command of the same name. ``docs/python.md`` shows each with an example.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from truegrade.agents import Agent
from truegrade.analysis import claim_check
from truegrade.api.stored import as_path, compare, export, load, report, report_files
from truegrade.benchmarks.base import BenchmarkSpec
from truegrade.datasets.learned import past_of
from truegrade.errors import UserError
from truegrade.models import DEFAULT_MODEL
from truegrade.models.base import Model
from truegrade.pipeline.grade import open_grader
from truegrade.pipeline.importing import RUNS, benchmark_of, import_file, note_past
from truegrade.pipeline.importing import opened as opened_source
from truegrade.pipeline.loading import (
    Limit,
    apart,
    completion_file,
    left_out,
    load_announced,
    load_for,
    narrow,
    problems_of,
    select,
    window_of,
)
from truegrade.pipeline.progress import Progress
from truegrade.pipeline.stages import RunRequest, ask, grade_and_count
from truegrade.pipeline.tracking import track
from truegrade.pipeline.verdicts import with_packages
from truegrade.profiles import AnyProfile, find_profile
from truegrade.profiles.base import refuse_uncovered
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.report.progress_lines import Silent, download_progress
from truegrade.statistics.windows import check_cutoff
from truegrade.store import Run
from truegrade.store.importers import Importer, find_format, importer_origin
from truegrade.store.journal import Notice, ignore
from truegrade.store.packing import is_pack, unpack_for_grading
from truegrade.store.trackers import open_trackers

__all__ = [
    "DEFAULT_PROFILES",
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

DEFAULT_PROFILES = ("strict",)


def run(
    benchmark: str | BenchmarkSpec,
    *,
    model: str | Model = DEFAULT_MODEL,
    profiles: Sequence[AnyProfile] = DEFAULT_PROFILES,
    n: int = 1,
    data: str | Path | None = None,
    task_args: Mapping[str, str] | None = None,
    limit: Limit = None,
    ids: Sequence[str] = (),
    sampling: Sampling | None = None,
    request_policy: RequestPolicy | None = None,
    base_url: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    agent: str | Agent | None = None,
    agent_args: Mapping[str, Any] | None = None,
    reuse: str | Path | None = None,
    cache: bool | None = None,
    probe: bool = False,
    batch: bool = False,
    exclude_seen: bool = False,
    out: str | Path | None = None,
    ks: Sequence[int] | None = None,
    workers: int | None = None,
    executor: str = "local",
    allow_unsafe: bool | None = None,
    cutoff: str | None = None,
    packages: Sequence[str] = (),
    log_to: Sequence[str] = (),
    progress: Progress | None = None,
    notice: Notice = ignore,
) -> Run:
    """Evaluate a model on a benchmark: `generate`, `grade`, `report` in order.

    The same call resumes where an earlier one stopped.

    Args:
        benchmark: a name of ``truegrade benchmarks``, the path of a benchmark file (``.py``, ``.jsonl``), or a
            BenchmarkSpec; see ``docs/extend.md``, also for profiles, models and agents of your own.
        model: ``provider/name``, a preset, ``replay:FILE``, ``baseline/NAME``, or a Model.
        profiles: rules to grade under; the first also words the prompt.
        n, data, task_args, limit, ids, sampling, request_policy, base_url, model_args, agent, agent_args, reuse,
            cache, probe, batch, exclude_seen, out: as for `generate`.
        ks: the k of pass@k; None for 1, 5, 10, 25, 50, 100 as far as ``n`` allows.
        workers: programs run at once; None for one a core.
        executor: where they run: ``local``, ``ray`` or ``ray:ADDRESS`` (`truegrade.pipeline.grade.open_grader`).
        allow_unsafe: run programs even where only resource limits protect this machine (protection level 1);
            None asks the environment variable TRUEGRADE_ALLOW_UNSAFE.
        cutoff: last day of the model's training data, ``YYYY-MM-DD``: contest problems are split by it.
        packages: installed packages that programs may import besides those of the profile.
        log_to: trackers that are told the results: ``mlflow``, ``mlflow:URI``, ``wandb``, ``wandb:PROJECT``,
            ``tensorboard:FOLDER``.
        progress: watches the stages.
        notice: told what a person should know.

    Raises:
        UserError: a name, file or number is at fault; the message says which and what to do. Nothing was asked.
        ModelError: the model service refuses everything.
        NotTracked: the run is complete, and a tracker did not take its results.
    """
    opened, trackers = [find_profile(each) for each in profiles], open_trackers(log_to)
    check_cutoff(cutoff)
    with_packages({}, packages)  # refused before anything is asked
    unsafe, watch = unsafe_allowed(allow_unsafe), progress or Silent()
    grader = open_grader(executor, workers=workers, allow_unsafe=unsafe)
    request = RunRequest(
        benchmark=benchmark, model=model, n=n, data=data, task_args=task_args, limit=limit, ids=ids,
        sampling=sampling, request_policy=request_policy, base_url=base_url, model_args=model_args, agent=agent,
        agent_args=agent_args, reuse=reuse, cache=cache, probe=probe, batch=batch,
        exclude_seen=exclude_seen, out=out,
    )  # fmt: skip
    asked = ask(
        request, opened, grader=grader, packages=packages, ks=ks, allow_unsafe=unsafe, progress=watch,
        notice=notice, shown=download_progress,
    )  # fmt: skip
    run_ = asked.run
    grade_and_count(run_, asked.problems, opened, ks, grader, watch, graded=asked.graded, cutoff=cutoff)
    report(run_)
    return track(run_, trackers, run_)


def generate(
    benchmark: str | BenchmarkSpec,
    *,
    model: str | Model = DEFAULT_MODEL,
    profile: AnyProfile = "strict",
    n: int = 1,
    data: str | Path | None = None,
    task_args: Mapping[str, str] | None = None,
    limit: Limit = None,
    ids: Sequence[str] = (),
    sampling: Sampling | None = None,
    request_policy: RequestPolicy | None = None,
    base_url: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    agent: str | Agent | None = None,
    agent_args: Mapping[str, Any] | None = None,
    reuse: str | Path | None = None,
    cache: bool | None = None,
    probe: bool = False,
    batch: bool = False,
    exclude_seen: bool = False,
    out: str | Path | None = None,
    allow_unsafe: bool | None = None,
    progress: Progress | None = None,
    notice: Notice = ignore,
) -> Run:
    """Ask a model for completions, and stop there.

    Args:
        benchmark, model: as for `run`.
        profile: the rules that render the prompt.
        n: samples per problem.
        data: local data file or folder.
        task_args: arguments of the benchmark, by name; ``prompt`` names a variant of the profile's prompt.
        limit: the first N problems, or those from A to B as (A, B), counted from 1; programs, where several
            problems are about one.
        ids: only the problems of these ids.
        sampling: parameters of generation; None for the preset's or the service's own.
        request_policy: how hard the service is tried, and what it may cost; None for the defaults.
        base_url: address of an OpenAI-compatible service.
        model_args: arguments of the model, passed on to the service; ``adapter`` names a LoRA or DoRA adapter.
        agent: a name of ``truegrade agents``: works in several steps in front of the model.
        agent_args: arguments of the agent, by name.
        reuse: a file of completion lists, whose accepted rows (``need_reproduce`` false) are not asked again.
        cache: False to ask even what was answered before, True to keep the replies of a service of your own too;
            None to keep those of a provider's own address.
        batch: ask through the service's batches, which cost half and are answered within a day; the model must be
            one of ``openai/`` or ``anthropic/``.
        exclude_seen: leave out the problems that the adapter learned from instead of refusing them.
        probe: look first which parameters the server honours; the manifest keeps what was found.
        out: folder of the run; None for one named by what is asked, under ``runs``.
        allow_unsafe: as for `run`; only an agent runs programs here.
        progress: watches the stage.
        notice: told what a person should know.

    Raises:
        UserError, ModelError: as `run`.
    """
    request = RunRequest(
        benchmark=benchmark, model=model, n=n, data=data, task_args=task_args, limit=limit, ids=ids,
        sampling=sampling, request_policy=request_policy, base_url=base_url, model_args=model_args, agent=agent,
        agent_args=agent_args, reuse=reuse, cache=cache, probe=probe, batch=batch, exclude_seen=exclude_seen,
        out=out,
    )  # fmt: skip
    return ask(
        request, [find_profile(profile)], allow_unsafe=unsafe_allowed(allow_unsafe),
        progress=progress or Silent(), notice=notice, shown=download_progress,
    ).run  # fmt: skip


def grade(
    completions: str | Path,
    *,
    benchmark: str | BenchmarkSpec | None = None,
    profiles: Sequence[AnyProfile] = DEFAULT_PROFILES,
    data: str | Path | None = None,
    task_args: Mapping[str, str] | None = None,
    file_format: str | Importer | None = None,
    limit: Limit = None,
    ks: Sequence[int] | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    executor: str = "local",
    allow_unsafe: bool | None = None,
    cutoff: str | None = None,
    packages: Sequence[str] = (),
    timeout_s: float | None = None,
    adapter: str | Path | None = None,
    exclude_seen: bool = False,
    log_to: Sequence[str] = (),
    progress: Progress | None = None,
    notice: Notice = ignore,
) -> Run:
    """Grade a run, or a file of completions that any harness wrote.

    Args:
        completions: a run's folder, a pack of one, a file in one of the formats of ``docs/formats.md``, or a
            folder or zip that holds one.
        benchmark: what the completions answer; logs of Inspect know it, and runs.
        profiles: rules to grade under, side by side.
        data: local data file or folder.
        task_args: arguments of the benchmark, by name. Those that only leave problems out (``start``, ``end``,
            ``month``, ``platform``, ``difficulty`` of contests) grade and count a part of the run or file.
        file_format: name of the file's format; None to recognise it.
        limit: the problems that a file answers, as N or (A, B); needed where it holds no ids and not all problems.
        ks: the k of pass@k.
        out: folder for the run that a file or a pack becomes; a pack stays as it is.
        workers, executor, allow_unsafe, cutoff, packages, log_to: as for `run`.
        timeout_s: CPU seconds of a program, or of each call or test where the rules limit those, in place of the
            profiles' own limits; the verdicts stand in a column of their own, ``human-eval@6d43fb9+30s``.
        adapter: folder of the adapter that the completions were made with: problems that it learned from are
            refused.
        exclude_seen: leave them out instead.
        progress: watches the stages.
        notice: told what a person should know.

    Raises:
        UserError, NotTracked: as `run`.
    """
    path, trackers = Path(completions), open_trackers(log_to)
    if path.name == "completions.jsonl" and (path.parent / "manifest.json").exists():
        path = path.parent
    opened = [find_profile(each, timeout_s) for each in profiles]
    grader = open_grader(executor, workers=workers, allow_unsafe=unsafe_allowed(allow_unsafe))
    watch = progress or Silent()
    check_cutoff(cutoff)
    made_with = None if adapter is None else _adapter(adapter)
    past = partial(past_of, None, made_with, exclude_seen=exclude_seen)
    if is_pack(path):
        path = unpack_for_grading(path, as_path(out), RUNS)
    if (path / "manifest.json").exists():
        if limit is not None:
            raise UserError(f"`limit` chooses among the problems of a file; the run {path} knows its own")
        run_ = Run.open(path, notice=notice)
        window = window_of(run_.manifest, task_args or {})
        loaded = load_for(run_, benchmark, as_path(data), notice, download_progress)
        refuse_uncovered(opened, loaded.problems)
        if made_with is not None:
            note_past(run_, problems_of(run_, loaded), made_with, past)
    else:
        with completion_file(path, notice) as file, opened_source(file) as source:
            importer = find_format(source, file_format)
            name = benchmark or benchmark_of(source, importer)
            window, args = apart(name, task_args or {})
            if window and importer.positional:  # its rows are those of the window
                window, args = {}, {**window, **args}
            loaded = load_announced(name, as_path(data), args, notice, download_progress)
            refuse_uncovered(opened, loaded.problems)
            chosen_rows = select(loaded, limit, rows=True) if limit is not None else None
            run_ = import_file(
                source, importer, loaded, chosen_rows, out=as_path(out), progress=watch, notice=notice,
                read_by=importer_origin(file_format), past=past if made_with else None,
            )  # fmt: skip
    problems = problems_of(run_, loaded)
    chosen = narrow(with_packages(problems, packages), window)
    if window:
        notice(left_out(run_, problems, chosen, window))
    grade_and_count(run_, chosen, opened, ks, grader, watch, window=window, cutoff=cutoff)
    report(run_)
    return track(run_, trackers, run_)


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
) -> claim_check.Check:
    """Grade a file, hold a published number against its own and audit it: one answer, such as "confirmed".

    The claim is about this file: it is confirmed if the file's own count prints so, rounded or truncated. Whether
    an independent draw could give it stands in `truegrade.analysis.claim_check.Check.replication`.

    Args:
        claim: the number in percent as printed, such as ``"67.7"``; its digits count.
        path: the file of completions.
        benchmark: what they answer; None where the file says.
        profile: rules of the grading.
        metric: ``pass@K``, ``any_correct``, ``all_correct`` or ``all_solutions``.
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
    return claim_check.check(
        claim, Path(path), grade=grade, report=report, benchmark=benchmark, profile=profile, metric=metric,
        tasks=tasks, samples=samples, tolerance_points=tolerance_points, data=as_path(data), task_args=task_args,
        file_format=file_format, previous=[Path(file) for file in previous], shots=shots, label=label,
        out=as_path(out), workers=workers, allow_unsafe=unsafe_allowed(allow_unsafe),
        progress=progress or Silent(), notice=notice,
    )  # fmt: skip


def _adapter(given: str | Path) -> Path:
    folder = Path(given)
    if not folder.exists():
        raise UserError(f"`adapter` {folder}: no such folder; name the one that the completions were made with")
    return folder


def unsafe_allowed(allowed: bool | None = None) -> bool:
    """What the caller says, else what TRUEGRADE_ALLOW_UNSAFE says."""
    return os.environ.get("TRUEGRADE_ALLOW_UNSAFE", "") not in ("", "0") if allowed is None else allowed
