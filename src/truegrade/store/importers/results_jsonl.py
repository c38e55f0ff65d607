"""``*_results.jsonl`` of execution-prediction runs: one predicted value a line.

Fields as in akshsgaur/code-reasoning-repro@6c43fa8 ``src/models/inference.py``: problem_id, model_name,
generated_code (which holds the predicted output), success, latency_ms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import Completion
from truegrade.store.importers.base import UNKNOWN_MODEL, Importer, ImportTarget
from truegrade.store.importers.reading import SourceFile, json_lines


class _Row(msgspec.Struct):
    problem_id: str | int
    generated_code: str | None
    model_name: str = UNKNOWN_MODEL
    success: bool = True
    latency_ms: float | None = None


def sniff(source: SourceFile) -> bool:
    """Whether the first line holds a problem id and a prediction under its historic name."""
    return {"problem_id", "generated_code"} <= source.keys


def read(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
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


IMPORTER = Importer(
    name="results-jsonl",
    summary="execution-prediction *_results.jsonl: problem_id with generated_code, the predicted value",
    sniff=sniff,
    read=read,
    failed="are marked success: false",
)
