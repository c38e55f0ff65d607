"""One answer about a claim and a file: the file graded, the claim held against it, the file audited.

Nothing is graded or judged here: that is done by `truegrade.api.grade`, `truegrade.analysis.replication` and
`truegrade.analysis.audit`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from truegrade.analysis.audit import Audit, contests, require_file
from truegrade.analysis.audit import audit as examine
from truegrade.analysis.replication import AUDIT, Outcome, Replication, replicate
from truegrade.analysis.replication_question import refuse_unknown
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UserError
from truegrade.files.json_text import encode
from truegrade.pipeline.importing import benchmark_of
from truegrade.pipeline.progress import Progress
from truegrade.profiles import find_profile
from truegrade.statistics.replication import Claim, fit, parse_claim
from truegrade.store import Run
from truegrade.store.journal import Notice, ignore


class Answer(StrEnum):
    """What became of a claim about a file."""

    CONFIRMED = "confirmed"
    """The number is reproduced, and no finding of the audit is an error."""
    NOT_CONFIRMED = "not confirmed"
    """The number is not reproduced."""
    SHOULD_NOT_COUNT = "number reproduced, but it should not count"
    """The number is reproduced, and the audit found rows or a protocol that must not count as they do."""
    CANNOT_BE_CHECKED = "cannot be checked"
    """Claim and file do not measure the same thing."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A claim about a file, checked."""

    answer: Answer
    why: list[str]
    """Sentences about the number; what should not count stands in the audit."""
    replication: Replication
    audit: Audit


_GRADING = ("benchmark", "data", "task_args", "workers", "allow_unsafe", "progress")
"""What grading takes of the arguments of `audit_file`."""


def check(
    claim: str,
    path: Path,
    *,
    grade: Callable[..., Run],
    report: Callable[[Run], object],
    profile: str = "strict",
    metric: str = "pass@1",
    tasks: int | None = None,
    samples: int | None = None,
    tolerance_points: float = 0.0,
    out: Path | None = None,
    notice: Notice = ignore,
    **auditing: Any,
) -> Check:
    """Grade a file, hold a claim against it and audit it; the run keeps the audit, and its report shows it.

    Args:
        claim: in percent as printed; its digits count.
        path: a file that `truegrade.api.grade` and `truegrade.analysis.audit.audit` read.
        grade: makes a graded run of a file: `truegrade.api.grade`.
        report: writes the page of a run: `truegrade.api.report`.
        profile: the rules that grade, by name.
        metric, tasks, samples, tolerance_points: as for `truegrade.analysis.replication.replicate`.
        out: folder of the run that the file becomes; None for one in ``runs``.
        notice: told what a person should know.
        auditing: everything else that `audit_file` takes; what grading needs of it goes there too.

    Raises:
        UserError: a name, number or file is at fault.
        SandboxError: this machine cannot run programs.
    """
    claimed = parse_claim(claim)
    refuse_unknown(metric)
    if path.is_dir():
        raise UserError(f"{path}: is a folder; hold a run to a claim: truegrade replicate {path} --claim {claim}")
    for file in (path, *auditing.get("previous", ())):
        require_file(file)
    grading = {name: auditing[name] for name in _GRADING if name in auditing}
    run = grade(path, profiles=(profile,), out=out, notice=notice, **grading)
    audit = audit_file(path, profile=profile, graded=run, **auditing)
    run.write(AUDIT, encode(audit, indent=2) + b"\n")
    report(run)
    found = replicate(
        run,
        claim,
        metric=metric,
        tasks=tasks,
        samples=samples,
        profile=profile,
        tolerance_points=tolerance_points,
    )
    return Check(
        answer=_answer(found),
        why=[*found.result.why, *own_flags(claimed, audit)],
        replication=found,
        audit=audit,
    )


def audit_file(
    path: Path,
    *,
    benchmark: str | None = None,
    profile: str = "strict",
    previous: Sequence[Path] = (),
    shots: Sequence[str] = (),
    label: str | None = None,
    data: Path | None = None,
    task_args: Mapping[str, str] | None = None,
    graded: Run | None = None,
    workers: int | None = None,
    allow_unsafe: bool = False,
    progress: Progress,
) -> Audit:
    """Audit a file of a benchmark given by name; contest answers by what they are, with their data set or without.

    Args:
        graded: a run of this file whose verdicts need not be made again.
        path, profile, previous, shots, label, workers, allow_unsafe, progress: as for `truegrade.analysis.audit`.
        benchmark: what the file answers; None where the file says.
        data: local data file or folder.
        task_args: ``-T`` arguments of the benchmark.

    Raises:
        UserError: a name or file is at fault.
        SandboxError: this machine cannot run programs.
    """
    name = benchmark_of(path, benchmark, None)
    if name == contests.NAME and (data is None or contests.is_evaluation(path)):
        return contests.audit_contests(path, progress=progress, workers=workers, allow_unsafe=allow_unsafe)
    loaded = load_benchmark(name, data, task_args or {})
    found = examine(
        path,
        loaded,
        find_profile(profile),
        progress=progress,
        previous=previous,
        shots=shots,
        label=label,
        graded=graded,
        workers=workers,
        allow_unsafe=allow_unsafe,
    )
    if name != contests.NAME:
        return found
    samples = contests.audit_contests(
        path, benchmark=loaded, progress=progress, workers=workers, allow_unsafe=allow_unsafe
    )
    return contests.with_contest_findings(found, samples)


def own_flags(claim: Claim, audit: Audit) -> list[str]:
    """That a claim is what the file says of itself, with what speaks against that; nothing if it is not."""
    equal: dict[tuple[int, int], list[str]] = {}
    for name, count in audit.recorded.items():
        for total in dict.fromkeys((audit.tasks, audit.samples)):
            if count and count in fit(claim, total):
                equal.setdefault((count, total), []).append(name)
    return [_equals(count, total, names, audit) for (count, total), names in equal.items()]


_AGAINST = {
    "flag-without-program": "{} of these without a program",
    "flag-pass-contradicted": "{} in all fail when graded afresh",
    "flag-accepted-wrong": "{} of these fail when graded afresh",
    "flag-of-another-text": "{} of all verdicts made on another program",
}
"""Code of a finding about flags -> what it takes from a number that is read off them."""


def _equals(count: int, total: int, names: Sequence[str], audit: Audit) -> str:
    against = [
        _AGAINST[item.code].format(item.count)
        for item in audit.findings
        if item.code in _AGAINST and not set(item.flags).isdisjoint(names)
    ]
    said = f"the claim equals the flags of the file: {count} of {total} by {', '.join(names)}"
    return f"{said}; {', '.join(against)}" if against else said


def _answer(found: Replication) -> Answer:
    if found.result.outcome is Outcome.NOT_COMPARABLE:
        return Answer.CANNOT_BE_CHECKED
    if found.result.outcome is Outcome.NOT_REPRODUCED:
        return Answer.NOT_CONFIRMED
    return Answer.CONFIRMED if found.holds else Answer.SHOULD_NOT_COUNT
