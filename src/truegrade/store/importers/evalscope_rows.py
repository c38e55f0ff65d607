"""EvalScope's ``predictions/`` and ``reviews/``: one sample a line.

Predictions hold the model's whole output; reviews the text that was scored and the score
(modelscope/evalscope@fde259d2 ``evalscope/api/evaluator/cache.py``, ``evalscope/api/metric/scorer.py``). A row's
``index`` counts samples, repeats included, and is no task; the task's id is in the metadata. LiveCodeBench's rows
are saved without metadata (``save_metadata = False``, ``evalscope/benchmarks/live_code_bench/``); their problem is
the one whose question stands in the prompt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import Completion
from truegrade.store.importers.base import UNKNOWN_MODEL, Importer, ImportTarget
from truegrade.store.importers.outputs import Output, OutputMessage
from truegrade.store.importers.reading import SourceFile, json_lines

_STARTER = "### Format: You will use the following starter code"
_QUESTION = re.compile(r"\A### Question:\n(.*)\n\n### Format: ", re.DOTALL)


class _Score(msgspec.Struct):
    prediction: str | None = None
    extracted_prediction: str | None = None
    value: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class _SampleScore(msgspec.Struct):
    score: _Score
    sample_metadata: dict[str, Any] | None = None


class EvalScopeRow(msgspec.Struct):
    """A line of either kind; what the other kind holds is None."""

    index: int
    model: str | None = UNKNOWN_MODEL
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


def sniff(source: SourceFile) -> bool:
    """Whether the first line holds an index with an output or a score."""
    return "index" in source.keys and bool(source.keys & {"model_output", "sample_score"})


def read(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield one reply a line; the lines of a task are its samples, in the file's order.

    Raises:
        BadRecord: a line is cut, lacks a field or means no problem of the benchmark.
    """
    path = source.path
    seen: Counter[str] = Counter()
    for line, row in json_lines(source, EvalScopeRow, target.faults):
        problem_id = _problem(path, line, row, target)
        if problem_id is None:
            continue
        output = row.model_output or Output()
        yield target.completion(
            problem_id,
            seen[problem_id],
            row.text,
            form="reply",
            model=row.model or UNKNOWN_MODEL,
            latency_s=output.time,
            usage=output.usage,
            finish_reason=row.finish_reason,
            reasoning=output.reasoning,
        )
        seen[problem_id] += 1


def _problem(path: Path, line: int, row: EvalScopeRow, target: ImportTarget) -> str | None:
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


IMPORTER = Importer(
    name="evalscope",
    summary="EvalScope predictions and reviews: index with model_output or sample_score",
    sniff=sniff,
    read=read,
)
