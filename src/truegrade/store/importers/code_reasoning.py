"""Result files of execution-reasoning runs: replies to prediction and choice prompts, original and mutant.

akshsgaur/code-reasoning-repro@6c43fa8 ``experiments/results``. Two writers: ``src/models/bedrock_claude*`` puts
its records under ``prediction.results`` or ``choice.execution_choice_results``, the notebooks under ``results``.
Only the replies are read; the predictions and scores beside them were extracted by rules that lose right answers.
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
from truegrade.store.importers.base import UNKNOWN_MODEL, Importer, Target
from truegrade.store.importers.reading import json_document, typed

_KEYS = re.compile(
    rb'"(?:original_predictions|execution_choice_results|original_first|execution_choice_summary)"\s*:'
)


class _Reply(msgspec.Struct):
    response: str | None = None
    latency_s: float | None = None


class _Generation(_Reply):
    testcases: list[_Reply] | None = None
    """A reply per case, where a record is a whole row (Bedrock on DSL-List and LLM-List)."""


class _PredictionRecord(msgspec.Struct):
    problem_id: str | int
    case_idx: int | None = None
    case_index: int | None = None
    original_predictions: list[_Generation] | None = None
    mutated_predictions: list[_Generation] | None = None


class _ChoiceRecord(_Reply, kw_only=True):
    problem_id: str | int
    original_first: bool
    case_idx: int | None = None


def sniff(head: bytes, path: Path) -> bool:
    """Whether it starts like an object and names the fields that only these files have."""
    return head.lstrip()[:1] == b"{" and _KEYS.search(head) is not None


def read(path: Path, target: Target) -> Iterator[Completion]:
    """Yield one reply per program, case and generation, or per case and order of a choice.

    Raises:
        BadRecord: not such a file, one that holds scores only, or a reply to no problem of the benchmark.
    """
    document = json_document(path)
    place, body, records = _records(path, document)
    model = body.get("bedrock_model_id") or body.get("model")
    reader = _Reader(path, target, model if isinstance(model, str) else UNKNOWN_MODEL)
    for number, record in enumerate(records):
        inside = f"{place}[{number}]"
        if isinstance(record, dict) and "original_first" in record:
            yield reader.choice(typed(path, record, _ChoiceRecord, inside=inside), inside)
        else:
            yield from reader.predictions(typed(path, record, _PredictionRecord, inside=inside), inside)


class _Reader:
    """Turns records into completions; numbers the samples of a problem in the order they occur."""

    def __init__(self, path: Path, target: Target, model: str) -> None:
        self._path, self._target, self._model = path, target, model
        self._samples: Counter[str] = Counter()
        self._cases: Counter[tuple[str, bool]] = Counter()

    def predictions(self, record: _PredictionRecord, inside: str) -> Iterator[Completion]:
        """Every generation on the original, then every one on the mutant."""
        case = record.case_idx if record.case_idx is not None else record.case_index or 0
        lists = (("", record.original_predictions), ("~mutant", record.mutated_predictions))
        for suffix, generations in lists:
            for generation in generations or ():
                replies = [generation] if generation.testcases is None else generation.testcases
                for number, reply in enumerate(replies, start=case):
                    yield self._completion(record.problem_id, number, suffix, reply, inside)

    def choice(self, record: _ChoiceRecord, inside: str) -> Completion:
        """One choice; a record that names no case is about the next one in its order."""
        seen = (str(record.problem_id), record.original_first)
        case = record.case_idx if record.case_idx is not None else self._cases[seen]
        self._cases[seen] += 1
        return self._completion(record.problem_id, case, "~AB" if record.original_first else "~BA", record, inside)

    def _completion(self, row: str | int, case: int, suffix: str, reply: _Reply, inside: str) -> Completion:
        problem_id = self._problem(row, case, suffix, inside)
        self._samples[problem_id] += 1
        return self._target.completion(
            problem_id,
            self._samples[problem_id] - 1,
            reply.response,
            form="reply",
            model=self._model,
            latency_s=reply.latency_s,
        )

    def _problem(self, row: str | int, case: int, suffix: str, inside: str) -> str:
        """``ROW/caseK`` of a row with several cases, ``ROW`` of one with a single case."""
        known = self._target.ids.exact
        names = [f"{row}/case{case}{suffix}", *([f"{row}{suffix}"] if case == 0 else [])]
        found = next((name for name in names if name in known), None)
        if found is None:
            advice = "give the data file that it was made from with --data"
            if suffix in ("~AB", "~BA"):
                advice = f"grade it as execution-choice, with -T cases=all, and {advice}"
            problem = f"the benchmark has no problem {names[-1]!r}; {advice}"
            raise BadRecord(self._path, problem, field=f"{inside}.problem_id")
        return found


def _records(path: Path, document: Any) -> tuple[str, dict[str, Any], list[Any]]:
    """Where the records stand, the object that describes the run, and the records."""
    if isinstance(document, dict):
        bodies = [("", document)] + [(f"{key}.", item) for key, item in document.items() if isinstance(item, dict)]
        for prefix, body in bodies:
            for key in ("results", "execution_choice_results"):
                if isinstance(body.get(key), list) and body[key]:
                    return f"{prefix}{key}", body, body[key]
    raise BadRecord(path, "holds no replies, only scores at most; give the file that has them under 'results'")


IMPORTER = Importer(
    name="code-reasoning",
    summary="code-reasoning-repro results: replies to execution prediction or choice, original and mutant",
    sniff=sniff,
    read=read,
)
