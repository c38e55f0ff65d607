"""JSON with a ``completion_list`` per task: AgentCoder's data sets and pipelines modelled on it.

Either a list of entries (huangd1999/AgentCoder@650a44d ``dataset/``) or an object of entries keyed by row index
or task id. The texts were cut out of replies already: bodies that continue the prompt, or whole functions.

``time_taken`` and ``total_tokens`` are sums over a task's requests. Nobody recorded the parts, so none are made
up: the time becomes a latency only where the list holds a single text (and is not the 0 that marks a reused
entry), and the token total, which mixes prompt and reply, is left in the file.

``need_reproduce`` is false on entries that their pipeline had accepted: given its own file again, it passed over
them, and so does a run that is given the file with ``--reuse`` (`read_accepted`).
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
from truegrade.store.importers.reading import MISSING_FIELD, SourceFile


class _Entry(msgspec.Struct):
    completion_list: Any = msgspec.UNSET
    task_id: str | int | None = None
    time_taken: float | None = None
    need_reproduce: bool = True


def sniff(source: SourceFile) -> bool:
    """Whether the key occurs near the start of a JSON list or object."""
    return (
        source.head.lstrip()[:1] in {b"[", b"{"} and re.search(rb'"completion_list"\s*:', source.head) is not None
    )


def read(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the texts of each entry, in order.

    Raises:
        BadRecord: not such a file, or an entry without a usable id or list.
    """
    return _read(source, target, accepted_only=False)


def read_accepted(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the texts of the entries whose ``need_reproduce`` is false: those that are not to be asked again.

    Raises:
        BadRecord: as `read`.
    """
    return _read(source, target, accepted_only=True)


def _read(source: SourceFile, target: ImportTarget, *, accepted_only: bool) -> Iterator[Completion]:
    path = source.path
    once = TasksOnce(path)
    for place, key, value in entries(path, source.document):
        entry = target.row(path, value, _Entry, inside=place)
        if entry is None:
            continue
        task_id = entry.task_id if entry.task_id is not None else key
        if task_id is None:
            target.faults.add(BadRecord(path, MISSING_FIELD, field=f"{place}.task_id"))
            continue
        problem_id = target.problem(task_id, path, field=f"{place}.task_id")
        if problem_id is None:
            continue
        once.add(problem_id, field=f"{place}.task_id")
        if accepted_only and entry.need_reproduce:
            continue
        texts = target.texts(entry.completion_list, path, field=f"{place}.completion_list")
        alone = len(texts) == 1
        for sample, text in enumerate(texts):
            latency_s = (entry.time_taken or None) if alone else None
            yield target.completion(problem_id, sample, text, form="completion", latency_s=latency_s)


def entries(path: Path, document: Any) -> Iterator[tuple[str, str | None, Any]]:
    """Place, key and value of each entry. A key that is a bare number is a row index, never an id."""
    if isinstance(document, list):
        yield from ((f"[{index}]", None, value) for index, value in enumerate(document))
    elif isinstance(document, dict):
        yield from ((key, None if key.isdigit() else key, value) for key, value in document.items())
    else:
        raise BadRecord(path, "expected a list or an object of entries that hold a completion_list")


IMPORTER = Importer(
    name="completion-list",
    summary="AgentCoder-style JSON: a list or object of entries with task_id and completion_list",
    sniff=sniff,
    read=read,
)
