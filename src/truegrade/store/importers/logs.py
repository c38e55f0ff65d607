"""Logs of Inspect AI and EvalScope, and what a model said in the shape that both share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import TOOL_CALLS, Completion, Form, Usage
from truegrade.store.importers.base import Importer, ImportTarget
from truegrade.store.importers.reading import (
    ZIP_MAGIC,
    Documents,
    RowFaults,
    SourceFile,
    json_lines,
    opened_zip,
    typed,
)

# ---------------------------------------- What a model said, in the shape that Inspect AI and EvalScope share.
# UKGovernmentBEIS/inspect_ai@0.3.285 ``model/_model_output.py``, ``_util/content.py``; EvalScope took the shape
# over (modelscope/evalscope@fde259d2 ``evalscope/api/model/model_output.py``).

CUT: Mapping[str, str] = MappingProxyType({"max_tokens": "length", "model_length": "length"})
"""What they call a reply that was cut at a token limit, and what services call it."""


def finish_reason_of(stop_reason: str | None) -> str | None:
    """Why a reply ended, in the words of the services."""
    return None if stop_reason is None else CUT.get(stop_reason, stop_reason)


class OutputPart(msgspec.Struct):
    """A piece of a message: text, thinking, or neither."""

    text: str | None = ""
    reasoning: str | None = ""


class OutputMessage(msgspec.Struct):
    """One turn."""

    content: str | list[OutputPart] | None = None
    role: str = ""
    tool_calls: Any = None

    @property
    def text(self) -> str:
        """Its words."""
        return self.content if isinstance(self.content, str) else "".join(part.text or "" for part in self.parts)

    @property
    def parts(self) -> list[OutputPart]:
        """Its pieces, where it has any."""
        return self.content if isinstance(self.content, list) else []

    @property
    def reasoning(self) -> str | None:
        """Thinking that the service delivered apart from the words."""
        return "\n".join(part.reasoning for part in self.parts if part.reasoning) or None


class OutputChoice(msgspec.Struct):
    """One of the answers to a request."""

    message: OutputMessage
    stop_reason: str | None = None


class Output(msgspec.Struct):
    """The answer to a request; without choices where it failed."""

    model: str | None = ""
    choices: list[OutputChoice] | None = []
    usage: Usage | None = None
    time: float | None = None
    """Seconds."""

    @property
    def text(self) -> str | None:
        """The words of the first choice; None where the request failed, or nothing was said."""
        if not self.choices or self.choices[0].message.content is None:
            return None
        return self.choices[0].message.text

    @property
    def reasoning(self) -> str | None:
        """Its thinking."""
        return self.choices[0].message.reasoning if self.choices else None

    @property
    def finish_reason(self) -> str | None:
        """Why it ended, in the words of the services."""
        if not self.choices:
            return None
        message, reason = self.choices[0].message, finish_reason_of(self.choices[0].stop_reason)
        return TOOL_CALLS if message.tool_calls and reason != "length" else reason


# ---------------------- Inspect AI's logs: ``.eval``, a zip of JSON documents, and ``.json``, the same in one.
# Members, fields and the values of scores: UKGovernmentBEIS/inspect_ai@0.3.285 ``log/_log.py``,
# ``log/_recorders/eval.py``, ``scorer/_metric.py``. A sample without an id is numbered from 1 by Inspect, so a
# bare number is taken for an id only where the question is that problem's.

OURS = "truegrade"
TASKS: Mapping[str, str] = MappingProxyType({"humaneval": "humaneval", "mbpp": "mbpp-sanitized"})
"""Benchmark by the task of inspect_evals 0.26.0 that asks it (``humaneval/humaneval.py``, ``mbpp/mbpp.py``)."""

FORM = "truegrade_form"
"""Metadata of a sample in which our own export keeps what its text is."""
_FORMS: tuple[Form, ...] = ("reply", "completion", "program", "answer")

_HEADERS = ("header.json", "_journal/start.json")
"""What names the task; the second is all that a log has that was never finished."""
_SAMPLE = re.compile(r"samples/.+_epoch_\d+\.json")
_CHUNKED = re.compile(r"samples/.+_epoch_\d+/sample\.json")
_DOCUMENT = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"')


class _Spec(msgspec.Struct):
    task: str
    model: str | None = None
    metadata: dict[str, Any] | None = None


class _Log(msgspec.Struct):
    """A log in one document, or the head of one in several."""

    eval: _Spec
    samples: list[Any] | None = None


class _Score(msgspec.Struct):
    value: Any = None


class InspectSample(msgspec.Struct):
    """One reply to one question, with what Inspect's scorers said of it."""

    id: int | str
    epoch: Annotated[int, msgspec.Meta(ge=1)] = 1
    input: str | list[OutputMessage] = ""
    output: Output | None = None
    scores: dict[str, _Score] | None = None
    metadata: dict[str, Any] | None = None

    @property
    def question(self) -> str:
        """All that was asked."""
        return self.input if isinstance(self.input, str) else "\n".join(message.text for message in self.input)

    @property
    def form(self) -> Form:
        """What the text is: a reply, unless our own export says otherwise."""
        own = (self.metadata or {}).get(FORM)
        return next((form for form in _FORMS if form == own), "reply")

    @property
    def passed(self) -> bool | None:
        """The verdict of the first scorer, whose metric Inspect prints first; None where it is neither right nor
        wrong. ``N`` is no answer, which Inspect counts as 0.
        """
        value = next((score.value for score in (self.scores or {}).values()), None)
        if isinstance(value, str):
            return {"C": True, "I": False, "N": False}.get(value)
        return bool(value) if value in (0, 1) else None


def is_inspect_log(source: SourceFile) -> bool:
    """Whether it is a zip that holds a log's head, or starts as a log in one document does."""
    if not source.head.startswith(ZIP_MAGIC):
        return _DOCUMENT.match(source.head) is not None
    try:
        with opened_zip(source) as documents:
            return not set(_HEADERS).isdisjoint(documents.names)
    except BadRecord:
        return source.path.suffix == ".eval"


def answers(source: SourceFile) -> str:
    """The benchmark that the log's task asks.

    Raises:
        BadRecord: the task is not known.
    """
    task = _spec(source).task
    known = _benchmark_of(task)
    if known is None:
        problem = f"the task {task!r} is not known here; name the `benchmark` that it asks, such as humaneval"
        raise BadRecord(source.path, problem, field="eval.task")
    return known


def read_inspect_log(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield one reply a sample; epoch 1 is sample 0.

    Raises:
        BadRecord: the log asks another benchmark, or a sample is at fault.
    """
    path = source.path
    spec = _spec(source)
    _refuse_other(path, spec, target)
    seen: set[tuple[str, int]] = set()
    for place, sample in samples_of(source, target.faults):
        problem_id = _problem(path, place, sample, target)
        if problem_id is None:
            continue
        if (problem_id, sample.epoch) in seen:
            problem = f"epoch {sample.epoch} of problem {problem_id} occurs twice; keep one of the two"
            raise BadRecord(path, problem, field=place)
        seen.add((problem_id, sample.epoch))
        output = sample.output or Output()
        yield target.completion(
            problem_id,
            sample.epoch - 1,
            output.text,
            form=sample.form,
            model=output.model or spec.model,
            latency_s=output.time,
            usage=output.usage,
            finish_reason=output.finish_reason,
            reasoning=output.reasoning,
        )


def samples_of(source: SourceFile, faults: RowFaults | None = None) -> Iterator[tuple[str, InspectSample]]:
    """Every sample with its place in the log; one is held at a time, where they are documents of their own.

    Args:
        source: the log.
        faults: told of a sample that is damaged or of another shape; None to raise it.

    Raises:
        BadRecord: the log cannot be read or holds no sample, or one is at fault and nobody is told.
    """
    noted, empty = faults or RowFaults(), True
    for place, stored in _documents(source):
        empty = False
        try:
            sample = typed(source.path, stored(), InspectSample, inside=place)
        except BadRecord as error:
            noted.add(error)
            continue
        yield place, sample
    if empty:
        problem = "the log holds no sample; was its header copied alone, or the task never begun?"
        raise BadRecord(source.path, problem)


def _documents(source: SourceFile) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every sample's place, and what reads it as it is stored."""
    if not source.head.startswith(ZIP_MAGIC):
        samples = typed(source.path, source.document, _Log).samples or ()
        yield from ((f"samples[{number}]", partial(_same, value)) for number, value in enumerate(samples))
        return
    with opened_zip(source) as documents:
        _refuse_chunked(source.path, documents)
        yield from ((name, partial(documents.read, name)) for name in documents.names if _SAMPLE.fullmatch(name))


def _same(value: Any) -> Any:
    return value


def _spec(source: SourceFile) -> _Spec:
    """What the log says it ran."""
    if not source.head.startswith(ZIP_MAGIC):
        return typed(source.path, source.document, _Log).eval
    with opened_zip(source) as documents:
        header = next((name for name in _HEADERS if name in documents.names), None)
        if header is None:
            raise BadRecord(source.path, "a zip without header.json and _journal/start.json is no log of Inspect")
        return typed(source.path, documents.read(header), _Log, inside=header).eval


def _benchmark_of(task: str) -> str | None:
    """What a task asks, by its name: one of ours as it is called here, another package's where it is known."""
    package, _, name = task.rpartition("/")
    return name if package == OURS else TASKS.get(name)


def _family(benchmark: str) -> str:
    """Benchmarks that ask the same questions and differ in their tests."""
    return benchmark.removesuffix("plus").removesuffix("-sanitized")


def _refuse_other(path: Path, spec: _Spec, target: ImportTarget) -> None:
    """Raise BadRecord where the log is known to answer other questions, or those of other data."""
    known = _benchmark_of(spec.task)
    if known is not None and _family(known) != _family(target.benchmark):
        problem = f"the task {spec.task!r} asks {known}, not {target.benchmark}; grade it with `benchmark` {known}"
        raise BadRecord(path, problem, field="eval.task")
    data = (spec.metadata or {}).get("dataset_sha256")
    if known == target.benchmark and isinstance(data, str) and data != target.dataset_sha256:
        problem = (
            f"it answers data set {data[:12]}, but {target.benchmark} was loaded with"
            f" {target.dataset_sha256[:12]}; pass the data file that it was asked from (`data`)"
        )
        raise BadRecord(path, problem, field="eval.metadata.dataset_sha256")


def _refuse_chunked(path: Path, documents: Documents) -> None:
    if any(map(_CHUNKED.fullmatch, documents.names)):
        problem = (
            "its samples are split into chunks; write it anew: inspect log convert --to json --output-dir DIR FILE"
        )
        raise BadRecord(path, problem)


def _problem(path: Path, place: str, sample: InspectSample, target: ImportTarget) -> str | None:
    """The problem by its id, by a bare number only where the question confirms it; None for no known id."""
    problem_id = target.problem(sample.id, path, field=f"{place}.id")
    if problem_id is None:
        return None
    words = target.wordings.get(problem_id, "").strip()
    if isinstance(sample.id, int) and (not words or words not in sample.question):
        problem = (
            f"{sample.id} may be a mere count, because the question is not that of {problem_id}; give the task's"
            " samples the benchmark's ids"
        )
        raise BadRecord(path, problem, field=f"{place}.id")
    return problem_id


INSPECT_LOG = Importer(
    name="inspect",
    summary="a log of Inspect AI: .eval, or .json",
    sniff=is_inspect_log,
    read=read_inspect_log,
    answers=answers,
)


# ------------------------------------------- EvalScope's ``predictions/`` and ``reviews/``: one sample a line.
# Predictions hold the model's whole output; reviews the text that was scored and the score
# (modelscope/evalscope@fde259d2 ``evalscope/api/evaluator/cache.py``, ``evalscope/api/metric/scorer.py``). A
# row's ``index`` counts samples, repeats included, and is no task; the task's id is in the metadata.
# LiveCodeBench's rows are saved without metadata (``save_metadata = False``,
# ``evalscope/benchmarks/live_code_bench/``); their problem is the one whose question stands in the prompt.

_STARTER = "### Format: You will use the following starter code"
_QUESTION = re.compile(r"\A### Question:\n(.*)\n\n### Format: ", re.DOTALL)


class _EvalScopeScore(msgspec.Struct):
    prediction: str | None = None
    extracted_prediction: str | None = None
    value: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class _SampleScore(msgspec.Struct):
    score: _EvalScopeScore
    sample_metadata: dict[str, Any] | None = None


class EvalScopeRow(msgspec.Struct):
    """A line of either kind; what the other kind holds is None."""

    index: int
    model: str | None = None
    model_output: Output | None = None
    metadata: dict[str, Any] | None = None
    sample_score: _SampleScore | None = None
    messages: list[OutputMessage] | None = []
    input: str | None = None
    """The prompt, as older reviews keep it."""

    @property
    def question(self) -> str | None:
        """The question of a LiveCodeBench prompt; None where no prompt of that form was saved."""
        asked = [message.text for message in self.messages or () if message.role == "user"]
        found = (_QUESTION.search(prompt) for prompt in (*asked, self.input or ""))
        return next((match[1] for match in found if match), None)

    @property
    def starts_from_code(self) -> bool:
        """Whether a LiveCodeBench prompt gives starter code, and so asks for a method."""
        return any(
            _STARTER in prompt for prompt in (*(message.text for message in self.messages or ()), self.input or "")
        )

    @property
    def task_id(self) -> str | int | None:
        """The benchmark's own id, from whichever metadata was saved."""
        scored = self.sample_score
        kept = (self.metadata, *((scored.sample_metadata, scored.score.metadata) if scored else ()))
        found = (metadata.get("task_id") for metadata in kept if metadata)
        return next((value for value in found if isinstance(value, str | int)), None)

    @property
    def text(self) -> str | None:
        """What the model said; None where the request failed."""
        if self.sample_score is not None:
            return self.sample_score.score.prediction
        return self.model_output.text if self.model_output else None

    @property
    def finish_reason(self) -> str | None:
        """Why the service stopped, where the row says so."""
        return self.model_output.finish_reason if self.model_output else None


def is_evalscope(source: SourceFile) -> bool:
    """Whether the first line holds an index with an output or a score."""
    return "index" in source.keys and bool(source.keys & {"model_output", "sample_score"})


def read_evalscope(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield one reply a line; the lines of a task are its samples, in the file's order.

    Raises:
        BadRecord: a line is cut, lacks a field or means no problem of the benchmark.
    """
    path = source.path
    seen: Counter[str] = Counter()
    for line, row in json_lines(source, EvalScopeRow, target.faults):
        problem_id = _problem_of_row(path, line, row, target)
        if problem_id is None:
            continue
        output = row.model_output or Output()
        yield target.completion(
            problem_id,
            seen[problem_id],
            row.text,
            form="reply",
            model=row.model,
            latency_s=output.time,
            usage=output.usage,
            finish_reason=row.finish_reason,
            reasoning=output.reasoning,
        )
        seen[problem_id] += 1


def _problem_of_row(path: Path, line: int, row: EvalScopeRow, target: ImportTarget) -> str | None:
    """The problem by its id, else by its question; None where it names none, which is noted."""
    if row.task_id is not None:
        return target.problem(row.task_id, path, line=line, field="task_id")
    if row.question is not None and row.question in target.questions:
        return target.questions[row.question]
    field = "metadata.task_id" if row.question is None else "messages"
    problem = (
        "no metadata names the task; export the run with its metadata"
        if row.question is None
        else f"the benchmark has no problem with the question {row.question[:60]!r}; is it the same release?"
    )
    target.faults.add(BadRecord(path, problem, line=line, field=field))
    return None


EVALSCOPE_ROWS = Importer(
    name="evalscope",
    summary="EvalScope predictions and reviews: index with model_output or sample_score",
    sniff=is_evalscope,
    read=read_evalscope,
)
