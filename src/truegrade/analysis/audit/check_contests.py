"""Checks of contest answers: extraction, recorded verdicts, and failures caused by the grader."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from truegrade.analysis.audit.audited_submissions import Submissions, Submitted
from truegrade.analysis.audit.contest_runs import Rerun
from truegrade.analysis.audit.findings import Finding, Severity, finding
from truegrade.extraction.contest_programs import first_pair, last_pair
from truegrade.extraction.parsing import Fault, Parser


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
