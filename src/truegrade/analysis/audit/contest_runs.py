"""Contest answers run again on public samples: in a separate process and under two official graders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from truegrade.analysis.audit.audited_submissions import Submitted
from truegrade.files.threads import in_order
from truegrade.grading.contests.output_comparison import same_output
from truegrade.grading.contests.tests import decode
from truegrade.grading.executor import Executor
from truegrade.pipeline.progress import Progress
from truegrade.profiles import open_profile
from truegrade.records import Answer, ContestTask, Problem, Reason

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
        rerun = in_order(
            wanted, lambda item: _rerun(item, problems[item.problem_id], executor), workers=max(1, workers)
        )
        for result in rerun:
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
