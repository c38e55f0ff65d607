"""JSON with one ``completion`` per task: AgentCoder's zero-shot and MBPP files.

A list of entries, or an object of them (huangd1999/AgentCoder@dddd1b9 ``dataset/zero_shot_*_mbpp.json``,
@6ef01a9 ``dataset/humaneval_*_python.json``); ``solution`` is taken for a self-contained program, as in samples.
What such files say of earlier texts (``passed``, ``result``, ``report_*``) is left to `truegrade audit`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import Completion, Form
from truegrade.store.importers.base import Importer, ImportTarget
from truegrade.store.importers.completion_list import entries
from truegrade.store.importers.ids import match_id
from truegrade.store.importers.reading import SourceFile, typed

_DOCUMENT = re.compile(rb'\s*(\[\s*\{|\{\s*"[^"]*"\s*:\s*\{)')
_TEXT = re.compile(rb'"(completion|solution)"\s*:')


class _Entry(msgspec.Struct):
    task_id: str | int | None = None
    completion: str | msgspec.UnsetType = msgspec.UNSET
    solution: str | msgspec.UnsetType = msgspec.UNSET


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
        entry = typed(path, value, _Entry, inside=place)
        raw_id = entry.task_id if entry.task_id is not None else key
        if raw_id is None:
            raise BadRecord(path, "the field is missing; every entry needs it", field=f"{place}.task_id")
        problem_id = match_id(raw_id, target.ids, path=path, field=f"{place}.task_id")
        text, form = _text(path, place, entry)
        sample = seen[problem_id] = seen.get(problem_id, -1) + 1
        yield target.completion(problem_id, sample, text, form=form)


def _text(path: Path, place: str, entry: _Entry) -> tuple[str, Form]:
    if isinstance(entry.solution, str):
        return entry.solution, "program"
    if isinstance(entry.completion, str):
        return entry.completion, "completion"
    raise BadRecord(path, "the entry holds neither 'completion' nor 'solution'; one is needed", field=place)


IMPORTER = Importer(
    name="completion-rows",
    summary="AgentCoder-style JSON with one completion per task",
    sniff=sniff,
    read=read,
)
