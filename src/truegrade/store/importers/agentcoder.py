"""AgentCoder's files and those of pipelines modelled on it: lists of completions, rows, MapCoder's rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import Completion, Usage
from truegrade.store.importers.base import Importer, ImportTarget, TasksOnce
from truegrade.store.importers.reading import MISSING_FIELD, SourceFile, json_lines
from truegrade.store.importers.samples import model_of, text_of

# -------------- JSON with a ``completion_list`` per task: AgentCoder's data sets and pipelines modelled on it.
# Either a list of entries (huangd1999/AgentCoder@650a44d ``dataset/``) or an object of entries keyed by row index
# or task id. The texts were cut out of replies already: bodies that continue the prompt, or whole functions.
#
# ``time_taken`` and ``total_tokens`` are sums over a task's requests. Nobody recorded the parts, so none are made
# up: the time becomes a latency only where the list holds a single text (and is not the 0 that marks a reused
# entry), and the token total, which mixes prompt and reply, is left in the file.
#
# ``need_reproduce`` is false on entries that their pipeline had accepted: given its own file again, it passed
# over them, and so does a run that is given the file with ``--reuse`` (`read_accepted`).


class _Entry(msgspec.Struct, kw_only=True):
    task_id: str | int | None = None
    model: Any = None


Entry = TypeVar("Entry", bound=_Entry)


class _Completions(_Entry):
    completion_list: Any = msgspec.UNSET
    time_taken: float | None = None
    need_reproduce: bool = True


def is_completion_list(source: SourceFile) -> bool:
    """Whether the key occurs near the start of a JSON list or object."""
    return (
        source.head.lstrip()[:1] in {b"[", b"{"} and re.search(rb'"completion_list"\s*:', source.head) is not None
    )


def read_completion_lists(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the texts of each entry, in order.

    Raises:
        BadRecord: not such a file, or an entry without a usable id or list.
    """
    return _read(source, target, accepted_only=False)


def read_accepted(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the texts of the entries whose ``need_reproduce`` is false: those that are not to be asked again.

    Raises:
        BadRecord: as `read_completion_lists`.
    """
    return _read(source, target, accepted_only=True)


def _read(source: SourceFile, target: ImportTarget, *, accepted_only: bool) -> Iterator[Completion]:
    path = source.path
    once = TasksOnce(path)
    for place, entry, problem_id in _entries_with_problems(source, target, _Completions):
        once.add(problem_id, field=f"{place}.task_id")
        if accepted_only and entry.need_reproduce:
            continue
        texts = target.texts(entry.completion_list, path, field=f"{place}.completion_list")
        alone = len(texts) == 1
        for sample, text in enumerate(texts):
            latency_s = (entry.time_taken or None) if alone else None
            yield target.completion(
                problem_id, sample, text, form="completion", latency_s=latency_s, model=model_of(entry.model)
            )


def _entries_with_problems(
    source: SourceFile, target: ImportTarget, kind: type[Entry]
) -> Iterator[tuple[str, Entry, str]]:
    """Place, entry and id of the problem of each entry; what has none is noted as a fault."""
    path = source.path
    for place, key, value in entries(path, source.document):
        entry = target.row(path, value, kind, inside=place)
        if entry is None:
            continue
        task_id = entry.task_id if entry.task_id is not None else key
        if task_id is None:
            target.faults.add(BadRecord(path, MISSING_FIELD, field=f"{place}.task_id"))
            continue
        problem_id = target.problem(task_id, path, field=f"{place}.task_id")
        if problem_id is not None:
            yield place, entry, problem_id


def entries(path: Path, document: Any) -> Iterator[tuple[str, str | None, Any]]:
    """Place, key and value of each entry. A key that is a bare number is a row index, never an id."""
    if isinstance(document, list):
        yield from ((f"[{index}]", None, value) for index, value in enumerate(document))
    elif isinstance(document, dict):
        yield from ((key, None if key.isdigit() else key, value) for key, value in document.items())
    else:
        raise BadRecord(path, "expected a list or an object of entries that hold a completion_list")


COMPLETION_LIST = Importer(
    name="completion-list",
    summary="AgentCoder-style JSON: a list or object of entries with task_id and completion_list",
    sniff=is_completion_list,
    read=read_completion_lists,
)


# ------------------------------- JSON with one ``completion`` per task: AgentCoder's zero-shot and MBPP files.
# A list of entries, or an object of them (huangd1999/AgentCoder@dddd1b9 ``dataset/zero_shot_*_mbpp.json``,
# @6ef01a9 ``dataset/humaneval_*_python.json``); ``solution`` is taken for a self-contained program, as in
# samples. What such files say of earlier texts (``passed``, ``result``, ``report_*``) is left to `truegrade
# audit`.

_DOCUMENT = re.compile(rb'\s*(\[\s*\{|\{\s*"[^"]*"\s*:\s*\{)')
_TEXT = re.compile(rb'"(completion|solution)"\s*:')


class _OneCompletion(_Entry):
    completion: Any = msgspec.UNSET
    solution: Any = msgspec.UNSET


def is_completion_rows(source: SourceFile) -> bool:
    """Whether it is a list or object of entries that hold one text each."""
    head = source.head
    several = b'"completion_list"' in head
    return not several and _DOCUMENT.match(head) is not None and _TEXT.search(head) is not None


def read_completion_rows(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the text of each entry; entries of one task are its samples, in the file's order.

    Raises:
        BadRecord: not such a file, or an entry without a usable id or text.
    """
    seen: dict[str, int] = {}
    for place, entry, problem_id in _entries_with_problems(source, target, _OneCompletion):
        text, form = text_of(target, source.path, entry.completion, entry.solution, place=place)
        sample = seen[problem_id] = seen.get(problem_id, -1) + 1
        yield target.completion(problem_id, sample, text, form=form, model=model_of(entry.model))


COMPLETION_ROWS = Importer(
    name="completion-rows",
    summary="AgentCoder-style JSON with one completion per task",
    sniff=is_completion_rows,
    read=read_completion_rows,
)


# ------- Rows in MapCoder's manner, as AgentCoder's latest results are: one task a line with all its attempts.
# ``source_codes`` holds the programs of successive attempts, the last one after which a task counted as solved
# (huangd1999/AgentCoder@dddd1b9 ``dataset/*-0-1.jsonl``). Each is a sample. A task whose list is empty ended
# without a program: that is an empty answer, not a task to leave out.


class _Row(msgspec.Struct):
    source_codes: Any = msgspec.UNSET
    task_id: str | int | None = None
    name: str | None = None
    prompt_tokens: list[int] | None = None
    completion_tokens: list[int] | None = None


def is_mapcoder(source: SourceFile) -> bool:
    """Whether the first line holds programs of attempts."""
    return "source_codes" in source.keys


def read_mapcoder(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
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


MAPCODER_ROWS = Importer(
    name="mapcoder-rows",
    summary="MapCoder-style JSONL, AgentCoder's latest results: task_id with source_codes",
    sniff=is_mapcoder,
    read=read_mapcoder,
)
