"""Published rows: laid flat, the verdicts that they record, and their fields beside the benchmark's.

Files of contest answers as they are published: problems, replies, programs and verdicts, without the tests.

LiveCodeBench/submissions@4d04b02, every ``_eval_all.json`` of LiveCodeBench/LiveCodeBench@28fef95, and what
lm-eval and EvalScope log of this benchmark.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from math import isclose
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from truegrade.errors import BadRecord
from truegrade.extraction.contest_programs import first_pair, last_pair, shown_samples
from truegrade.files.json_text import convert
from truegrade.kinds import kind_of
from truegrade.records import ContestTask, Problem
from truegrade.store.importers.execution_reasoning import answers
from truegrade.store.importers.livecodebench import AnswerRow, read_rows
from truegrade.store.importers.logs import EvalScopeRow, Output, samples_of
from truegrade.store.importers.reading import RowFaults, SourceFile, json_lines, typed
from truegrade.store.importers.samples import PLUS_SETS, form_of

# ----------------------------------------------------------------------------------------------------------------
# Rows that keep problem, text and verdict at different depths, laid flat: logs of lm-eval, EvalScope and Inspect,
# results of code-reasoning runs.


NESTING = ("doc_id", "index")
"""Fields that such rows begin with."""

_MEANS = ("pass@1", "pass_at_1")
"""Metrics of lm-eval's code tasks that are the share of right responses
(EleutherAI/lm-evaluation-harness@4e7e0d47f ``lm_eval/tasks/humaneval/utils.py``, ``tasks/mbpp/utils.py``)."""


def unnest(fields: dict[str, Any]) -> dict[str, Any]:
    """The row with its id, its texts and its verdict under the names that flat files use; others as they are."""
    if isinstance(fields.get("doc"), dict) and "resps" in fields:
        return _lm_eval(fields)
    if "index" in fields and fields.keys() & {"model_output", "sample_score"}:
        return _evalscope(fields)
    return fields


def _lm_eval(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Document, responses, and the verdict on each where the metric tells it."""
    doc = fields["doc"]
    prompt = doc.get("prompt")
    form = form_of(fields.get("arguments"), prompt if isinstance(prompt, str) else "")
    texts = (
        [text for request in fields["resps"] for text in request] if _nested(fields["resps"]) else fields["resps"]
    )
    return {
        **doc,
        "completion" if form == "completion" else "reply": texts,
        **_judged(fields, texts if isinstance(texts, list) else []),
    }


def _judged(fields: Mapping[str, Any], texts: list[Any]) -> dict[str, Any]:
    """The verdict on each response: the only metric of a single one, or a mean that is 1 or 0 over several."""
    named = fields.get("metrics")
    metrics = (
        {name: fields.get(name) for name in named if isinstance(name, str)} if isinstance(named, list) else {}
    )
    means = [metrics[name] for name in _MEANS if name in metrics]
    if len(texts) == 1 == len(metrics):
        means = [*metrics.values()]
    verdict = next((value for value in means if value in (0, 1)), None)
    return {} if verdict is None else {"passed": [bool(verdict)] * len(texts)}


def _nested(resps: Any) -> bool:
    return isinstance(resps, list) and all(isinstance(request, list) for request in resps)


def _evalscope(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Reply and, in a review, its accuracy. A row of another shape stays as it is, and is refused for that."""
    try:
        row = convert(fields, EvalScopeRow)
    except msgspec.ValidationError:
        return dict(fields)
    score = row.sample_score.score if row.sample_score else None
    passed = _main_value(score.value or {}, fields["sample_score"]["score"]) if score else None
    return {
        **({} if row.task_id is None else {"task_id": row.task_id}),
        **({} if row.question is None else {"question": row.question}),
        "reply": row.text,
        "model": row.model or None,
        "finish_reason": row.finish_reason,
        **({"passed": bool(passed)} if passed in (0, 1) else {}),
    }


def _main_value(values: Mapping[str, Any], score: Mapping[str, Any]) -> Any:
    """The score that EvalScope calls the main one, by its name, else the first
    (modelscope/evalscope@0db6d7f ``evalscope/api/metric/scorer.py``, ``main_value``).
    """
    name = str(score.get("main_score_name"))
    return values[name] if name in values else next(iter(values.values()), None)


def inspect_rows(source: SourceFile, faults: RowFaults) -> Iterator[tuple[str, dict[str, Any]]]:
    """The samples of a log of Inspect, each with its place in it; the prompt is all that was asked."""
    for place, sample in samples_of(source, faults):
        passed, output = sample.passed, sample.output or Output()
        yield (
            place,
            {
                "task_id": sample.id,
                "sample": sample.epoch - 1,
                "text": output.text,
                "form": sample.form,
                "prompt": sample.question,
                "model": output.model or None,
                "finish_reason": output.finish_reason,
                **({} if passed is None else {"passed": passed}),
            },
        )


def code_reasoning_rows(
    source: SourceFile, known: Collection[str], faults: RowFaults
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The replies of a code-reasoning run, each with the place of its record and the verdict recorded of it."""
    for answer in answers(source, known, faults):
        fields = {"task_id": answer.problem_id, "response": answer.text, "model": answer.model}
        yield answer.place, {**fields, **dict([answer.verdict] if answer.verdict else [])}


# -------------------------------------------- Recorded verdicts of a file: the field names that harnesses use.


Kind = Literal["verdict", "acceptance"]


class Flag(msgspec.Struct, frozen=True):
    """One recorded verdict."""

    name: str
    value: bool
    kind: Kind
    """``verdict`` claims that the benchmark's tests passed; ``acceptance`` that a pipeline's own checks did."""
    sample: int | None = None
    """Index of the text it speaks of; None for the text that its row chose."""


FLAGS: Mapping[str, Kind] = MappingProxyType(
    {
        "is_solved": "verdict",
        "passed": "verdict",
        "correct": "verdict",
        "solved": "verdict",
        "result": "verdict",
        "base_status": "verdict",
        "plus_status": "verdict",
        "status": "verdict",
        "report_passed": "verdict",
        "report_result": "verdict",
        "oc_correct": "verdict",
        "mc_correct": "verdict",
        "oc_successes": "verdict",
        "mc_successes": "verdict",
        "all_correct": "verdict",
        "correct_for_chosen_program": "verdict",
        "need_reproduce": "acceptance",
    }
)
"""Field names. ``result`` begins with "passed" or says why not (openai/human-eval@6d43fb9
``human_eval/execution.py``); ``base_status`` and ``plus_status`` are evalplus' "pass", "fail"
or "timeout" on two sets of tests, of which a plus set asks for both; ``status`` says the same in BigCodeBench's
results (bigcode-project/bigcodebench@47eff25 ``bigcodebench/evaluate.py``); ``oc_correct`` and those up to
``correct_for_chosen_program`` are of code-reasoning runs (`truegrade.store.importers.execution_reasoning`);
``need_reproduce`` is false once AgentCoder's own tests pass (huangd1999/AgentCoder@dddd1b9
``src/test_executor_humaneval.py``)."""

REVERSED = frozenset({"need_reproduce"})
"""Flags that are false of a text that is taken."""

LISTS = ("graded_list", "scores", "raw_scored_generations")
"""Fields that hold one verdict per text (LiveCodeBench's and CRUXEval's files), beside those of `FLAGS` where they
hold a list."""


def read_flags(fields: Mapping[str, Any]) -> tuple[Flag, ...]:
    """Every recorded verdict of a row, in the order of `FLAGS`; values that are no verdict are passed over."""
    single = [
        Flag(name, value, kind) for name, kind in FLAGS.items() if (value := _value(name, fields)) is not None
    ]
    listed = [
        Flag(name, value, "verdict", sample)
        for name in (*LISTS, *(name for name, kind in FLAGS.items() if kind == "verdict"))
        if isinstance(fields.get(name), list)
        for sample, item in enumerate(fields[name])
        if (value := _truth(item)) is not None
    ]
    return (*single, *listed)


def speaks_of(flag: Flag, fields: Mapping[str, Any], benchmark: str) -> bool:
    """Whether a row's flag is a verdict on this benchmark's tests, as far as its name tells."""
    if flag.name == "plus_status":
        return benchmark in PLUS_SETS
    both = _truth(fields.get("plus_status")) is not None
    return not (flag.name == "base_status" and both and benchmark in PLUS_SETS)


def _value(name: str, fields: Mapping[str, Any]) -> bool | None:
    """What a field says of the text: accepted or not, passed or not."""
    value = _truth(fields.get(name))
    if value is None or name not in (*REVERSED, "plus_status"):
        return value
    return not value if name in REVERSED else value and _truth(fields.get("base_status")) is not False


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        text = value.lower()
        if text in ("passed", "pass"):
            return True
        return False if text.startswith(("fail", "timed out", "timeout")) else None
    return None


# ----------------------------------------------------------------------------------------------------------------
# Does a published row ask the question that the benchmark asks? Its fields against the benchmark's, by hash.


Part = Literal["prompt", "test", "reference"]


class FieldDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A field of a row that is not the benchmark's."""

    problem_id: str
    part: Part
    field: str
    found_sha256: str
    upstream_sha256: str
    only_blanks: bool
    """Nothing but white space differs."""


def differences(fields: Mapping[str, Any], problem: Problem) -> Iterator[FieldDifference]:
    """Compare the fields that a row shares with the benchmark; what it lacks is passed over.

    A prompt that holds the benchmark's whole prompt is a wording around it, not a change of it.
    """
    for part, field, upstream in kind_of(problem.task).upstream(problem.task):
        found = as_text(fields.get(field))
        if part == "reference" and field == "code" and "test_list" not in fields:
            continue
        if found is None or found == upstream or _says_more(part, found, upstream):
            continue
        yield FieldDifference(
            problem_id=problem.id,
            part=part,
            field=field,
            found_sha256=_sha256(found),
            upstream_sha256=_sha256(upstream),
            only_blanks=found.split() == upstream.split(),
        )


def as_text(value: Any) -> str | None:
    """A field as one text; a list of statements as lines. None where it holds neither."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return None


def _says_more(part: Part, found: str, upstream: str) -> bool:
    return part == "prompt" and bool(upstream.strip()) and upstream.strip() in found


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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


def read_submissions(
    source: SourceFile, questions: Mapping[str, str] = NO_QUESTIONS, faults: RowFaults | None = None
) -> Submissions:
    """Every answer of a file: a JSON array of rows, lm-eval's samples, or EvalScope's predictions and reviews.

    Args:
        source: the file.
        questions: ids by the words of the question, for EvalScope's rows, which hold no id.
        faults: told of a row of another shape; None to raise it.

    Raises:
        BadRecord: not such a file, or a row is at fault and nobody is told.
    """
    path, noted = source.path, faults or RowFaults()
    array = source.head.lstrip()[:1] == b"["
    rows = list(read_rows(source, noted) if array else _of_lines(source, questions, noted))
    items: list[Submitted] = []
    counts = Counter(str(row.question_id) for _, row in rows)
    samples: Counter[str] = Counter()
    for place, row in rows:
        try:
            items += _submitted(path, place, row, samples[str(row.question_id)])
        except BadRecord as error:
            noted.add(error)
            continue
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


def _of_lines(
    source: SourceFile, questions: Mapping[str, str], faults: RowFaults
) -> Iterator[tuple[str, AnswerRow]]:
    """The rows of lm-eval and EvalScope, one sample or one document a line."""
    first_filter: Any = None
    named: dict[str, str] = {}
    for line, fields in json_lines(source, dict[str, Any], faults):
        if "resps" in fields:
            first_filter = fields.get("filter") if first_filter is None else first_filter
            if fields.get("filter") != first_filter:
                continue
        try:
            row = _of_line(source.path, line, fields, questions, named)
        except BadRecord as error:
            faults.add(error)
            continue
        yield row


def _of_line(
    path: Path, line: int, fields: dict[str, Any], questions: Mapping[str, str], named: dict[str, str]
) -> tuple[str, AnswerRow]:
    if "resps" in fields:
        return f"line {line}", _of_lm_eval(path, line, fields)
    if {"index", "model_output"} <= fields.keys() or {"index", "sample_score"} <= fields.keys():
        row = typed(path, fields, EvalScopeRow, inside=f"{_LINE}{line}")
        question = row.question or ""
        own = questions.get(question) or named.setdefault(question, f"{_LINE}{line}")
        return f"{_LINE}{line}", _of_evalscope(own, question, row, unnest(fields).get("passed"))
    problem = "neither lm-eval's row (doc, resps) nor EvalScope's (index, sample_score); is it the right file?"
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
    found = {}
    for name, problem in problems.items():
        kind, task = kind_of(problem.task), problem.task
        if kind.entry_point(task) is None and (public := kind.public(task)) is not None:
            found[name] = msgspec.structs.replace(problem, task=public)
    return found


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
