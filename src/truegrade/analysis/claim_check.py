"""`truegrade check`: grades a file, compares a claim with it and audits it.

Nothing is graded or judged here: that is done by `truegrade.api.grade`, `truegrade.analysis.replication` and
`truegrade.analysis.audit`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from truegrade.analysis.audit import Audit, require_file
from truegrade.analysis.audit import audit as examine
from truegrade.analysis.audit import contest_audit as contests
from truegrade.analysis.replication import AUDIT, Replication, replicate
from truegrade.analysis.replication_question import Agreement, own_count, refuse_wrong_numbers
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UserError
from truegrade.files.json_text import encode
from truegrade.pipeline.importing import benchmark_of, opened
from truegrade.pipeline.loading import apart, completion_file
from truegrade.pipeline.progress import Progress
from truegrade.profiles import Profile, find_profile
from truegrade.statistics.claims import Claim, parse_claim
from truegrade.statistics.windows import described
from truegrade.store import Run
from truegrade.store.importers import find_format
from truegrade.store.journal import Notice, ignore
from truegrade.store.packing import is_pack


class CheckAnswer(StrEnum):
    """What became of a claim about a file."""

    CONFIRMED = "confirmed"
    """The file's own number prints as the claim, rounded or truncated, and no finding of the audit is an error."""
    DIFFERS = "differs from this file"
    """The file's own number does not print as the claim."""
    SHOULD_NOT_COUNT = "number confirmed, but it should not count"
    """The file's own number prints as the claim, and the audit found rows or a protocol that must not count."""
    CANNOT_BE_CHECKED = "cannot be checked"
    """Claim and file do not measure the same thing."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A claim about a file, checked."""

    answer: CheckAnswer
    why: list[str]
    """Sentences about the number; what should not count stands in the audit."""
    replication: Replication
    audit: Audit

    @property
    def headline(self) -> str:
        """The answer, and how far claim and file are apart: ``differs from this file by 8 of 164 draws``."""
        own = self.replication.result.own
        if self.answer is CheckAnswer.CONFIRMED and own is not None and own.agreement is Agreement.TRUNCATED:
            return f"{self.answer.value}, {own.agreement.value}"
        if self.answer is not CheckAnswer.DIFFERS or own is None:
            return self.answer.value
        return (
            f"{self.answer.value} by {own.apart}"
            if own.apart
            else f"{self.answer.value}, as does every count out of {own.total}"
        )


def check(
    claim: str,
    path: Path,
    *,
    grade: Callable[..., Run],
    report: Callable[[Run], object],
    benchmark: str | None,
    profile: str,
    metric: str,
    tasks: int | None,
    samples: int | None,
    tolerance_points: float,
    data: Path | None,
    task_args: Mapping[str, str] | None,
    file_format: str | None,
    previous: Sequence[Path],
    shots: Sequence[str],
    label: str | None,
    out: Path | None,
    workers: int | None,
    allow_unsafe: bool,
    progress: Progress,
    notice: Notice,
) -> Check:
    """Grade a file, hold a claim against it and audit it; the run keeps the audit, and its report shows it.

    Args:
        grade: makes a graded run of a file: `truegrade.api.grade`.
        report: writes the page of a run: `truegrade.api.report`.
        claim, path, benchmark, profile, metric, tasks, samples, tolerance_points, data, task_args, file_format,
            previous, shots, label, out, workers, allow_unsafe, progress, notice: as for
            `truegrade.api.check`, which has the defaults.

    Raises:
        UserError: a name, number or file is at fault.
        SandboxError: this machine cannot run programs.
    """
    claimed = parse_claim(claim)
    refuse_wrong_numbers(metric, tasks, samples, tolerance_points)
    for earlier in previous:
        require_file(earlier)
    with completion_file(path, notice) as file:
        name = _named(file, file_format, benchmark, claim)
        window, args = apart(name, task_args or {})
        if window:
            notice(f"the claim is held against {described(window)} alone; the audit looks at the whole file")
        run = grade(
            file, benchmark=name, profiles=(profile,), data=data, task_args=task_args, file_format=file_format,
            out=out, workers=workers, allow_unsafe=allow_unsafe, progress=progress, notice=notice,
        )  # fmt: skip
        audit = audit_file(
            file, benchmark=name, profile=profile, previous=previous, shots=shots, label=label, data=data,
            task_args=args, graded=run, workers=workers, allow_unsafe=allow_unsafe, progress=progress,
        )  # fmt: skip
    audit = msgspec.structs.replace(audit, file=str(path))
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
        answer=answer_of(found),
        why=[*_why(found), *own_flags(claimed, audit)],
        replication=found,
        audit=audit,
    )


def _named(path: Path, file_format: str | None, benchmark: str | None, claim: str) -> str:
    """The benchmark that a file answers; refuses what cannot be audited as a file."""
    if is_pack(path) or (path / "manifest.json").is_file():
        raise UserError(
            f"{path}: is no file of completions; to compare a run with a claim use: truegrade replicate {path}"
            f" --claim {claim}"
        )
    with opened(path) as source:
        importer = find_format(source, file_format)
        if importer.positional:
            raise UserError(
                f"{path}: its rows name no problems, so it cannot be audited; without an audit: truegrade grade"
                f" {path} --benchmark NAME, then truegrade replicate RUN --claim {claim}"
            )
        return benchmark or benchmark_of(source, importer)


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
    notice: Notice = ignore,
) -> Audit:
    """Audit a file of a benchmark given by name; contest answers by what they are, with their data set or without.

    A run's folder stands for its completions, with its benchmark and the verdicts that it has; a folder or zip of
    one file of completions for that file.

    Args:
        graded: a run of this file whose verdicts need not be made again.
        path, profile, previous, shots, label, workers, allow_unsafe, progress: as for `truegrade.analysis.audit`.
        notice: told which files of a folder or zip are passed over.
        benchmark: what the file answers; None where the file says.
        data: local data file or folder.
        task_args: arguments of the benchmark, by name.

    Raises:
        UserError: a name or file is at fault.
        SandboxError: this machine cannot run programs.
    """
    rules = find_profile(profile)
    with completion_file(path, notice) as file:
        rows, named = file, path
        if is_pack(file) or (file / "manifest.json").is_file():
            run = Run.open(file)
            made, rows = run.manifest.benchmark, run.completions_path
            named, benchmark, task_args = rows, benchmark or made.name, {**made.args, **(task_args or {})}
            data = data or (Path(made.source) if Path(made.source).is_file() else None)
            graded = run if rules.id in run.profiles else None
        found = _audited(
            rows, rules, benchmark=benchmark, previous=previous, shots=shots, label=label, data=data,
            task_args=task_args or {}, graded=graded, workers=workers, allow_unsafe=allow_unsafe,
            progress=progress,
        )  # fmt: skip
    return msgspec.structs.replace(found, file=str(named))


def _audited(
    path: Path,
    rules: Profile,
    *,
    benchmark: str | None,
    previous: Sequence[Path],
    shots: Sequence[str],
    label: str | None,
    data: Path | None,
    task_args: Mapping[str, str],
    graded: Run | None,
    workers: int | None,
    allow_unsafe: bool,
    progress: Progress,
) -> Audit:
    name, evaluation = _what_it_is(path, benchmark)
    if name == contests.NAME and (data is None or evaluation):
        return contests.audit_contests(path, progress=progress, workers=workers, allow_unsafe=allow_unsafe)
    loaded = load_benchmark(name, data, task_args)
    found = examine(
        path, loaded, rules, progress=progress, previous=previous, shots=shots, label=label, graded=graded,
        workers=workers, allow_unsafe=allow_unsafe,
    )  # fmt: skip
    if name != contests.NAME:
        return found
    samples = contests.audit_contests(
        path, benchmark=loaded, progress=progress, workers=workers, allow_unsafe=allow_unsafe
    )
    return contests.with_contest_findings(found, samples)


def _what_it_is(path: Path, benchmark: str | None) -> tuple[str, bool]:
    """The benchmark that a file answers, and whether it holds verdicts of LiveCodeBench and no answer."""
    if benchmark not in (None, contests.NAME):
        return benchmark, False
    with opened(path) as source:
        name = benchmark or benchmark_of(source, find_format(source, None))
        return name, name == contests.NAME and contests.is_evaluation(source)


def own_flags(claim: Claim, audit: Audit) -> list[str]:
    """That a claim is what the file says of itself, with what speaks against that; nothing if it is not."""
    equal: dict[tuple[int, int, Agreement], list[str]] = {}
    for name, count in audit.recorded.items():
        for total, unit in {audit.samples: "draws", audit.tasks: "problems"}.items():
            own = own_count(claim, count, total, unit) if 0 < count <= total else None
            if own is not None and own.agrees:
                equal.setdefault((count, total, own.agreement), []).append(name)
    return [_equals(count, total, agreement, names, audit) for (count, total, agreement), names in equal.items()]


_AGAINST = {
    "flag-without-program": "{} of these have no program",
    "flag-pass-contradicted": "{} in all fail on regrading",
    "flag-accepted-wrong": "{} of these fail on regrading",
    "flag-of-another-text": "{} of all verdicts belong to another program",
}
"""Code of a finding about flags -> what it takes from a number that is read off them."""


def _equals(count: int, total: int, agreement: Agreement, names: Sequence[str], audit: Audit) -> str:
    against = [
        _AGAINST[item.code].format(item.count)
        for item in audit.findings
        if item.code in _AGAINST and not set(item.flags).isdisjoint(names)
    ]
    truncated = f", {agreement.value}" if agreement is Agreement.TRUNCATED else ""
    said = f"the claim equals the flags of the file: {count} of {total} by {', '.join(names)}{truncated}"
    return f"{said}; {', '.join(against)}" if against else said


def _obstacles(found: Replication) -> list[str]:
    """Why claim and file do not measure the same thing.

    An independent draw may have had any number of samples per problem; the file itself has those that it has.
    """
    width, claimed = found.samples, found.claimed_samples
    if found.result.obstacles or claimed in (None, width):
        return found.result.obstacles
    return [f"the claim is about {claimed} samples per problem, this file holds {width}"]


def _why(found: Replication) -> list[str]:
    """The file's own number; where it is not the claim, also what stands in the way or another draw could give."""
    own = found.result.own
    measured = [own.sentence] if own is not None else []
    if not (obstacles := _obstacles(found)) and own is not None and own.agrees:
        return measured
    return list(dict.fromkeys([*obstacles, *measured, *found.result.why]))


def answer_of(found: Replication) -> CheckAnswer:
    """What a claim held against a run of the file itself comes to."""
    own = found.result.own
    if own is None or _obstacles(found):
        return CheckAnswer.CANNOT_BE_CHECKED
    if not own.agrees:
        return CheckAnswer.DIFFERS
    return CheckAnswer.SHOULD_NOT_COUNT if found.condemned else CheckAnswer.CONFIRMED
