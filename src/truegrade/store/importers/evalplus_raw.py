"""EvalPlus' ``*.raw.jsonl``: what the model said, before the sanitizer wrote ``*.jsonl`` beside it.

The same rows as in ``samples.jsonl``, but ``solution`` holds a chat model's whole reply, or the prompt with a base
model's continuation (evalplus/evalplus@26d6d00 ``evalplus/codegen.py``). Only the file's name tells them apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from truegrade.records import Completion
from truegrade.store.importers.base import Importer, ImportTarget
from truegrade.store.importers.reading import SourceFile, json_lines

_MARK = ".raw.jsonl"


class _Row(msgspec.Struct):
    task_id: str | int
    solution: Any = msgspec.UNSET


def named_raw(path: Path) -> bool:
    """Whether the name says that nothing was cut out of the replies yet."""
    return path.name.removesuffix(".gz").endswith(_MARK)


def sniff(source: SourceFile) -> bool:
    """Whether it is so named, and its first line holds a task id and a solution."""
    return named_raw(source.path) and {"task_id", "solution"} <= source.keys


def read(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield one reply a line.

    Raises:
        BadRecord: a line is cut, lacks a field or means no problem of the benchmark.
    """
    path = source.path
    seen: Counter[str] = Counter()
    for line, row in json_lines(source, _Row, target.faults):
        problem_id = target.problem(row.task_id, path, line=line, field="task_id")
        if problem_id is None:
            continue
        text = target.text(row.solution, path, line=line, field="solution")
        yield target.completion(problem_id, seen[problem_id], text, form="reply")
        seen[problem_id] += 1


IMPORTER = Importer(
    name="evalplus-raw",
    summary="EvalPlus *.raw.jsonl: task_id with solution, the reply before the sanitizer",
    sniff=sniff,
    read=read,
)
