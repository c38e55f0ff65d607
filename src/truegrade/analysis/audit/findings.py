"""What an audit looks at, a file and its verdicts on regrading, and what it finds: a code, a severity, rows."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

import msgspec

from truegrade.analysis.audit.survey import AuditSurvey, survey
from truegrade.benchmarks.base import Benchmark
from truegrade.pipeline.grade import grade_run
from truegrade.pipeline.importing import identity_of, tell_faults
from truegrade.pipeline.verdicts import Progress, VerdictTable, counted, verdict_table
from truegrade.profiles import AnyProfile, Profile, find_profile
from truegrade.records import UNANSWERED, Estimate, Problem, SampleKey
from truegrade.statistics import TaskTally
from truegrade.store import Manifest, Run
from truegrade.store.facts import VerdictFacts, VerdictKind
from truegrade.store.importers.reading import RowFaults
from truegrade.store.journal import Notice, ignore
from truegrade.store.manifest import now


class Severity(StrEnum):
    """How much a finding weighs."""

    ERROR = "error"
    """Rows that must not count as they do, or a protocol that measures something else."""
    WARNING = "warning"
    """A number read off this file needs the finding beside it."""
    INFO = "info"
    """Good to know; an audit with nothing else is clean."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an audit found."""

    code: str
    """Stable name, documented in `CODES`."""
    severity: Severity
    count: int
    """Rows or problems concerned."""
    rows: list[str]
    """All of them: problem ids, with ``#sample`` where a problem has several samples."""
    sentence: str
    flags: tuple[str, ...] = ()
    """Recorded flags that it is about; empty where it is about something else."""


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """The audit of one file."""

    file: str
    file_sha256: str
    benchmark: str
    dataset_sha256: str
    profile: str
    """Rules of the fresh grading."""
    tasks: int
    """Problems that the file answers."""
    samples: int
    recorded: dict[str, int]
    """Flag name -> how many rows it calls passed."""
    estimates: list[Estimate]
    """pass@1 on regrading, and the share of any correct sample where problems have several."""
    findings: list[Finding]

    @property
    def clean(self) -> bool:
        """Whether nothing weighs more than an information."""
        return all(finding.severity is Severity.INFO for finding in self.findings)


CODES: Mapping[str, str] = MappingProxyType(
    {
        "flag-pass-contradicted": "recorded as passed, fails on regrading",
        "flag-fail-contradicted": "recorded as failed, passes on regrading",
        "flag-without-program": "recorded as passed although no program is given",
        "flag-of-another-text": "the recorded verdict belongs to a text other than the completion",
        "flag-accepted-wrong": "accepted by a pipeline's own checks, fails the benchmark's tests",
        "pass-on-joined-tests": "passes because the end of the program changed the tests behind it",
        "pass-refused-by-strict": "passes under the profile, fails under strict",
        "prompt-changed": "the prompt differs from the benchmark's",
        "test-changed": "the tests differ from the benchmark's",
        "reference-changed": "the reference solution or entry point differs from the benchmark's",
        "shot-scored": "a problem whose solution the prompt shows is scored",
        "tasks-missing": "problems of the benchmark that the file does not answer",
        "metric-contradicts-results": "a stated pass@k does not follow from the file's own results",
        "question-repeated": "a question occurs more than once in the file (LiveCodeBench)",
        "flags-missing": "answers without a recorded verdict in a file that records others (LiveCodeBench)",
        "samples-uneven": "problems with fewer samples than others",
        "not-exchangeable": "the pass rate depends on the position of the sample",
        "position-repeated": "one position repeats another in every problem",
        "samples-identical": "all samples of a problem are the same text",
        "official-feedback": "almost only problems that failed the official tests changed since an earlier file",
        "file-duplicated": "identical to an earlier file",
        "completions-duplicated": "every completion equals the earlier file's",
        "model-mixed": "rows name several models",
        "model-label": "the label and the recorded model id name different models",
        "model-unrecorded": "no row names the model",
        "extraction-differs": "a program is not the text between the last two fences of its reply (LiveCodeBench)",
        "flag-contradicts-metadata": "the recorded verdict contradicts its own metadata (LiveCodeBench)",
        "thread-not-joined": "failed because the harness did not wait for the output of a thread (LiveCodeBench)",
        "output-lost": "failed with empty output, correct when run in a separate process (LiveCodeBench)",
        "version-regression": "passes under the LiveCodeBench grader of January 2025, fails under later versions",
        "samples-unknown": "problems whose public samples are not known (LiveCodeBench)",
        "truncated": "cut at the token limit, or the text ends inside an unfinished statement",
    }
)
"""Every code and what it means."""


def finding(code: str, severity: Severity, rows: list[str], sentence: str, flags: tuple[str, ...] = ()) -> Finding:
    """A finding about ``rows``; its code must be one of `CODES`."""
    if code not in CODES:
        raise KeyError(code)
    return Finding(code=code, severity=severity, count=len(rows), rows=rows, sentence=sentence, flags=flags)


def most_severe_first(findings: Iterable[Finding]) -> list[Finding]:
    """Errors, then warnings, then information; each in the order in which they were found."""
    return sorted(findings, key=lambda item: list(Severity).index(item.severity))


# ------------------------------------- The input of the checks: a surveyed file and its verdicts on regrading.


class RegradedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file and what grading it anew gave."""

    survey: AuditSurvey
    outcomes: VerdictTable
    problems: Mapping[str, Problem]
    """All problems of the benchmark, by id."""
    profile: Profile
    strict: VerdictTable = {}
    """The verdicts of `strict` on the same samples, where the profile is another one and they are known."""

    def outcome(self, problem_id: str, sample: int | None) -> VerdictKind | None:
        """The fresh verdict on a sample."""
        row = self.outcomes.get(problem_id, ())
        return row[sample] if sample is not None and sample < len(row) else None

    def passes_all(self, problem_id: str) -> bool:
        """Whether every sample of a problem passes."""
        row = counted(self.outcomes.get(problem_id, ()))
        return bool(row) and all(outcome.passed for outcome in row)

    def tallies(self) -> list[TaskTally]:
        """Counts of each problem that the file answers, as the profile counts them."""
        return [
            _tally(self.profile, self.problems[name], counted(self.outcomes.get(name, ())))
            for name in self.problems
            if name in self.survey.samples
        ]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """A file of completions, or a run, that a claim or an audit is about, and how it is graded.

    `truegrade.api.check` documents the fields.
    """

    path: Path
    benchmark: str | None = None
    profile: AnyProfile = "strict"
    data: Path | None = None
    task_args: Mapping[str, str] = {}
    file_format: str | None = None
    previous: Sequence[Path] = ()
    shots: Sequence[str] = ()
    label: str | None = None
    workers: int | None = None
    allow_unsafe: bool = False
    progress: Progress
    notice: Notice = ignore


def regrade(evidence: Evidence, benchmark: Benchmark, graded: Run | None = None) -> RegradedFile:
    """Survey a file and grade all of it anew, in a run that is removed afterwards.

    What ``graded``, a run of the same file, has a verdict on is not graded once more.

    Raises:
        BadRecord: no row can be used.
        SandboxError: this machine cannot run programs.
    """
    problems, profile = benchmark.by_id(), find_profile(evidence.profile)
    with tempfile.TemporaryDirectory(prefix="truegrade-audit-") as folder:
        run = Run.create_or_resume(Path(folder), _manifest(evidence.path, benchmark))
        faults = RowFaults(refusing=False)
        with run.append_completions() as journal:
            surveyed = survey(evidence.path, benchmark, journal.append, faults)
        if graded is None:  # who graded the file has told of its rows
            tell_faults(faults, evidence.notice)
        if graded is not None:
            _take_over(graded, run, profile)
        grade_run(
            run,
            problems,
            profile,
            workers=evidence.workers or os.cpu_count() or 1,
            progress=evidence.progress,
            allow_unsafe=evidence.allow_unsafe,
        )
        width = 1 + max((max(facts, default=0) for facts in surveyed.samples.values()), default=0)
        outcomes = verdict_table(run.verdict_facts(profile.id), problems, width)
        strict = _strict_verdicts(graded, run) if graded is not None and profile.name != "strict" else ()
        by_strict = verdict_table(strict, problems, width)
    return RegradedFile(survey=surveyed, outcomes=outcomes, problems=problems, profile=profile, strict=by_strict)


def _take_over(graded: Run, run: Run, profile: Profile) -> None:
    """Copy the verdicts on completions that both runs hold."""
    same = _in_both(graded, run)
    with run.append_verdicts(profile.id) as journal:
        for verdict in graded.verdicts(profile.id):
            if (verdict.key, verdict.completion_sha256) in same:
                journal.append(verdict)


def _strict_verdicts(graded: Run, run: Run) -> list[VerdictFacts]:
    """What a run has of `strict` on completions that both runs hold."""
    strict = find_profile("strict").id
    if strict not in graded.profiles:
        return []
    same = _in_both(graded, run)
    return [one for one in graded.verdict_facts(strict) if (one.key, one.completion_sha256) in same]


def _in_both(graded: Run, run: Run) -> set[tuple[SampleKey, str | None]]:
    """Completions of both runs, by key and hash: the same text read in the same way."""
    known = {(c.key, c.sha256, c.form, c.finish_reason) for c in graded.completion_facts()}
    own = ((c.key, c.sha256, c.form, c.finish_reason) for c in run.completion_facts())
    return {fact[:2] for fact in own if fact in known}


def _manifest(path: Path, benchmark: Benchmark) -> Manifest:
    return Manifest(
        created=now(),
        benchmark=identity_of(benchmark),
        imported_from=path.name,
        samples_per_task=1,
    )


def _tally(profile: Profile, problem: Problem, outcomes: list[VerdictKind]) -> TaskTally:
    n, c = profile.tally([(outcome.passed, outcome.marks) for outcome in outcomes])
    unanswered = min(n, sum(outcome.reason in UNANSWERED for outcome in outcomes))
    return TaskTally(task_id=problem.id, cluster=problem.cluster, n=n, c=c, unanswered=unanswered)
