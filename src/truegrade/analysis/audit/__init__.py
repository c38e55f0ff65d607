"""Audit of a file of completions: rows that must not count, and deviations from the protocol.

Everything is graded anew; nothing that a file says about itself is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from truegrade.analysis.audit.checks import check_flags, check_protocol, check_rounds, check_samples
from truegrade.analysis.audit.findings import CODES, Audit, Evidence, Finding, Severity, gather
from truegrade.benchmarks.base import Benchmark
from truegrade.errors import UnknownName, UserError
from truegrade.pipeline.progress import Progress
from truegrade.profiles import Profile
from truegrade.records import Estimate
from truegrade.statistics import estimate
from truegrade.store import Run

__all__ = ["CODES", "Audit", "Finding", "Severity", "audit", "require_file"]


def audit(
    path: str | Path,
    benchmark: Benchmark,
    profile: Profile,
    *,
    progress: Progress,
    previous: Sequence[str | Path] = (),
    shots: Sequence[str] = (),
    label: str | None = None,
    graded: Run | None = None,
    workers: int | None = None,
    allow_unsafe: bool = False,
) -> Audit:
    """Audit a file of completions.

    Args:
        path: rows in a shape of `truegrade.analysis.audit.survey`.
        benchmark: what they answer.
        profile: rules of the fresh grading.
        progress: watches the grading.
        previous: earlier files of the same pipeline, to look for feedback and copies.
        shots: problems whose solution the prompt showed.
        label: the model that the file is said to come from; None reads it off the file's name.
        graded: a run of the same file; its verdicts under the profile need not be made again.
        workers: programs run at once; None for one a core.
        allow_unsafe: run programs even where only resource limits protect this machine.

    Raises:
        BadRecord: a row is at fault; names file, line and field.
        UserError: there is no such file.
        UnknownName: a shot is no problem of the benchmark.
    """
    known = benchmark.by_id()
    for shot in shots:
        if shot not in known:
            raise UnknownName(f"{benchmark.name} problem", shot, known)
    # Grading takes minutes: what is asked to be read after it is looked for before.
    file, earlier_files = Path(path), [Path(each) for each in previous]
    for each in (file, *earlier_files):
        require_file(each)
    evidence = gather(
        file, benchmark, profile, graded=graded, workers=workers, progress=progress, allow_unsafe=allow_unsafe
    )
    findings = [
        *check_flags(evidence),
        *check_protocol(evidence, shots, label),
        *check_samples(evidence),
    ]
    for earlier in earlier_files:
        before = gather(earlier, benchmark, profile, workers=workers, progress=progress, allow_unsafe=allow_unsafe)
        findings += check_rounds(evidence, before)
    recorded = [item for item in evidence.survey.recorded if item.flag.value]
    return Audit(
        file=str(path),
        file_sha256=evidence.survey.file_sha256,
        benchmark=benchmark.name,
        dataset_sha256=benchmark.dataset_sha256,
        profile=profile.id,
        tasks=sum(bool(facts) for facts in evidence.survey.samples.values()),
        samples=sum(map(len, evidence.survey.samples.values())),
        recorded={
            name: sum(item.flag.name == name for item in recorded)
            for name in dict.fromkeys(item.flag.name for item in evidence.survey.recorded)
        },
        estimates=_estimates(evidence, profile),
        findings=sorted(findings, key=lambda item: list(Severity).index(item.severity)),
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


def _estimates(evidence: Evidence, profile: Profile) -> list[Estimate]:
    tallies = evidence.tallies(profile)
    metrics = ("pass@1", "any_correct") if evidence.survey.width > 1 else ("pass@1",)
    return [estimate(metric, tallies) for metric in metrics]
