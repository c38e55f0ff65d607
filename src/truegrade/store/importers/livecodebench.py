"""LiveCodeBench's files: answers, and the _eval.json of a grading."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import Completion, Form
from truegrade.store.importers.base import Importer, ImportTarget, TasksOnce
from truegrade.store.importers.reading import RowFaults, SourceFile, typed

# ----------------------------------------------------------------------------------------------------------------
# LiveCodeBench's files of answers: ``[{"question_id", "code_list"}]``, ``..._eval_all.json``, submissions.
#
# LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/runner/custom_evaluator.py`` reads the first and writes the
# second, which is also the form of LiveCodeBench/submissions@4d04b02. ``output_list`` holds the replies,
# ``code_list`` what was cut out of them; where there are replies they are read, so that a profile's own rule cuts
# them anew. The evaluator copies ``code_list`` into ``output_list``: two equal lists are programs. ``_eval.json``
# holds no text at all.

_TEXTS = re.compile(rb'"(code_list|output_list)"\s*:')
_VERDICTS_ONLY = re.compile(rb'\s*\[\s*\{\s*"(pass@\d+|detail)"\s*:')


class AnswerRow(msgspec.Struct, frozen=True, kw_only=True):
    """One problem's row."""

    question_id: str | int
    question_title: str = ""
    question_content: str = ""
    starter_code: str | None = None
    code_list: tuple[str | None, ...] | None = ()
    output_list: tuple[str | list[str | None] | None, ...] | None = ()
    """A reply may be a list of one (self-repair)."""
    graded_list: tuple[bool, ...] = ()
    metadata: tuple[Any, ...] = ()
    """Of each grading, as JSON text or decoded."""
    pass_at_1: float | None = msgspec.field(name="pass@1", default=None)
    """The share of the row's programs that are right, as its harness stored it."""

    @property
    def replies(self) -> tuple[str, ...]:
        """The replies as texts; none where the file only repeats the programs."""
        texts = tuple(text or "" for text in self.outputs)
        return () if texts == self.programs else texts

    @property
    def outputs(self) -> tuple[str | None, ...]:
        """``output_list`` as texts, None where a request failed."""
        return tuple(_text(item) for item in self.output_list or ())

    @property
    def programs(self) -> tuple[str, ...]:
        """What was cut out; None (CodeLLaMaInstruct) is the empty program."""
        return tuple(code or "" for code in self.code_list or ())

    def decoded_metadata(self, sample: int) -> dict[str, Any]:
        """What the grading of one program said; empty where the file says nothing that can be read."""
        stored = self.metadata[sample]
        try:
            found = json.loads(stored) if isinstance(stored, str) else stored
        except (ValueError, RecursionError):
            found = {}
        return found if isinstance(found, dict) else {}


def is_livecodebench(source: SourceFile) -> bool:
    """Whether it is a list of rows with a question id and a list of answers, or the file of verdicts beside it."""
    head = source.head
    rows = head.lstrip()[:1] == b"[" and b'"question_id"' in head and _TEXTS.search(head) is not None
    return rows or _VERDICTS_ONLY.match(head) is not None


def read_rows(source: SourceFile, faults: RowFaults | None = None) -> Iterator[tuple[str, AnswerRow]]:
    """Place and content of each row.

    Args:
        source: such a file.
        faults: told of a row that lacks its id or its answers; None to raise it.

    Raises:
        BadRecord: not such a file; a row lacks its id or its answers.
    """
    path, document = source.path, source.document
    if not isinstance(document, list):
        raise BadRecord(path, "expected a list of rows with question_id and code_list")
    if document and isinstance(document[0], dict) and "detail" in document[0]:
        problem = "an _eval.json holds verdicts and no answers; give the _eval_all.json beside it, or audit it"
        raise BadRecord(path, problem)
    for number, value in enumerate(document):
        place = f"[{number}]"
        try:
            row = typed(path, value, AnswerRow, inside=place)
            if not row.code_list and not row.output_list:
                raise BadRecord(path, "the row holds no answer; it needs code_list or output_list", field=place)
        except BadRecord as error:
            (faults or RowFaults()).add(error)
            continue
        yield place, row


def read_livecodebench(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the answers of each problem, in order.

    Raises:
        BadRecord: not such a file, an unknown problem, or one that stands there twice.
    """
    path = source.path
    once = TasksOnce(path)
    for place, row in read_rows(source, target.faults):
        field = f"{place}.question_id"
        problem_id = target.problem(row.question_id, path, field=field)
        if problem_id is None:
            continue
        once.add(problem_id, field=field)
        texts, form = _answers(row)
        for sample, text in enumerate(texts):
            yield target.completion(problem_id, sample, text, form=form)


def _answers(row: AnswerRow) -> tuple[tuple[str | None, ...], Form]:
    return (row.outputs, "reply") if row.replies else (row.programs, "program")


def _text(item: str | list[str | None] | None) -> str | None:
    if isinstance(item, list):
        return item[0] if item else ""
    return item


LIVECODEBENCH_ROWS = Importer(
    name="livecodebench",
    summary="LiveCodeBench answers: a list of rows with question_id and code_list or output_list",
    sniff=is_livecodebench,
    read=read_livecodebench,
)


# ------------------ LiveCodeBench's ``_eval.json``: metrics, results and metadata of a grading, and no answer.
# LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/runner/main.py`` writes what ``codegen_metrics`` gives: the
# metrics with their ``detail``; by the problem's place, per sample, one entry a test up to the first that fails;
# and per problem and sample the metadata as JSON text.


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """What such a file says."""

    metrics: Mapping[str, float]
    """``pass@k`` as recorded, a fraction or, EvalScope's, percent."""
    detail: Mapping[str, Mapping[str, float]]
    """``pass@k`` by the problem's place."""
    results: Mapping[str, tuple[tuple[bool | float, ...], ...]]
    """By the problem's place and sample."""
    metadata: tuple[Any, ...] = ()

    @property
    def passed(self) -> dict[str, list[bool]]:
        """By the problem's place, whether each sample passes: every entry is greater than 0.

        ``lcb_runner/evaluation/pass_k_utils.py`` ``compute_metrics_from_results``.
        """
        return {place: [all(value > 0 for value in row) for row in rows] for place, rows in self.results.items()}


def is_evaluation(source: SourceFile) -> bool:
    """Whether a file is a list that begins with metrics."""
    if source.head.lstrip()[:1] != b"[":
        return False
    document = source.document
    first = document[0] if isinstance(document, list) and document else None
    return isinstance(first, dict) and "detail" in first


def read_evaluation(source: SourceFile) -> Evaluation:
    """Read the file.

    Raises:
        BadRecord: not such a file; names the part that is at fault.
    """
    path, document = source.path, source.document
    if not isinstance(document, list) or len(document) not in (2, 3):
        raise BadRecord(path, "expected metrics, results and metadata, as codegen_metrics gives them")
    metrics, results, *metadata = document
    fields = {
        "metrics": {name: value for name, value in metrics.items() if name != "detail"},
        "detail": metrics.get("detail", {}),
        "results": results,
        "metadata": metadata[0] if metadata else (),
    }
    return typed(path, fields, Evaluation, inside="")
