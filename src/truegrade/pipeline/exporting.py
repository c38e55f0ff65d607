"""A run as a file that another tool reads: stored completions and verdicts in its shape. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from truegrade.errors import UserError
from truegrade.files.writing import writing
from truegrade.pipeline.verdicts import answer_of
from truegrade.profiles import Profile
from truegrade.records import Problem, Reason, SampleKey
from truegrade.store import Run
from truegrade.store.exporters import Exported, Exporter, find_exporter
from truegrade.store.importers.samples import PLUS_SETS

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
        out: the file; None for the format's own name in the run's folder.

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
    path = out or run.outputs / exporter.file
    partial = path.with_name(path.name + ".partial")
    with writing(path):
        run.outputs.mkdir(exist_ok=True)
        try:
            with partial.open("wb") as file:
                exporter.write(_samples(run, problems, profile, exporter), problems, file)
            partial.replace(path)
        finally:
            with suppress(OSError):
                partial.unlink()
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
    verdicts = {verdict.key: verdict for verdict in run.verdicts(graded)} if exporter.verdicts else {}
    prompts = run.prompts() if exporter.verdicts else {}
    plus = exporter.verdicts and run.manifest.benchmark.name in PLUS_SETS
    base_reasons = _reasons(run, BASE_PROFILE) if plus else {}
    config = run.manifest.generation.sha256 if run.manifest.generation else None
    empty = True
    for completion in run.completions():
        empty = empty and completion.text is None
        problem = problems.get(completion.problem_id)
        if problem is None or completion.text is None or completion.sample >= run.manifest.samples_per_task:
            continue
        answer = answer_of(completion, problem, profile)
        verdict = verdicts.get(completion.key)
        yield Exported(
            problem=problem,
            completion=completion,
            answer=answer,
            kept=profile.kept(completion, answer),
            reused=config not in (None, completion.config_sha256),
            reason=None if verdict is None else verdict.reason,
            base_reason=base_reasons.get(completion.key),
            harness=None if verdict is None else verdict.harness,
            verdict=verdict,
            prompt=prompts.get(completion.problem_id),
            run=run.manifest,
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


def _reasons(run: Run, profile: str) -> dict[SampleKey, Reason]:
    """The latest verdict on each sample under one profile."""
    return {verdict.key: verdict.reason for verdict in run.verdicts(profile)}
