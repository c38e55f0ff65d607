"""Audit of a file of contest answers, with the data set or without it.

Without it, as result files are published, the samples that statements show are all the tests there are: they can
prove a recorded pass wrong and tell a wrong program from one whose output was not captured, and no more.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import msgspec

from truegrade.analysis.audit.audited_submissions import Submitted, public_only, read_submissions
from truegrade.analysis.audit.check_contests import check_reruns, check_rows, check_submissions
from truegrade.analysis.audit.check_evaluation import audit_evaluation
from truegrade.analysis.audit.contest_runs import SAMPLE_CPU_S, rerun
from truegrade.analysis.audit.findings import Audit, Finding, Severity, finding
from truegrade.benchmarks.base import Benchmark
from truegrade.pipeline.importing import questions_of
from truegrade.pipeline.progress import Progress
from truegrade.profiles.contest_profile import CONTEST_LIMITS
from truegrade.records import Problem
from truegrade.sandbox import Sandbox
from truegrade.store.importers.livecodebench import is_evaluation
from truegrade.store.importers.reading import SourceFile

__all__ = ["NAME", "audit_contests", "is_evaluation", "with_contest_findings"]

NAME = "livecodebench"


def audit_contests(
    path: Path,
    *,
    progress: Progress,
    benchmark: Benchmark | None = None,
    workers: int | None = None,
    allow_unsafe: bool = False,
) -> Audit:
    """Look at answers to LiveCodeBench: how they were cut, what is recorded of them, what public samples say.

    Args:
        path: an ``_eval_all.json``, a published submission, lm-eval's samples or EvalScope's reviews; of an
            ``_eval.json`` the numbers are checked.
        progress: watches the runs.
        benchmark: the data set, for its own public tests; None for those that the file's statements show.
        workers: programs run at once; None for one a core.
        allow_unsafe: run programs even where only resource limits protect this machine.

    Raises:
        BadRecord: the file or a row of it is at fault.
        SandboxError: this machine cannot run programs.
    """
    with SourceFile(path) as source:
        if is_evaluation(source):
            return audit_evaluation(source, NAME)
        submissions = read_submissions(source, {} if benchmark is None else questions_of(benchmark))
        digest = source.sha256()
    submitted = submissions.items
    problems = submissions.problems if benchmark is None else public_only(benchmark.by_id())
    several = workers or os.cpu_count() or 1
    limits = replace(CONTEST_LIMITS, cpu_s=SAMPLE_CPU_S)
    with Sandbox(limits, several, allow_unsafe=allow_unsafe) as sandbox:
        reruns = rerun(submitted, problems, sandbox, workers=several, progress=progress)
    findings = [
        *check_rows(submissions),
        *check_submissions(submitted),
        *check_reruns(reruns),
        *_untested(submitted, problems),
    ]
    return Audit(
        file=str(path),
        file_sha256=digest,
        benchmark=NAME,
        dataset_sha256="" if benchmark is None else benchmark.dataset_sha256,
        profile="public samples, each in a process of its own",
        tasks=len({item.problem_id for item in submitted}),
        samples=len(submitted),
        recorded={"graded_list": sum(item.graded is True for item in submitted)},
        estimates=[],
        findings=sorted(findings, key=lambda item: list(Severity).index(item.severity)),
    )


def with_contest_findings(audit: Audit, contests: Audit) -> Audit:
    """An audit of graded answers with what their public samples tell."""
    graded = {item.code for item in audit.findings}
    more = [item for item in contests.findings if item.code not in graded]
    findings = sorted([*audit.findings, *more], key=lambda item: list(Severity).index(item.severity))
    return msgspec.structs.replace(audit, findings=findings)


def _untested(submitted: list[Submitted], problems: dict[str, Problem]) -> list[Finding]:
    rows = list(dict.fromkeys(item.problem_id for item in submitted if item.problem_id not in problems))
    if not rows:
        return []
    sentence = (
        f"{len(rows)} problems are functional, or no public sample of theirs is known; they were not run again"
    )
    return [finding("samples-unknown", Severity.INFO, rows, sentence)]
