"""lm-eval's ``samples_*.jsonl``: one document a line, with all its responses.

``resps`` holds what the model said, request by request and repeat by repeat; ``filtered_resps`` what a filter made
of it, once per filter, each on a line of its own (EleutherAI/lm-evaluation-harness@4e7e0d47f
``lm_eval/evaluator.py``). The untouched responses of the first filter are imported: profiles cut for themselves.
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

_BEGIN = "[BEGIN]"
"""Ends MBPP's few-shot text, which the response continues."""


class _Doc(msgspec.Struct):
    task_id: str | int | msgspec.UnsetType = msgspec.UNSET
    question_id: str | int | msgspec.UnsetType = msgspec.UNSET
    """LiveCodeBench's name for it."""
    prompt: str = ""


class _Row(msgspec.Struct):
    doc: _Doc
    resps: Any = msgspec.UNSET
    arguments: Any = None
    filter: str = "none"


def sniff(source: SourceFile) -> bool:
    """Whether the first line holds a document with responses."""
    return {"doc", "resps"} <= source.keys


def read(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the responses to each document, in order.

    Raises:
        BadRecord: a line is cut, lacks a field or means no problem of the benchmark.
    """
    path = source.path
    seen: Counter[str] = Counter()
    first_filter: str | None = None
    for line, row in json_lines(source, _Row, target.faults):
        first_filter = row.filter if first_filter is None else first_filter
        if row.filter != first_filter:
            continue
        field = "doc.question_id" if isinstance(row.doc.task_id, msgspec.UnsetType) else "doc.task_id"
        raw_id = row.doc.question_id if field == "doc.question_id" else row.doc.task_id
        if isinstance(raw_id, msgspec.UnsetType):
            problem = "the field is missing; is the file of a code task of lm-eval?"
            target.faults.add(BadRecord(path, problem, line=line, field="doc.task_id"))
            continue
        problem_id = target.problem(raw_id, path, line=line, field=field)
        if problem_id is None:
            continue
        form = form_of(row.arguments, row.doc.prompt)
        for text in _responses(row.resps, path, line, target):
            yield target.completion(problem_id, seen[problem_id], text, form=form)
            seen[problem_id] += 1


def _responses(resps: Any, path: Path, line: int, target: ImportTarget) -> Iterator[str | None]:
    """The responses, request by request."""
    if not isinstance(resps, list):
        yield from target.texts(resps, path, line=line, field="resps")
        return
    for place, request in enumerate(resps):
        yield from target.texts(request, path, line=line, field=f"resps[{place}]")


def form_of(arguments: Any, prompt: str) -> Form:
    """What a response is, from what stood before it: a continuation where that ends in the task's own code."""
    context = _context(arguments).rstrip()
    continues = context.endswith(_BEGIN) or (bool(prompt.strip()) and context.endswith(prompt.rstrip()))
    return "completion" if continues else "reply"


def _context(arguments: Any) -> str:
    """The text that the first request sent: ``gen_args_0.arg_0``, or the head of a pair in older files."""
    value = arguments
    for step in ("gen_args_0", "arg_0"):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and value:
            value = value[0]
    return value if isinstance(value, str) else ""


IMPORTER = Importer(
    name="lm-eval-samples",
    summary="lm-eval samples_*.jsonl: doc.task_id or doc.question_id with resps",
    sniff=sniff,
    read=read,
)
