"""Rows in MapCoder's manner, as AgentCoder's latest results are: one task a line with all its attempts.

``source_codes`` holds the programs of successive attempts, the last one after which a task counted as solved
(huangd1999/AgentCoder@dddd1b9 ``dataset/*-0-1.jsonl``). Each is a sample. A task whose list is empty ended without
a program: that is an empty answer, not a task to leave out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import Completion, Usage
from truegrade.store.importers.base import Importer, ImportTarget, TasksOnce
from truegrade.store.importers.reading import MISSING_FIELD, SourceFile, json_lines


class _Row(msgspec.Struct):
    source_codes: Any = msgspec.UNSET
    task_id: str | int | None = None
    name: str | None = None
    prompt_tokens: list[int] | None = None
    completion_tokens: list[int] | None = None


def sniff(source: SourceFile) -> bool:
    """Whether the first line holds programs of attempts."""
    return "source_codes" in source.keys


def read(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the attempts at each task, in order.

    Raises:
        BadRecord: a line is cut, lacks a field, repeats a task or means no problem of the benchmark.
    """
    path = source.path
    once = TasksOnce(path)
    for line, row in json_lines(source, _Row, target.faults):
        raw_id = row.task_id if row.task_id is not None else row.name
        if raw_id is None:
            target.faults.add(BadRecord(path, MISSING_FIELD, line=line, field="task_id"))
            continue
        problem_id = target.problem(raw_id, path, line=line, field="task_id")
        if problem_id is None:
            continue
        once.add(problem_id, field="task_id", line=line)
        texts = target.texts(row.source_codes, path, line=line, field="source_codes")
        for sample, text in enumerate(texts or [""]):
            usage = _usage(row, sample, len(texts))
            yield target.completion(problem_id, sample, text, form="completion", usage=usage)


def _usage(row: _Row, sample: int, attempts: int) -> Usage | None:
    """Tokens of one attempt, where the row counts them attempt by attempt."""
    counts = (row.prompt_tokens or [], row.completion_tokens or [])
    if any(len(count) != attempts for count in counts) or not attempts:
        return None
    return Usage(input_tokens=counts[0][sample], output_tokens=counts[1][sample])


IMPORTER = Importer(
    name="mapcoder-rows",
    summary="MapCoder-style JSONL, AgentCoder's latest results: task_id with source_codes",
    sniff=sniff,
    read=read,
)
