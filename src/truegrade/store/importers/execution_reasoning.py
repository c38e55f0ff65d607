"""Files of execution reasoning: result files of prediction and choice, predicted values, CRUXEval's lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import Completion
from truegrade.store.importers.base import Importer, ImportTarget, TasksOnce
from truegrade.store.importers.reading import RowFaults, SourceFile, json_lines, typed

# ---- Result files of execution-reasoning runs: replies to prediction and choice prompts, original and mutant.
# akshsgaur/code-reasoning-repro@6c43fa8 ``experiments/results``. Two writers: ``src/models/bedrock_claude*`` puts
# its records under ``prediction.results`` or ``choice.execution_choice_results``, the notebooks under
# ``results``. Only the replies are graded; the predictions and scores beside them were extracted by rules that
# lose right answers, and are held against the fresh verdicts by `truegrade check`.

_KEYS = re.compile(
    rb'"(?:original_predictions|execution_choice_results|original_first|execution_choice_summary)"\s*:'
)


class _Reply(msgspec.Struct):
    response: str | None = None
    latency_s: float | None = None


class _Generation(_Reply):
    testcases: list[_Reply | None] | None = None
    """A reply per case, where a record is a whole row (Bedrock on DSL-List and LLM-List)."""
    all_correct: bool | None = None
    oc_correct: bool | None = None
    mc_correct: bool | None = None


class _PredictionRecord(msgspec.Struct):
    problem_id: str | int
    case_idx: int | None = None
    case_index: int | None = None
    original_predictions: list[_Generation | None] | None = None
    mutated_predictions: list[_Generation | None] | None = None
    oc_successes: int | None = None
    mc_successes: int | None = None


class _ChoiceRecord(_Reply, kw_only=True):
    problem_id: str | int
    original_first: bool
    case_idx: int | None = None
    correct_for_chosen_program: bool | None = None


class StoredReply(msgspec.Struct, frozen=True, kw_only=True):
    """One reply, and what the file says of it."""

    place: str
    """Of its record in the document."""
    problem_id: str
    """As the benchmark spells it."""
    text: str | None
    latency_s: float | None
    model: str | None
    verdict: tuple[str, bool] | None
    """The field that says whether it is right, and what it says; None if no field speaks of this one reply."""


def is_code_reasoning(source: SourceFile) -> bool:
    """Whether it starts like an object and names the fields that only these files have."""
    return source.head.lstrip()[:1] == b"{" and _KEYS.search(source.head) is not None


def read_code_reasoning(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield one reply per program, case and generation, or per case and order of a choice.

    Raises:
        BadRecord: not such a file, one that holds scores only, or a reply to no problem of the benchmark.
    """
    samples: Counter[str] = Counter()  # a problem's samples are numbered in the order in which they occur
    for answer in answers(source, target.ids.exact, target.faults):
        samples[answer.problem_id] += 1
        yield target.completion(
            answer.problem_id,
            samples[answer.problem_id] - 1,
            answer.text,
            form="reply",
            model=answer.model,
            latency_s=answer.latency_s,
        )


def answers(source: SourceFile, known: Collection[str], faults: RowFaults | None = None) -> Iterator[StoredReply]:
    """Every reply of a file, in its order.

    Args:
        source: such a file.
        known: ids of the benchmark's problems.
        faults: told of a record of another shape; None to raise it.

    Raises:
        BadRecord: as `read_code_reasoning`.
    """
    path = source.path
    place, body, records = _records(path, source.document)
    model = body.get("bedrock_model_id") or body.get("model")
    reader = _Reader(path, known, model if isinstance(model, str) else None)
    for number, record in enumerate(records):
        inside = f"{place}[{number}]"
        try:
            if isinstance(record, dict) and "original_first" in record:
                found = iter([reader.choice(typed(path, record, _ChoiceRecord, inside=inside), inside)])
            else:
                found = reader.predictions(typed(path, record, _PredictionRecord, inside=inside), inside)
        except BadRecord as error:
            (faults or RowFaults()).add(error)
            continue
        yield from found


class _Reader:
    """Turns records into answers."""

    def __init__(self, path: Path, known: Collection[str], model: str | None) -> None:
        self._path, self._known, self._model = path, known, model
        self._cases: Counter[tuple[str, bool]] = Counter()

    def predictions(self, record: _PredictionRecord, inside: str) -> Iterator[StoredReply]:
        """Every generation on the original, then every one on the mutant."""
        case = record.case_idx if record.case_idx is not None else record.case_index or 0
        lists = (
            ("", record.original_predictions, "oc_successes", record.oc_successes),
            ("~mutant", record.mutated_predictions, "mc_successes", record.mc_successes),
        )
        for suffix, generations, field, successes in lists:
            for stored in generations or ():
                generation = stored or _Generation()
                replies = [generation] if generation.testcases is None else generation.testcases
                verdict = _verdict(generation) or _of_all(field, successes, len(generations or ()), len(replies))
                for number, reply in enumerate(replies, start=case):
                    yield self._answer(record.problem_id, number, suffix, reply or _Reply(), verdict, inside)

    def choice(self, record: _ChoiceRecord, inside: str) -> StoredReply:
        """One choice; a record that names no case is about the next one in its order."""
        seen = (str(record.problem_id), record.original_first)
        case = record.case_idx if record.case_idx is not None else self._cases[seen]
        self._cases[seen] += 1
        right = record.correct_for_chosen_program
        verdict = None if right is None else ("correct_for_chosen_program", right)
        suffix = "~AB" if record.original_first else "~BA"
        return self._answer(record.problem_id, case, suffix, record, verdict, inside)

    def _answer(
        self, row: str | int, case: int, suffix: str, reply: _Reply, verdict: tuple[str, bool] | None, inside: str
    ) -> StoredReply:
        return StoredReply(
            place=inside,
            problem_id=self._problem(row, case, suffix, inside),
            text=reply.response,
            latency_s=reply.latency_s,
            model=self._model,
            verdict=verdict,
        )

    def _problem(self, row: str | int, case: int, suffix: str, inside: str) -> str:
        """``ROW/caseK`` of a row with several cases, ``ROW`` of one with a single case."""
        names = [f"{row}/case{case}{suffix}", *([f"{row}{suffix}"] if case == 0 else [])]
        found = next((name for name in names if name in self._known), None)
        if found is None:
            advice = "give the data file that it was made from with `data`"
            if suffix in ("~AB", "~BA"):
                advice = f"grade it as execution-choice, with `task_args` cases=all, and {advice}"
            problem = f"the benchmark has no problem {names[-1]!r}; {advice}"
            raise BadRecord(self._path, problem, field=f"{inside}.problem_id")
        return found


def _verdict(generation: _Generation) -> tuple[str, bool] | None:
    """What a generation says of its one reply, or of all its replies if all are right."""
    if generation.testcases is not None:
        return ("all_correct", True) if generation.all_correct else None
    named = (("oc_correct", generation.oc_correct), ("mc_correct", generation.mc_correct))
    return next(((name, right) for name, right in named if right is not None), None)


def _of_all(field: str, successes: int | None, generations: int, replies: int) -> tuple[str, bool] | None:
    """What the number of right generations says of each: something if all are right, or none of one reply is."""
    if successes == generations:
        return field, True
    return (field, False) if successes == 0 and replies == 1 else None


def _records(path: Path, document: Any) -> tuple[str, dict[str, Any], list[Any]]:
    """Where the records stand, the object that describes the run, and the records."""
    if isinstance(document, dict):
        bodies = [("", document)] + [(f"{key}.", item) for key, item in document.items() if isinstance(item, dict)]
        for prefix, body in bodies:
            for key in ("results", "execution_choice_results"):
                if isinstance(body.get(key), list) and body[key]:
                    return f"{prefix}{key}", body, body[key]
    raise BadRecord(path, "holds no replies, only scores at most; give the file that has them under 'results'")


CODE_REASONING = Importer(
    name="code-reasoning",
    summary="code-reasoning-repro results: replies to execution prediction or choice, original and mutant",
    sniff=is_code_reasoning,
    read=read_code_reasoning,
)


# ------------ CRUXEval's ``generations.json``: sample id to a list of answers, already cut out of the replies.
# As facebookresearch/cruxeval@190faf1 ``samples/model_generations`` holds them. The scored files of
# ``samples/evaluation_results`` hold the same object under ``raw_generations``; their verdicts are not read.

SCORED = "raw_generations"


def is_cruxeval_generations(source: SourceFile) -> bool:
    """Whether it starts like an object of ``sample_i`` lists, or like a scored file."""
    return re.match(rb'\s*\{\s*"(sample_\d+"\s*:\s*\[|raw_(scored_)?generations"\s*:)', source.head) is not None


def read_cruxeval_generations(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the answers of each problem, in the file's order.

    Raises:
        BadRecord: not such a file, or an unknown problem.
    """
    path = source.path
    document = source.document
    if not isinstance(document, dict):
        raise BadRecord(path, "expected an object that maps sample ids to lists of answers")
    inside = f"{SCORED}." if SCORED in document else ""
    once = TasksOnce(path)
    for raw_id, value in typed(path, document.get(SCORED, document), dict[str, Any], inside=SCORED).items():
        field = f"{inside}{raw_id}"
        problem_id = target.problem(raw_id, path, field=field)
        if problem_id is None:
            continue
        once.add(problem_id, field=field)
        for sample, text in enumerate(target.texts(value, path, field=field)):
            yield target.completion(problem_id, sample, text, form="answer")


CRUXEVAL_GENERATIONS = Importer(
    name="cruxeval-generations",
    summary="CRUXEval generations.json, or a scored file with raw_generations",
    sniff=is_cruxeval_generations,
    read=read_cruxeval_generations,
)


# ------------------------------- ``*_results.jsonl`` of execution-prediction runs: one predicted value a line.
# Fields as in akshsgaur/code-reasoning-repro@6c43fa8 ``src/models/inference.py``: problem_id, model_name,
# generated_code (which holds the predicted output), success, latency_ms.


class _Row(msgspec.Struct):
    problem_id: str | int
    generated_code: str | None
    model_name: str | None = None
    success: bool = True
    latency_ms: float | None = None


def is_results(source: SourceFile) -> bool:
    """Whether the first line holds a problem id and a prediction under its historic name."""
    return {"problem_id", "generated_code"} <= source.keys


def read_results(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield one answer a line; a request that failed (``success`` false) has no text.

    Raises:
        BadRecord: a line is cut, lacks a field or means no problem of the benchmark.
    """
    path = source.path
    seen: Counter[str] = Counter()
    for line, row in json_lines(source, _Row, target.faults):
        if row.success and row.generated_code is None:
            problem = "null although 'success' is true; give the prediction or set success to false"
            target.faults.add(BadRecord(path, problem, line=line, field="generated_code"))
        problem_id = target.problem(row.problem_id, path, line=line, field="problem_id")
        if problem_id is None:
            continue
        yield target.completion(
            problem_id,
            seen[problem_id],
            row.generated_code if row.success else None,
            form="answer",
            model=row.model_name,
            latency_s=None if row.latency_ms is None else row.latency_ms / 1000,
        )
        seen[problem_id] += 1


RESULTS = Importer(
    name="results-jsonl",
    summary="execution-prediction *_results.jsonl: problem_id with generated_code, the predicted value",
    sniff=is_results,
    read=read_results,
    failed="are marked success: false",
)
