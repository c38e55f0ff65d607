"""``samples.jsonl`` of human-eval and evalplus: one text a line, gzipped or not.

human-eval rows hold ``completion``, which continues the prompt (openai/human-eval@6d43fb9 README). evalplus rows
hold that or ``solution``, a self-contained program, and ``solution`` wins (evalplus/evalplus@26d6d00
``evalplus/evaluate.py``). Samples of a task are numbered in the order they occur; other keys are ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import Completion, Form
from truegrade.store.importers.base import Importer, ImportTarget
from truegrade.store.importers.ids import match_id
from truegrade.store.importers.reading import SourceFile, json_lines

PROGRAM: Form = "program"
COMPLETION: Form = "completion"


class _Row(msgspec.Struct):
    task_id: str | int
    completion: str | msgspec.UnsetType = msgspec.UNSET
    solution: str | msgspec.UnsetType = msgspec.UNSET


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
    for line, row in json_lines(source, _Row):
        if isinstance(row.solution, str):
            text, form = row.solution, PROGRAM
        elif isinstance(row.completion, str):
            text, form = row.completion, COMPLETION
        else:
            raise BadRecord(path, "the row holds neither 'completion' nor 'solution'; one is needed", line=line)
        problem_id = match_id(row.task_id, target.ids, path=path, line=line, field="task_id")
        yield target.completion(problem_id, seen[problem_id], text, form=form)
        seen[problem_id] += 1


IMPORTER = Importer(
    name="samples-jsonl",
    summary="human-eval and evalplus samples.jsonl(.gz): task_id with completion or solution",
    sniff=sniff,
    read=read,
)
