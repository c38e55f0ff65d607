"""The Python API: names become objects here, and the straight line is walked.

Every function has a command of the same name. ``docs/python.md`` shows each with an example.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from truegrade.agents import Agent
from truegrade.analysis import checking
from truegrade.analysis.comparison import compare_runs
from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.datasets.learned import leave_out_learned
from truegrade.errors import UserError
from truegrade.models import DEFAULT_MODEL
from truegrade.models.adapters import ARGUMENT, recorded_arguments
from truegrade.models.base import Model
from truegrade.pipeline import asking
from truegrade.pipeline.exporting import export_run, write_own_files
from truegrade.pipeline.generate import generate as generate_stage
from truegrade.pipeline.grade import grade as grade_stage
from truegrade.pipeline.graders import Grader, open_grader
from truegrade.pipeline.importing import RUNS, benchmark_of, identity_of, import_file, origins, slug, take_over
from truegrade.pipeline.loading import load_announced, load_for, problems_of
from truegrade.pipeline.progress import Progress
from truegrade.pipeline.prompts import word
from truegrade.pipeline.selection import Limit, apart, left_out, narrow, select, told, window_of
from truegrade.pipeline.summarise import graders_of, summarise_part
from truegrade.pipeline.summarise import summarise as summarise_stage
from truegrade.pipeline.verdicts import with_packages
from truegrade.profiles import AnyProfile, Profile, find_profile
from truegrade.profiles.refusals import refuse_uncovered
from truegrade.records import Problem, sha256_json
from truegrade.records.config import GenerationConfig, Patience, Sampling
from truegrade.report import format as fmt
from truegrade.report.progress import Silent, download_progress
from truegrade.statistics import PairedComparison
from truegrade.statistics.windows import EVERYTHING, Window, check_day
from truegrade.store import Manifest, Run, environment
from truegrade.store.exporters import Exporter, find_exporter
from truegrade.store.importers import Importer, find_format
from truegrade.store.journal import Notice, ignore
from truegrade.store.manifest import now

DEFAULT_PROFILES = ("strict",)
SHOWN_EXCLUDED = 5
"""Ids of excluded problems that are named before it says how many more there are."""


def run(
    benchmark: str | BenchmarkSpec,
    *,
    model: str | Model = DEFAULT_MODEL,
    profiles: Sequence[AnyProfile] = DEFAULT_PROFILES,
    ks: Sequence[int] | None = None,
    workers: int | None = None,
    executor: str = "local",
    allow_unsafe: bool | None = None,
    cutoff: str | None = None,
    packages: Sequence[str] = (),
    progress: Progress | None = None,
    **generation: Any,
) -> Run:
    """Evaluate a model on a benchmark: `generate`, `grade`, `report` in order.

    The same call resumes where an earlier one stopped.

    Args:
        benchmark: a name of ``truegrade benchmarks``, the path of a benchmark file (``.py``, ``.jsonl``), or a
            BenchmarkSpec; see ``docs/extend.md``, also for profiles, models and agents of your own.
        model: ``provider/name``, a preset, ``replay:FILE``, ``baseline/NAME``, or a Model.
        profiles: rules to grade under; the first also words the prompt.
        ks: the k of pass@k; None for 1, 5, 10, 25, 50, 100 as far as ``n`` allows.
        workers: programs run at once; None for one a core.
        executor: where they run: ``local``, ``ray`` or ``ray:ADDRESS`` (`truegrade.pipeline.graders.open_grader`).
        allow_unsafe: run programs even where only resource limits protect this machine (protection level 1);
            None asks the environment variable TRUEGRADE_ALLOW_UNSAFE.
        cutoff: last day of the model's training data, ``YYYY-MM-DD``: contest problems are split by it.
        packages: installed packages that programs may import besides those of the profile.
        progress: watches the stages.
        generation: everything else that `generate` takes.

    Raises:
        UserError: a name, file or number is at fault; the message says which and what to do.
        ModelError: the model service refuses everything.
    """
    opened = [find_profile(each) for each in profiles]
    check_day("--cutoff", cutoff)
    with_packages({}, packages)  # refused before anything is asked
    unsafe = unsafe_allowed(allow_unsafe)
    grader = open_grader(executor, workers=workers, allow_unsafe=unsafe)
    run_, problems = _generate(
        benchmark, model, opened, progress or Silent(), grading=True, allow_unsafe=unsafe, **generation
    )
    problems = with_packages(problems, packages)
    return _grade_and_report(run_, problems, opened, ks, grader, progress or Silent(), cutoff=cutoff)


def generate(
    benchmark: str | BenchmarkSpec,
    *,
    model: str | Model = DEFAULT_MODEL,
    profile: AnyProfile = "strict",
    allow_unsafe: bool | None = None,
    progress: Progress | None = None,
    **generation: Any,
) -> Run:
    """Ask a model for completions, and stop there.

    Args:
        benchmark, model: as for `run`.
        profile: the rules that word the prompt.
        allow_unsafe: as for `run`; only an agent runs programs here.
        progress: watches the stage.
        generation: ``n`` (samples per task, 1), ``data`` (local file or folder), ``task_args``, ``limit``
            (N or (A, B)), ``ids``, ``sampling`` (Sampling), ``patience`` (Patience), ``base_url``,
            ``model_args``, ``agent`` (a name of ``truegrade agents``), ``agent_args``, ``reuse`` (a file whose
            accepted rows are not asked again), ``cache`` (False to ask even what was answered before, True to
            cache a service of your own too), ``probe`` (True to look first which parameters the server
            honours), ``out`` (folder of the run), ``notice``.

    Raises:
        UserError, ModelError: as `run`.
    """
    opened, unsafe = find_profile(profile), unsafe_allowed(allow_unsafe)
    watch = progress or Silent()
    return _generate(benchmark, model, [opened], watch, grading=False, allow_unsafe=unsafe, **generation)[0]


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
    progress: Progress | None = None,
    notice: Notice = ignore,
) -> Run:
    """Grade a run, or a file of completions that any harness wrote.

    Args:
        completions: a run's folder, or a file in one of the formats of ``docs/formats.md``.
        benchmark: what the completions answer; logs of Inspect know it, and runs.
        profiles: rules to grade under, side by side.
        data: local data file or folder.
        task_args: ``-T`` arguments of the benchmark. Those that only leave problems out (``start``, ``end``,
            ``month``, ``platform``, ``difficulty`` of contests) grade and count a part of the run or file.
        file_format: name of the file's format; None to recognise it.
        limit: the problems that a file answers, as N or (A, B); needed where it holds no ids and not all problems.
        ks: the k of pass@k.
        out: folder for the run that a file becomes.
        workers, executor: as for `run`.
        allow_unsafe, cutoff, packages: as for `run`.
        timeout_s: CPU seconds of a program, or of each call or test where the rules limit those, in place of the
            profiles' own limits; the verdicts stand in a column of their own, ``human-eval@6d43fb9+30s``.
        progress: watches the stages.
        notice: told what a person should know.

    Raises:
        UserError: a name, file, line or field is at fault.
    """
    path = Path(completions)
    if path.name == "completions.jsonl" and (path.parent / "manifest.json").exists():
        path = path.parent
    opened = [find_profile(each, timeout_s) for each in profiles]
    grader = open_grader(executor, workers=workers, allow_unsafe=unsafe_allowed(allow_unsafe))
    watch = progress or Silent()
    check_day("--cutoff", cutoff)
    if path.is_dir():
        if limit is not None:
            raise UserError(f"--limit chooses among the problems of a file; the run {path} knows its own")
        run_ = Run.open(path, notice=notice)
        window = window_of(run_.manifest, task_args or {})
        loaded = load_for(run_, benchmark, _path(data), notice, download_progress)
        refuse_uncovered(opened, loaded.problems)
    else:
        name = benchmark_of(path, benchmark, file_format)
        window, args = apart(name, task_args or {})
        if window and find_format(path, file_format).positional:  # its rows are those of the window
            window, args = {}, {**window, **args}
        loaded = load_announced(name, _path(data), args, notice, download_progress)
        refuse_uncovered(opened, loaded.problems)
        positions = select(loaded, limit, rows=True) if limit is not None else None
        run_ = import_file(path, loaded, file_format, positions, out=_path(out), progress=watch, notice=notice)
    problems = problems_of(run_, loaded)
    chosen = narrow(with_packages(problems, packages), window)
    if window:
        notice(left_out(run_, problems, chosen, window))
    return _grade_and_report(run_, chosen, opened, ks, grader, watch, window=window, cutoff=cutoff)


def check(claim: str, path: Path, **options: Any) -> checking.Check:
    """Grade a file, hold a claim against it, audit it: `truegrade.analysis.checking.check` has the options."""
    return checking.check(claim, path, grade=grade, report=report, **options)


def load(path: str | Path) -> Run:
    """Open a run from its folder.

    Raises:
        BadRecord: the folder holds no run.
    """
    return Run.open(Path(path))


def report(run_: Run | str | Path) -> Path:
    """Write a run's ``report.html`` anew and return its path; `report_files` writes other formats, or a part.

    Raises:
        UserError: the run was not graded yet.
    """
    return report_files(run_)[0]


def report_files(
    run_: Run | str | Path,
    file_format: str = "html",
    *,
    window: Mapping[str, str] = EVERYTHING,
    cutoff: str | None = None,
    data: str | Path | None = None,
    out: str | Path | None = None,
) -> list[Path]:
    """Write a run's report as files, one for each table or figure, and return their paths.

    Args:
        run_: the run, or its folder.
        file_format: ``html`` (one page), ``png``, ``svg``, ``latex``, ``markdown``, ``csv``, ``json``, ``bibtex``.
        window: ``-T`` arguments that leave problems out, for a report on the others; ``summary.json`` stays.
        cutoff: last day of the model's training data, ``YYYY-MM-DD``: contest problems are split by it.
        data: local data file or folder, for a window or a cut-off.
        out: the page, or the folder of the other formats' files; None for the run's own folder.

    Raises:
        UserError: the run was not graded yet, the format is not known, or PNG cannot be made here; an argument
            is unknown, or leaves nothing.
    """
    from truegrade.report.export import export_report

    opened = run_ if isinstance(run_, Run) else load(run_)
    if not window and cutoff is None:
        return export_report(opened, file_format, _path(out))
    check_day("--cutoff", cutoff)
    chosen = window_of(opened.manifest, window)
    problems = narrow(problems_of(opened, load_for(opened, None, _path(data), ignore, download_progress)), chosen)
    summary = summarise_part(opened, problems, window=chosen, cutoff=cutoff)
    part = "-".join(f"{name}-{value}" for name, value in [*window.items(), ("cutoff", cutoff)] if value)
    own = opened.path / (f"report-{slug(part)}" + (".html" if file_format == "html" else ""))
    return export_report(opened, file_format, _path(out) or own, summary)


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
        file_format: ``human-eval``, ``evalplus``, ``evalplus-results``, ``bigcode``, ``blog``, ``seed-results``,
            ``livecodebench``, ``livecodebench-eval``, ``livecodebench-eval-all``, ``evalscope-eval``,
            ``inspect``.
        profile: the rules that take the answers out of the replies, and whose verdicts are written; None for the
            format's own choice.
        benchmark: the benchmark file, of a run that was made elsewhere with one.
        data: local data file or folder.
        out: the file; None for the format's own name in the run's folder.

    Raises:
        UserError: a name or file is at fault, or the run lacks what the format needs.
    """
    rules = find_profile(profile or find_exporter(file_format).profile)
    opened = run_ if isinstance(run_, Run) else load(run_)
    problems = problems_of(opened, load_for(opened, benchmark, _path(data), ignore, download_progress))
    return export_run(opened, problems, rules, file_format, _path(out))


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
        window: ``-T`` arguments that leave problems out.

    Raises:
        NotComparable: data set, profile, selected tasks or prompt rule differ, or no task is in both.
    """
    profiles = () if profile is None else (profile,)
    return compare_runs([first, second], profiles=profiles, force=force, window=window).pairs[0].paired


# ------------------------------------------------------------------------------------- from names to objects


def _generate(
    benchmark: str | BenchmarkSpec,
    model: str | Model,
    profiles: Sequence[Profile],
    progress: Progress,
    *,
    grading: bool,
    n: int = 1,
    data: str | Path | None = None,
    task_args: Mapping[str, str] | None = None,
    limit: Limit = None,
    ids: Sequence[str] = (),
    sampling: Sampling | None = None,
    patience: Patience | None = None,
    base_url: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    agent: str | Agent | None = None,
    agent_args: Mapping[str, Any] | None = None,
    allow_unsafe: bool = False,
    reuse: str | Path | None = None,
    cache: bool | None = None,
    probe: bool = False,
    out: str | Path | None = None,
    notice: Notice = ignore,
) -> tuple[Run, dict[str, Problem]]:
    """Open everything by name, start or resume the run, ask for what is missing; the first profile words.

    ``grading`` is whether the profiles will grade too: then each must cover what is asked.
    """
    if n < 1:
        raise UserError(f"-n {n}: at least one sample per task is needed")
    args = dict(task_args or {})
    variant = args.pop("prompt", None)
    worker = asking.hire(agent, agent_args or {}, model, variant)
    loaded = load_announced(benchmark, _path(data), args, notice, download_progress)
    selected = select(loaded, limit, ids)
    if limit is not None and (chosen := told(loaded, selected)) is not None:
        notice(chosen)
    if grading:
        refuse_uncovered(profiles, selected)
    learned = leave_out_learned((model_args or {}).get(ARGUMENT), selected)
    left = [problem for problem in selected if problem.id not in learned]
    worded = word(loaded, left, worker or profiles[0], variant)
    excluded = worded.excluded | learned
    for reason in dict.fromkeys(excluded.values()):
        named = [problem for problem, why in excluded.items() if why == reason]
        notice(f"not scored ({reason}): {fmt.first_few(named, SHOWN_EXCLUDED)}")
    asked = asking.open_asked(model, base_url, patience or Patience(), model_args or {})
    wanted = asking.sampling_of(model, sampling or Sampling())
    asking.check_followed(asked, wanted)
    config = GenerationConfig(
        model=asked.name,
        base_url=asked.base_url,
        prompt_rule=asking.prompt_rule(worker, profiles[0], variant),
        sampling=wanted,
        model_args=recorded_arguments(model_args or {}),
        agent=worker.config if worker else None,
    )
    manifest = Manifest(
        created=now(),
        benchmark=identity_of(loaded),
        generation=config,
        samples_per_task=n,
        selected=None if len(selected) == len(loaded.problems) else tuple(p.id for p in selected),
        excluded=excluded,
        probe=asking.probe_for(asked, worded, n) if probe else None,
        environment=environment(),
        origins=origins(benchmark=loaded.origin, **asking.asked_origins(model, agent)),
    )
    folder = _path(out) or RUNS / _folder_name(loaded, config)
    run_ = Run.create_or_resume(folder, manifest, notice=notice)
    with run_.locked():
        run_.add_prompts((problem.id, prompt) for problem, prompt in worded.items)
        if reuse is not None:
            take_over(run_, Path(reuse), loaded, [problem.id for problem, _ in worded.items], notice)
        with asking.asker(asked, worker, run_, allow_unsafe=allow_unsafe, cache=cache, notice=notice) as answering:
            shortfall = generate_stage(run_, worded, answering, progress=progress, notice=notice)
        adaptations = (*run_.manifest.adaptations, *getattr(answering, "adaptations", ()))
        run_.update(adaptations=tuple(dict.fromkeys(adaptations)))
    if shortfall:
        notice(shortfall.sentence())
    return run_, problems_of(run_, loaded)


def unsafe_allowed(allowed: bool | None = None) -> bool:
    """What the caller says, else what TRUEGRADE_ALLOW_UNSAFE says."""
    return os.environ.get("TRUEGRADE_ALLOW_UNSAFE", "") not in ("", "0") if allowed is None else allowed


def _grade_and_report(
    run_: Run,
    problems: Mapping[str, Problem],
    profiles: Sequence[Profile],
    ks: Sequence[int] | None,
    grader: Grader,
    progress: Progress,
    *,
    window: Window = EVERYTHING,
    cutoff: str | None = None,
) -> Run:
    """Grade under every profile, then count and write the page; earlier gradings stay in the summary."""
    with run_.locked(), closing(grader):
        for profile in profiles:
            grade_stage(run_, problems, profile, progress=progress, grader=grader)
        earlier = graders_of(run_, problems, besides={profile.id for profile in profiles})
        summarise_stage(run_, problems, [*profiles, *earlier], ks, window=window, cutoff=cutoff)
        write_own_files(run_, problems, profiles)
    report(run_)
    return run_


def _folder_name(loaded: Benchmark, config: GenerationConfig) -> str:
    identity = sha256_json([config.sha256, loaded.dataset_sha256, loaded.args])
    agent = "" if config.agent is None else f"{slug(config.agent.name)}-"
    return f"{slug(loaded.name)}-{agent}{slug(config.model)}-{identity[:8]}"


def _path(value: str | Path | None) -> Path | None:
    return None if value is None else Path(value)
