"""Audit of a file of completions: rows that must not count, and deviations from the protocol.

Everything is graded anew; nothing that a file says about itself is believed.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from truegrade.analysis.audit import contests
from truegrade.analysis.audit.checks import check_flags, check_passes, check_protocol, check_rounds, check_samples
from truegrade.analysis.audit.findings import CODES, Audit, Evidence, Finding, Severity, most_severe_first, regrade
from truegrade.benchmarks import load_benchmark
from truegrade.benchmarks.base import Benchmark
from truegrade.errors import UnknownName, UserError
from truegrade.pipeline.importing import benchmark_of, opened
from truegrade.pipeline.loading import completion_file
from truegrade.profiles import find_profile
from truegrade.statistics import estimate
from truegrade.store import Run
from truegrade.store.importers import find_format
from truegrade.store.importers.livecodebench import is_evaluation
from truegrade.store.packing import is_run

__all__ = ["CODES", "Audit", "Evidence", "Finding", "Severity", "audit", "audit_file", "require_file"]


def audit(evidence: Evidence, graded: Run | None = None) -> Audit:
    """Audit a run or a file of a benchmark given by name; contest answers by what they are, data set or not.

    A run's folder stands for its completions, with its benchmark and the verdicts that it has; a folder or zip of
    one file of completions for that file.

    Args:
        evidence: what is audited, and how it is graded.
        graded: a run of this file whose verdicts need not be made again.

    Raises:
        UserError: a name or file is at fault.
        SandboxError: this machine cannot run programs.
    """
    rules = find_profile(evidence.profile)  # refused before anything is opened; a file of the user's is run once
    with completion_file(evidence.path, evidence.notice) as file:
        named, at_hand = evidence.path, msgspec.structs.replace(evidence, path=file, profile=rules)
        if is_run(file):
            run = Run.open(file)
            graded = run if rules.id in run.profiles else None
            named, at_hand = run.completions_path, _of_run(at_hand, run)
        found = _audit_rows(at_hand, graded)
    return msgspec.structs.replace(found, file=str(named))


def _of_run(evidence: Evidence, run: Run) -> Evidence:
    """The completions of a run, with what the run knows of them."""
    made = run.manifest.benchmark
    return msgspec.structs.replace(
        evidence,
        path=run.completions_path,
        benchmark=evidence.benchmark or made.name,
        task_args={**made.args, **evidence.task_args},
        data=evidence.data or (Path(made.source) if Path(made.source).is_file() else None),
    )


def _audit_rows(evidence: Evidence, graded: Run | None) -> Audit:
    """Audit rows by what they answer: contests, with verdicts alone or without a data set, on public samples."""
    name, verdicts_alone = evidence.benchmark, False
    if name in (None, contests.NAME):
        with opened(evidence.path) as source:
            name = name or benchmark_of(source, find_format(source, None))
            verdicts_alone = name == contests.NAME and is_evaluation(source)
    assert name is not None
    if name == contests.NAME and (evidence.data is None or verdicts_alone):
        return contests.audit_contests(evidence)
    benchmark = load_benchmark(name, evidence.data, evidence.task_args)
    found = audit_file(evidence, benchmark, graded)
    return contests.add_contest_findings(found, evidence, benchmark) if name == contests.NAME else found


def audit_file(evidence: Evidence, benchmark: Benchmark, graded: Run | None = None) -> Audit:
    """Audit a file of completions of a loaded benchmark.

    Args:
        evidence: rows in a shape of `truegrade.analysis.audit.survey`.
        benchmark: what they answer.
        graded: a run of the same file; its verdicts under the profile need not be made again.

    Raises:
        BadRecord: a row is at fault; names file, line and field.
        UserError: there is no such file.
        UnknownName: a shot is no problem of the benchmark.
    """
    known = benchmark.by_id()
    for shot in evidence.shots:
        if shot not in known:
            raise UnknownName(f"{benchmark.name} problem", shot, known)
    # Grading takes minutes: what is asked to be read after it is looked for before.
    for each in (evidence.path, *evidence.previous):
        require_file(each)
    regraded = regrade(evidence, benchmark, graded)
    findings = [
        *check_passes(regraded),
        *check_flags(regraded),
        *check_protocol(regraded, evidence.shots, evidence.label),
        *check_samples(regraded),
    ]
    for earlier in evidence.previous:
        findings += check_rounds(regraded, regrade(msgspec.structs.replace(evidence, path=earlier), benchmark))
    surveyed = regraded.survey
    flags = [item.flag for item in surveyed.recorded]
    passed = [flag.name for flag in flags if flag.value]
    metrics = ("pass@1", "any_correct") if surveyed.width > 1 else ("pass@1",)
    return Audit(
        file=str(evidence.path),
        file_sha256=surveyed.file_sha256,
        benchmark=benchmark.name,
        dataset_sha256=benchmark.dataset_sha256,
        profile=regraded.profile.id,
        tasks=sum(bool(facts) for facts in surveyed.samples.values()),
        samples=sum(map(len, surveyed.samples.values())),
        recorded={name: passed.count(name) for name in dict.fromkeys(flag.name for flag in flags)},
        estimates=[estimate(metric, regraded.tallies()) for metric in metrics],
        findings=most_severe_first(findings),
    )


def require_file(path: Path) -> None:
    """Refuse what is no file, before anything is graded.

    Raises:
        UserError: a folder, or nothing there.
    """
    if path.is_dir():
        inside = path / "completions.jsonl"
        hint = f"did you mean {inside}?" if inside.is_file() else "name a file of completions in it"
        raise UserError(f"{path}: is a folder; {hint}")
    if not path.exists():
        raise UserError(f"{path}: no such file; check the path")
