"""Changed problems as rows of a benchmark without Python, each behind its original."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from truegrade.benchmarks.own_rows import BenchmarkRow
from truegrade.errors import UserError
from truegrade.grading.programs import method_call
from truegrade.records import FunctionTask, Problem
from truegrade.records.pairing import Change


def rows_of_pairs(pairs: Iterable[tuple[Problem, FunctionTask, Change]]) -> Iterator[BenchmarkRow]:
    """Two rows for each pair; tags say the benchmark, of the changed problem also the rule and its family.

    Raises:
        UserError: two originals share an id.
    """
    seen: set[str] = set()
    for problem, task, change in pairs:
        if problem.id in seen:
            raise UserError(f"two benchmarks hold a problem {problem.id}: change them in two files")
        seen.add(problem.id)
        assert isinstance(problem.task, FunctionTask)
        tags = {**problem.tags, "benchmark": problem.benchmark}
        yield _row(problem.id, problem.task, tags, problem.packages, None)
        changed = {**tags, "rule": change.rule, "family": change.family}
        yield _row(f"{problem.id}~{change.rule}", task, changed, problem.packages, change)


def _row(
    name: str, task: FunctionTask, tags: dict[str, str], packages: tuple[str, ...], change: Change | None
) -> BenchmarkRow:
    return BenchmarkRow(
        id=name,
        prompt=task.prompt,
        tests=task.tests,
        entry_point=task.entry_point,
        reference=task.reference,
        shown_tests=task.shown_tests,
        tags=tags,
        prefix=task.prefix if method_call(task) else None,
        packages=packages,
        change=change,
    )
