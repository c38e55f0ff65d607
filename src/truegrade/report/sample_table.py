"""One row per sample and profile, for data frames and databases: ``samples.csv`` and ``samples.parquet``."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from truegrade.errors import UserError
from truegrade.report.chosen_samples import ReportMaterial
from truegrade.report.text_files import csv_text
from truegrade.store import Run

COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "run": "string",
        "benchmark": "string",
        "dataset_sha256": "string",
        "model": "string",
        "profile": "string",
        "problem_id": "string",
        "sample": "int64",
        "cluster": "string",
        "passed": "bool",
        "reason": "string",
        "detail": "string",
        "marks": "string",
        "truncated": "bool",
        "time_sensitive": "bool",
        "cpu_s": "float64",
        "completion_sha256": "string",
        "finish_reason": "string",
        "input_tokens": "int64",
        "output_tokens": "int64",
        "latency_s": "float64",
        "cost_usd": "float64",
    }
)
"""Name -> type in Parquet. Texts are left out: ``completions.jsonl`` holds them under `completion_sha256`."""


def sample_rows(run: Run, material: ReportMaterial) -> list[dict[str, Any]]:
    """The verdicts that count, profile by profile in the order of the journals, with what their replies took.

    Args:
        run: graded.
        material: of the run, or of the part that is reported.
    """
    replies = {facts.key: facts for facts in run.completion_facts() if facts.answered}
    summary = material.summary
    rows: list[dict[str, Any]] = []
    for profile in summary.profiles:
        clusters = {task.id: task.cluster for task in profile.tasks}
        found: dict[Any, dict[str, Any]] = {}
        for verdict in run.verdicts(profile.profile):
            if verdict.problem_id not in clusters or verdict.sample >= summary.samples_per_task:
                continue
            reply = replies.get(verdict.key)
            usage = reply.usage if reply else None
            found[verdict.key] = {
                "run": run.path.resolve().name,
                "benchmark": verdict.benchmark,
                "dataset_sha256": verdict.dataset_sha256,
                "model": reply.model if reply else summary.model,
                "profile": verdict.profile,
                "problem_id": verdict.problem_id,
                "sample": verdict.sample,
                "cluster": clusters[verdict.problem_id],
                "passed": verdict.passed,
                "reason": verdict.reason.value,
                "detail": verdict.detail,
                "marks": " ".join(verdict.marks),
                "truncated": verdict.truncated,
                "time_sensitive": verdict.time_sensitive,
                "cpu_s": verdict.cpu_s,
                "completion_sha256": verdict.completion_sha256,
                "finish_reason": reply.finish_reason if reply else None,
                "input_tokens": usage.input_tokens if usage else None,
                "output_tokens": usage.output_tokens if usage else None,
                "latency_s": reply.latency_s if reply else None,
                "cost_usd": reply.cost_usd if reply else None,
            }
        rows += found.values()
    return rows


def _csv(rows: list[dict[str, Any]]) -> bytes:
    lines = [list(COLUMNS), *([_told(row[name]) for name in COLUMNS] for row in rows)]
    return csv_text(lines).encode("utf-8", "backslashreplace")


def _told(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    """Raises UserError where pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UserError("pyarrow is not installed; pip install 'truegrade[parquet]'") from None
    kinds = {"string": pyarrow.string(), "int64": pyarrow.int64(), "bool": pyarrow.bool_(),
             "float64": pyarrow.float64()}  # fmt: skip
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    whole = [{name: _readable(value) for name, value in row.items()} for row in rows]
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(whole, schema=schema), buffer, compression="zstd")
    return buffer.getvalue()


def _readable(value: Any) -> Any:
    """A text without halves of surrogate pairs, which UTF-8 cannot store."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


SAMPLE_TABLES: Mapping[str, Callable[[list[dict[str, Any]]], bytes]] = MappingProxyType(
    {"csv": _csv, "parquet": _parquet}
)
"""Report format -> what writes ``samples.FORMAT``."""
