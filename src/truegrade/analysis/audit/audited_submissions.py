"""Files of contest answers as they are published: problems, replies, programs and verdicts, without the tests.

LiveCodeBench/submissions@4d04b02, every ``_eval_all.json`` of LiveCodeBench/LiveCodeBench@28fef95, and what
lm-eval and EvalScope log of this benchmark.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from math import isclose
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.analysis.audit.rows_beside_benchmark import unnest
from truegrade.errors import BadRecord
from truegrade.extraction.contest_programs import first_pair, last_pair, shown_samples
from truegrade.records import ContestTask, Problem
from truegrade.store.importers.livecodebench import AnswerRow, read_rows
from truegrade.store.importers.logs import EvalScopeRow
from truegrade.store.importers.reading import SourceFile, json_lines, typed

NO_QUESTIONS: Mapping[str, str] = MappingProxyType({})
_LINE = "row on line "
"""Begins the place, and without a data set the name, of an EvalScope row."""


_OF_THE_QUESTION = ("question_id", "question_title", "question_content", "starter_code")


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """One answer and what its file says of it."""

    problem_id: str
    sample: int
    code: str
    reply: str | None
    """What the program was cut out of; None where the file keeps programs alone."""
    graded: bool | None
    """The file's verdict; None where it holds none."""
    metadata: Mapping[str, Any] | None

    @property
    def name(self) -> str:
        """How findings name it."""
        return f"{self.problem_id}#{self.sample}"

    @property
    def output(self) -> str | None:
        """What it printed where it was judged wrong, as far as the metadata say."""
        value = (self.metadata or {}).get("output")
        return value if isinstance(value, str) else None


class Submissions(msgspec.Struct, frozen=True, kw_only=True):
    """A file of them."""

    items: list[Submitted]
    problems: dict[str, Problem]
    """The stdin problems with the samples that their statements show as their only tests. Functional problems
    are left out: a statement's samples name no method and follow no syntax."""
    repeated: list[str]
    """Questions with more than one row."""
    contrary: list[str]
    """Questions whose stored pass@1 is not the share of true flags."""


def read_submissions(source: SourceFile, questions: Mapping[str, str] = NO_QUESTIONS) -> Submissions:
    """Every answer of a file: a JSON array of rows, lm-eval's samples, or EvalScope's predictions and reviews.

    Args:
        source: the file.
        questions: ids by the words of the question, for EvalScope's rows, which hold no id.

    Raises:
        BadRecord: not such a file; lists of one row differ in length.
    """
    path = source.path
    array = source.head.lstrip()[:1] == b"["
    rows = list(read_rows(source) if array else _of_lines(source, questions))
    items: list[Submitted] = []
    counts = Counter(str(row.question_id) for _, row in rows)
    samples: Counter[str] = Counter()
    for place, row in rows:
        items += _submitted(path, place, row, samples[str(row.question_id)])
        samples[str(row.question_id)] += len(row.programs)
    several = any(place.startswith(_LINE) for place, _ in rows)  # a line holds one of a question's samples
    stated = [row for _, row in rows if row.graded_list and row.pass_at_1 is not None]
    return Submissions(
        items=items,
        problems=dict(filter(None, (_public(row) for _, row in rows))),
        repeated=[] if several else [name for name, count in counts.items() if count > 1],
        contrary=[str(row.question_id) for row in stated if not isclose(row.pass_at_1 or 0.0, _share(row))],
    )


def _share(row: AnswerRow) -> float:
    """LiveCodeBench/LiveCodeBench@28fef95 ``code_generation.py`` ``insert_output_evaluation``."""
    return row.graded_list.count(True) / len(row.graded_list)


def _public(row: AnswerRow) -> tuple[str, Problem] | None:
    samples = shown_samples(row.question_content)
    if row.starter_code or not samples:
        return None
    tests = [{"input": shown.input, "output": shown.output, "testtype": "stdin"} for shown in samples]
    task = ContestTask(
        title=row.question_title,
        question=row.question_content,
        public_tests=json.dumps(tests),
        private_tests="[]",
    )
    name = str(row.question_id)
    return name, Problem(id=name, benchmark="livecodebench", dataset_sha256="", cluster=name, task=task)


def _of_lines(source: SourceFile, questions: Mapping[str, str]) -> Iterator[tuple[str, AnswerRow]]:
    """The rows of lm-eval and EvalScope, one sample or one document a line."""
    path = source.path
    first_filter: Any = None
    named: dict[str, str] = {}
    for line, fields in json_lines(source, dict[str, Any]):
        if "resps" in fields:
            first_filter = fields.get("filter") if first_filter is None else first_filter
            if fields.get("filter") == first_filter:
                yield f"line {line}", _of_lm_eval(path, line, fields)
        elif {"index", "model_output"} <= fields.keys() or {"index", "sample_score"} <= fields.keys():
            row = typed(path, fields, EvalScopeRow, inside=f"{_LINE}{line}")
            question = row.question or ""
            own = questions.get(question) or named.setdefault(question, f"{_LINE}{line}")
            yield f"{_LINE}{line}", _of_evalscope(own, question, row, unnest(fields).get("passed"))
        else:
            problem = (
                "neither lm-eval's row (doc, resps) nor EvalScope's (index, sample_score); is it the right file?"
            )
            raise BadRecord(path, problem, line=line)


def _of_lm_eval(path: Path, line: int, fields: dict[str, Any]) -> AnswerRow:
    """A document of the fork af0ac9f7, which cuts between the first two fences and stores no program."""
    flat = unnest(fields)
    texts = typed(path, flat.get("reply"), list[str | None], inside=f"line {line}.resps")
    row = {
        **{name: fields["doc"][name] for name in _OF_THE_QUESTION if name in fields["doc"]},
        "code_list": [first_pair(text or "") for text in texts],
        "graded_list": flat.get("passed", []),
    }
    return typed(path, row, AnswerRow, inside=f"line {line}.doc")


def _of_evalscope(name: str, question: str, row: EvalScopeRow, passed: bool | None) -> AnswerRow:
    score = row.sample_score.score if row.sample_score else None
    text = row.text or ""
    cut = score.extracted_prediction if score else None
    told = (score.metadata or {}).get("final_metadata") if score else None
    match told:
        case [[metadata, *_], *_]:
            kept: tuple[Any, ...] = (metadata,)
        case _:
            kept = ()
    return AnswerRow(
        question_id=name,
        question_content=question,
        starter_code="given" if row.starts_from_code else None,
        code_list=(last_pair(text) if cut is None else cut,),
        output_list=() if cut is None else (text,),
        graded_list=() if passed is None else (passed,),
        metadata=kept,
    )


def public_only(problems: Mapping[str, Problem]) -> dict[str, Problem]:
    """Stdin problems of a benchmark with their public tests alone."""
    return {
        name: msgspec.structs.replace(problem, task=msgspec.structs.replace(problem.task, private_tests="[]"))
        for name, problem in problems.items()
        if isinstance(problem.task, ContestTask) and problem.task.function is None
    }


def _submitted(path: Path, place: str, row: AnswerRow, first: int) -> Iterator[Submitted]:
    codes, replies, graded = row.programs, row.replies, row.graded_list
    for name, items in (("output_list", replies), ("graded_list", graded), ("metadata", row.metadata)):
        short = name != "output_list" and len(items) < len(codes)
        if items and codes and len(items) != len(codes) and not short:
            problem = f"holds {len(items)} entries for {len(codes)} programs"
            raise BadRecord(path, problem, field=f"{place}.{name}")
    for sample, code in enumerate(codes):
        yield Submitted(
            problem_id=str(row.question_id),
            sample=first + sample,
            code=code,
            reply=replies[sample] if replies else None,
            graded=graded[sample] if sample < len(graded) else None,
            metadata=_decoded(row.metadata[sample]) if sample < len(row.metadata) else None,
        )


def _decoded(metadata: Any) -> Mapping[str, Any] | None:
    """Metadata as an object, whether stored as one or as its JSON text."""
    try:
        value = json.loads(metadata) if isinstance(metadata, str) else metadata
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
