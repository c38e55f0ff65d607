"""The user's own collected submissions as execution rows, in the schema of the set LeetCode 431-467.

After akshsgaur/code-reasoning-repro@6c43fa8 src/datasets/leetcode/build_dataset.py: up to three submissions a
question, the first example only, the contest's date computed from its number. Nothing is collected here.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from truegrade.builders.leetcode.submissions import LeetCodeSubmission, Solution, plain_functions
from truegrade.datasets.executions import ExecutionRow, NotRecorded, RecordedCalls, RecordedCase, Refused, record
from truegrade.datasets.identity import identity
from truegrade.extraction.equalities import parse_arguments
from truegrade.grading.executor import Executor

_FIRST_CONTEST, _FIRST_DATE = 431, datetime.date(2025, 1, 5)


class LeetcodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to build."""

    per_question: int = 3
    """Submissions kept of each question."""


class _Item(msgspec.Struct, frozen=True):
    submission: LeetCodeSubmission
    solution: Solution
    recorded: RecordedCalls


def build(
    submissions: Sequence[LeetCodeSubmission],
    options: LeetcodeOptions,
    executor: Executor,
    witness: Executor,
    *,
    workers: int = 1,
) -> Iterator[ExecutionRow | Refused]:
    """A row, or why there is none, for each submission, in order; a question's further ones are left out.

    Args:
        submissions: what the user collected.
        options: what to build.
        executor: runs the programs.
        witness: runs them again; give its programs another hash seed.
        workers: programs run at once.
    """
    kept: Counter[str] = Counter()
    seen: set[str] = set()
    with ThreadPoolExecutor(workers, thread_name_prefix="leetcode") as pool:
        items = pool.map(lambda submission: _item(submission, executor, witness), submissions)
        for submission, item in zip(submissions, items, strict=True):
            question = f"{submission.contest_id} {submission.question_id}"
            if kept[question] >= options.per_question:
                continue
            if isinstance(item, Refused):
                yield item
                continue
            key = identity(item.solution.program) + question
            if key in seen:
                yield Refused(_name(submission), "the same program was submitted before")
                continue
            seen.add(key)
            yield _row(item, kept[question])
            kept[question] += 1


def contest_date(contest: str | int | None) -> str | None:
    """Day of a weekly contest: 2025-01-05 for number 431, and seven days more for each after it."""
    if contest is None or not str(contest).isdigit():
        return None
    try:
        return (_FIRST_DATE + datetime.timedelta(days=7 * (int(contest) - _FIRST_CONTEST))).isoformat()
    except OverflowError:
        return None


def _item(submission: LeetCodeSubmission, executor: Executor, witness: Executor) -> _Item | Refused:
    try:
        solution = plain_functions(submission.code)
        case = _first_example(submission.example, solution)
        return _Item(submission, solution, record(executor, witness, solution.program, solution.function, [case]))
    except NotRecorded as refusal:
        return Refused(_name(submission), str(refusal))


def _first_example(example: str | None, solution: Solution) -> RecordedCase:
    """The first values of an example, one a parameter: a JSON value a line, or ``nums = [1, 2], k = 3``."""
    if not example:
        raise NotRecorded("its question has no example")
    wanted = solution.parameters
    values: list[Any] = []
    try:
        values = [json.loads(line) for line in example.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        named = parse_arguments(example)
        if named is not None and not named[0] and named[1].keys() == set(wanted):
            values = [named[1][name] for name in wanted]
    if len(values) < len(wanted):
        raise NotRecorded(f"its example {example[:60]!r} does not give a value for each of {', '.join(wanted)}")
    return RecordedCase(kwargs=dict(zip(wanted, values, strict=False)))


def _name(submission: LeetCodeSubmission) -> str:
    return f"question {submission.question_id}, submission {submission.submission_id}"


def _row(item: _Item, number: int) -> ExecutionRow:
    submission, solution = item.submission, item.solution
    contest = "" if submission.contest_id is None else f"contest{submission.contest_id}_"
    return ExecutionRow(
        id=f"{contest}q{submission.question_id}_s{number}",
        function_name=solution.function,
        code=solution.program,
        input=item.recorded.calls[0],
        output=item.recorded.outputs[0],
        correct_condition=item.recorded.conditions[0],
        question_id=submission.question_id,
        difficulty=submission.difficulty,
        contest_id=submission.contest_id,
        contest_date=contest_date(submission.contest_id),
        submission_id=submission.submission_id,
        metrics={"loc": sum(bool(line.strip()) for line in solution.program.splitlines()), "coverage": None},
    )
