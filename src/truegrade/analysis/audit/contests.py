"""Audit of a file of contest answers, with the data set or without it."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import isclose

import msgspec

from truegrade.analysis.audit.findings import Audit, Evidence, Finding, Severity, finding, most_severe_first
from truegrade.analysis.audit.rows_beside_benchmark import Submissions, Submitted, public_only, read_submissions
from truegrade.benchmarks.base import Benchmark
from truegrade.extraction.contest_programs import first_pair, last_pair
from truegrade.extraction.parsing import Fault, Parser
from truegrade.grading.contests.output_comparison import same_output
from truegrade.grading.contests.tests import decode
from truegrade.grading.executor import Executor
from truegrade.pipeline.importing import questions_of, tell_faults
from truegrade.pipeline.verdicts import Progress
from truegrade.profiles import open_profile
from truegrade.profiles.contest_profile import CONTEST_LIMITS
from truegrade.records import Answer, ContestTask, Problem, Reason
from truegrade.sandbox import Sandbox
from truegrade.statistics.tally import OFFICIAL, Scale, published_metrics
from truegrade.store.importers.livecodebench import Evaluation, is_evaluation, read_evaluation
from truegrade.store.importers.reading import RowFaults, SourceFile

# -------------------------- Consistency of an ``_eval.json``: whether its metrics follow from its own results.


_TOLERANCE = 1e-9
PERCENT = Scale(percent=True)


def audit_evaluation(source: SourceFile, benchmark: str) -> Audit:
    """Recompute the metrics of an ``_eval.json``; it holds no program, so nothing runs.

    Raises:
        BadRecord: not such a file.
    """
    said = read_evaluation(source)
    passed = said.passed
    return Audit(
        file=str(source.path),
        file_sha256=source.sha256(),
        benchmark=benchmark,
        dataset_sha256="",
        profile="its own results (no program was run)",
        tasks=len(passed),
        samples=sum(map(len, passed.values())),
        recorded={"results": sum(map(sum, passed.values()))},
        estimates=[],
        findings=list(check_evaluation(said)),
    )


def check_evaluation(said: Evaluation) -> Iterator[Finding]:
    """Every pass@k and every problem's part of it, in the scale that the file itself uses."""
    scale = _scale(said)
    metrics = published_metrics(said.passed, scale)
    wrong = [
        f"{name} {value!r}, not {metrics[name]!r}" if name in metrics else f"{name}, which needs more samples"
        for name, value in said.metrics.items()
        if name not in metrics or not isclose(value, metrics[name], rel_tol=_TOLERANCE)
    ]
    if wrong:
        yield finding("metric-contradicts-results", Severity.ERROR, [], f"the file states {'; '.join(wrong)}")
    parts = [
        f"{name}[{place}]"
        for name, values in said.detail.items()
        for place, value in values.items()
        if not isclose(value, metrics["detail"].get(name, {}).get(place, -1.0), rel_tol=_TOLERANCE)
    ]
    if parts:
        sentence = f"{len(parts)} per-problem values contradict the results"
        yield finding("metric-contradicts-results", Severity.ERROR, parts, sentence)
    lengths = {len(rows) for rows in said.results.values()}
    if len(lengths) > 1:
        fewest, most = min(lengths), max(lengths)
        rows = [place for place, samples in said.results.items() if len(samples) < most]
        yield finding("samples-uneven", Severity.WARNING, rows, f"problems have {fewest} to {most} samples")


def _scale(said: Evaluation) -> Scale:
    """Percent where any stated number is greater than 1."""
    numbers = [*said.metrics.values(), *(value for part in said.detail.values() for value in part.values())]
    return PERCENT if any(value > 1 for value in numbers) else OFFICIAL


# ---------- Contest answers run again on public samples: in a separate process and under two official graders.


OLDER, NEWER = "livecodebench-2025-01", "livecodebench"
"""Profiles of the two official versions: before and after the change of standard input (16de2a1, 2025-05-23)."""

SAMPLE_CPU_S = 10.0
"""CPU seconds of one sample in a process of its own."""


class Rerun(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an answer."""

    submitted: Submitted
    plain: bool
    """Right on every public sample in a process of its own."""
    clocked: bool
    """A limit of time, or of memory, decided."""
    older: bool
    newer: bool


def rerun(
    submitted: Iterable[Submitted],
    problems: Mapping[str, Problem],
    executor: Executor,
    *,
    workers: int,
    progress: Progress,
) -> list[Rerun]:
    """Run every answer to a problem that has public samples.

    Args:
        submitted: the answers.
        problems: by id, with public tests alone.
        executor: runs the programs.
        workers: threads that wait for them.
        progress: watches.
    """
    wanted = [item for item in submitted if item.problem_id in problems]
    progress.start("run public samples", total=len(wanted), done=0)
    found = []
    try:
        with ThreadPoolExecutor(max(1, workers), thread_name_prefix="audit") as pool:
            for result in pool.map(lambda item: _rerun(item, problems[item.problem_id], executor), wanted):
                found.append(result)
                progress.advance()
    finally:
        progress.finish()
    return found


def _rerun(item: Submitted, problem: Problem, executor: Executor) -> Rerun:
    task = problem.task
    assert isinstance(task, ContestTask)  # `problems_of` and `public_only` make no others
    plain, clocked = _in_a_process(item.code, task, executor)
    answer = Answer(value=item.code, found="as submitted")
    older, newer = (open_profile(name).judgement(problem, answer, executor) for name in (OLDER, NEWER))
    limits = {Reason.TIME_LIMIT, Reason.MEMORY_LIMIT}
    return Rerun(
        submitted=item,
        plain=plain,
        clocked=clocked or older.reason in limits or newer.reason in limits,
        older=older.passed,
        newer=newer.passed,
    )


def _in_a_process(code: str, task: ContestTask, executor: Executor) -> tuple[bool, bool]:
    """Whether every sample is right, and whether a limit decided. The exit code does not count, as upstream."""
    tests = decode(task)
    for given, expected in zip(tests.inputs, tests.outputs, strict=True):
        outcome = executor.script(code, given, cpu_s=SAMPLE_CPU_S)
        if not same_output(outcome.stdout, expected):
            return False, outcome.status in {Reason.TIME_LIMIT, Reason.MEMORY_LIMIT}
    return bool(tests.inputs), False


# ---------------- Checks of contest answers: extraction, recorded verdicts, and failures caused by the grader.


def check_rows(submissions: Submissions) -> Iterator[Finding]:
    """What the file says of whole questions."""
    if submissions.repeated:
        told = (
            f"{len(submissions.repeated)} questions occur more than once in the file, and each occurrence is"
            " counted"
        )
        yield finding("question-repeated", Severity.ERROR, submissions.repeated, told)
    if submissions.contrary:
        told = f"the stored pass@1 of {len(submissions.contrary)} questions differs from the share of true flags"
        yield finding("metric-contradicts-results", Severity.ERROR, submissions.contrary, told)
    judged = [item for item in submissions.items if item.graded is not None]
    without = [item for item in submissions.items if item.graded is None]
    if judged and without:
        told = (
            f"{len(without)} of {len(submissions.items)} answers have no verdict: graded_list is short or missing"
        )
        yield finding("flags-missing", Severity.WARNING, _names(without), told)


def check_submissions(submitted: Sequence[Submitted]) -> Iterator[Finding]:
    """What the file alone tells: extraction against programs, verdicts against metadata."""
    kept = [item for item in submitted if item.reply is not None]
    differing = [item for item in kept if last_pair(item.reply or "") != item.code]
    if differing:
        first = sum(first_pair(item.reply or "") == item.code for item in differing)
        yield finding(
            "extraction-differs",
            Severity.WARNING,
            _names(differing),
            f"{len(differing)} of {len(kept)} programs differ from the text between the last two fences of"
            f" their reply; {first} of them equal the text between the first two",
        )
    judged = [item for item in submitted if item.graded is not None and item.metadata is not None]
    contrary = [item for item in judged if item.graded == ("error_code" in (item.metadata or {}))]
    if contrary:
        yield finding(
            "flag-contradicts-metadata",
            Severity.ERROR,
            _names(contrary),
            f"{len(contrary)} of {len(judged)} verdicts contradict their own metadata: passed with an"
            " error_code, or failed without one",
        )


def check_reruns(reruns: Sequence[Rerun]) -> Iterator[Finding]:
    """What running the public samples tells of answers on stdin; what a limit decided is left out."""
    decided = [run for run in reruns if not run.clocked]
    yield from _contradicted(decided)
    yield from _lost(decided)
    regressed = [run.submitted for run in decided if run.older and not run.newer]
    if regressed:
        yield finding(
            "version-regression",
            Severity.WARNING,
            _names(regressed),
            f"{len(regressed)} of {len(reruns)} answers pass their public samples as LiveCodeBench graded in"
            " January 2025 and fail them as it grades since its standard input changed (16de2a1)",
        )


def _contradicted(reruns: Sequence[Rerun]) -> Iterator[Finding]:
    passed = [run for run in reruns if run.submitted.graded]
    wrong = [run.submitted for run in passed if not run.plain]
    if wrong:
        yield finding(
            "flag-pass-contradicted",
            Severity.WARNING,
            _names(wrong),
            f"{len(wrong)} of {len(passed)} answers that are recorded as passed fail a public sample in a separate"
            " process; check the sample first: without a data set it is parsed from the problem statement",
        )


def _lost(reruns: Sequence[Rerun]) -> Iterator[Finding]:
    """Recorded as wrong, right in a process: the harness did not see what the program printed."""
    failed = [run.submitted for run in reruns if run.submitted.graded is False]
    right = [run.submitted for run in reruns if run.submitted.graded is False and run.plain]
    threads = [item for item in right if leaves_thread(item.code)]
    if threads:
        yield finding(
            "thread-not-joined",
            Severity.WARNING,
            _names(threads),
            f"{len(threads)} of {len(failed)} failed answers start a thread without joining it and pass every"
            " public sample in a separate process: the harness stopped reading before the thread had printed",
        )
    empty = [item for item in right if item.output == "" and item not in threads]
    if empty:
        yield finding(
            "output-lost",
            Severity.WARNING,
            _names(empty),
            f"{len(empty)} of {len(failed)} failed answers are recorded with empty output and pass every public"
            " sample in a separate process",
        )


def leaves_thread(code: str) -> bool:
    """Whether a program starts a thread and joins none."""
    tree = Parser().module(code)
    if isinstance(tree, Fault) or "Thread" not in code:
        return False
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    started = any(_method(call) == "start" and not call.args for call in calls)
    # A join with an argument and no keyword is a string's.
    return started and not any(_method(call) == "join" and not call.args for call in calls)


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _names(items: Sequence[Submitted]) -> list[str]:
    return [item.name for item in items]


# ---------------------------------------- Audit of a file of contest answers, with the data set or without it.
# Without it, as result files are published, the samples that statements show are all the tests there are: they
# can prove a recorded pass wrong and tell a wrong program from one whose output was not captured, and no more.

NAME = "livecodebench"


def audit_contests(evidence: Evidence, benchmark: Benchmark | None = None) -> Audit:
    """Look at answers to LiveCodeBench: how they were cut, what is recorded of them, what public samples say.

    Args:
        evidence: an ``_eval_all.json``, a published submission, lm-eval's samples or EvalScope's reviews; of an
            ``_eval.json`` the numbers are checked.
        benchmark: the data set, for its own public tests; None for those that the file's statements show.

    Raises:
        BadRecord: the file or a row of it is at fault.
        SandboxError: this machine cannot run programs.
    """
    with SourceFile(evidence.path) as source:
        if is_evaluation(source):
            return audit_evaluation(source, NAME)
        faults = RowFaults(refusing=False)
        submissions = read_submissions(source, {} if benchmark is None else questions_of(benchmark), faults)
        digest = source.sha256()
    if faults.first and not submissions.items:
        raise faults.first[0]
    if benchmark is None:
        tell_faults(faults, evidence.notice)
    submitted = submissions.items
    problems = submissions.problems if benchmark is None else public_only(benchmark.by_id())
    several = evidence.workers or os.cpu_count() or 1
    limits = replace(CONTEST_LIMITS, cpu_s=SAMPLE_CPU_S)
    with Sandbox(limits, several, allow_unsafe=evidence.allow_unsafe) as sandbox:
        reruns = rerun(submitted, problems, sandbox, workers=several, progress=evidence.progress)
    findings = [
        *check_rows(submissions),
        *check_submissions(submitted),
        *check_reruns(reruns),
        *_untested(submitted, problems),
    ]
    return Audit(
        file=str(evidence.path),
        file_sha256=digest,
        benchmark=NAME,
        dataset_sha256="" if benchmark is None else benchmark.dataset_sha256,
        profile="public samples, each in a process of its own",
        tasks=len({item.problem_id for item in submitted}),
        samples=len(submitted),
        recorded={"graded_list": sum(item.graded is True for item in submitted)},
        estimates=[],
        findings=most_severe_first(findings),
    )


def add_contest_findings(audit: Audit, evidence: Evidence, benchmark: Benchmark) -> Audit:
    """An audit of graded answers with what their public samples tell."""
    graded = {item.code for item in audit.findings}
    more = [item for item in audit_contests(evidence, benchmark).findings if item.code not in graded]
    return msgspec.structs.replace(audit, findings=most_severe_first([*audit.findings, *more]))


def _untested(submitted: list[Submitted], problems: dict[str, Problem]) -> list[Finding]:
    rows = list(dict.fromkeys(item.problem_id for item in submitted if item.problem_id not in problems))
    if not rows:
        return []
    sentence = (
        f"{len(rows)} problems are functional, or no public sample of theirs is known; they were not run again"
    )
    return [finding("samples-unknown", Severity.INFO, rows, sentence)]
