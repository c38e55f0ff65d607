"""JSON with one ``completion`` per task: AgentCoder's zero-shot and MBPP files.

A list of entries, or an object of them (huangd1999/AgentCoder@dddd1b9 ``dataset/zero_shot_*_mbpp.json``,
@6ef01a9 ``dataset/humaneval_*_python.json``); ``solution`` is taken for a self-contained program, as in samples.
What such files say of earlier texts (``passed``, ``result``, ``report_*``) is left to `truegrade audit`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import Completion
from truegrade.store.importers.base import Importer, ImportTarget
from truegrade.store.importers.completion_list import entries
from truegrade.store.importers.reading import MISSING_FIELD, SourceFile
from truegrade.store.importers.samples_jsonl import text_of

_DOCUMENT = re.compile(rb'\s*(\[\s*\{|\{\s*"[^"]*"\s*:\s*\{)')
_TEXT = re.compile(rb'"(completion|solution)"\s*:')


class _Entry(msgspec.Struct):
    task_id: str | int | None = None
    completion: Any = msgspec.UNSET
    solution: Any = msgspec.UNSET


def sniff(source: SourceFile) -> bool:
    """Whether it is a list or object of entries that hold one text each."""
    head = source.head
    several = b'"completion_list"' in head
    return not several and _DOCUMENT.match(head) is not None and _TEXT.search(head) is not None


def read(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the text of each entry; entries of one task are its samples, in the file's order.

    Raises:
        BadRecord: not such a file, or an entry without a usable id or text.
    """
    path = source.path
    seen: dict[str, int] = {}
    for place, key, value in entries(path, source.document):
        entry = target.row(path, value, _Entry, inside=place)
        if entry is None:
            continue
        raw_id = entry.task_id if entry.task_id is not None else key
        if raw_id is None:
            target.faults.add(BadRecord(path, MISSING_FIELD, field=f"{place}.task_id"))
            continue
        problem_id = target.problem(raw_id, path, field=f"{place}.task_id")
        if problem_id is None:
            continue
        text, form = text_of(target, path, entry.completion, entry.solution, place=place)
        sample = seen[problem_id] = seen.get(problem_id, -1) + 1
        yield target.completion(problem_id, sample, text, form=form)


IMPORTER = Importer(
    name="completion-rows",
    summary="AgentCoder-style JSON with one completion per task",
    sniff=sniff,
    read=read,
)
