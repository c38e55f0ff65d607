"""EvalPlus' ``*eval_results.json``: every graded solution with its status on the base and the plus tests.

An object whose ``eval`` maps task ids to lists of ``{task_id, solution, base_status, plus_status, ...}``
(evalplus/evalplus@26d6d00 ``evalplus/evaluate.py``). The solutions are what the sanitizer left, and are imported;
the statuses are read by `truegrade audit`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import Completion
from truegrade.store.importers.base import Importer, ImportTarget, TasksOnce
from truegrade.store.importers.reading import SourceFile

EVAL = "eval"
PLUS_SETS = ("humanevalplus", "mbppplus")
"""Benchmarks that ``plus_status`` speaks of; ``base_status`` beside it speaks of the originals."""


class _Graded(msgspec.Struct):
    solution: Any = msgspec.UNSET


def sniff(source: SourceFile) -> bool:
    """Whether it starts like an object whose ``eval`` holds lists by task."""
    return re.match(rb'\s*\{(\s*"(date|hash)"\s*:\s*"[^"]*"\s*,)*\s*"eval"\s*:\s*\{', source.head) is not None


def read(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the solutions of each task, in order.

    Raises:
        BadRecord: not such a file, or one of the old kind that holds verdicts without solutions.
    """
    path = source.path
    once = TasksOnce(path)
    for task_id, rows in tasks(path, source.document):
        field = f"{EVAL}.{task_id}"
        problem_id = target.problem(task_id, path, field=field)
        if problem_id is None:
            continue
        once.add(problem_id, field)
        for sample, value in enumerate(rows or [None]):
            inside = f"{field}[{sample}]"
            row = None if value is None else target.row(path, value, _Graded, inside=inside)
            text = None if row is None else target.text(row.solution, path, field=f"{inside}.solution")
            yield target.completion(problem_id, sample, text, form="program")


def tasks(path: Path, document: Any) -> Iterator[tuple[str, list[Any]]]:
    """Task id and graded rows of each task.

    Raises:
        BadRecord: the document has another shape.
    """
    found = document.get(EVAL) if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise BadRecord(path, "expected an object of graded rows by task id", field=EVAL)
    for task_id, rows in found.items():
        if not isinstance(rows, list | None):
            problem = "holds verdicts without their solutions, as old versions wrote it; give the samples.jsonl"
            raise BadRecord(path, problem, field=f"{EVAL}.{task_id}")
        yield task_id, rows or []


IMPORTER = Importer(
    name="evalplus-results",
    summary="EvalPlus *eval_results.json: graded solutions by task id, their statuses for truegrade audit",
    sniff=sniff,
    read=read,
)
