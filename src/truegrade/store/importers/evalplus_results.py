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
from truegrade.store.importers.ids import match_id
from truegrade.store.importers.reading import SourceFile, typed

EVAL = "eval"
PLUS_SETS = ("humanevalplus", "mbppplus")
"""Benchmarks that ``plus_status`` speaks of; ``base_status`` beside it speaks of the originals."""


class _Graded(msgspec.Struct):
    solution: str


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
        problem_id = match_id(task_id, target.ids, path=path, field=field)
        once.add(problem_id, field)
        solutions = [row.solution for row in typed(path, rows, list[_Graded], inside=field)]
        for sample, solution in enumerate(solutions):
            yield target.completion(problem_id, sample, solution, form="program")


def tasks(path: Path, document: Any) -> Iterator[tuple[str, list[Any]]]:
    """Task id and graded rows of each task.

    Raises:
        BadRecord: the document has another shape.
    """
    found = document.get(EVAL) if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise BadRecord(path, "expected an object of graded rows by task id", field=EVAL)
    for task_id, rows in found.items():
        if not isinstance(rows, list):
            problem = "holds verdicts without their solutions, as old versions wrote it; give the samples.jsonl"
            raise BadRecord(path, problem, field=f"{EVAL}.{task_id}")
        yield task_id, rows


IMPORTER = Importer(
    name="evalplus-results",
    summary="EvalPlus *eval_results.json: graded solutions by task id, their statuses for `audit`",
    sniff=sniff,
    read=read,
)
