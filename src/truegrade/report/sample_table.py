"""One row per sample and profile, for data frames and databases: ``samples.csv`` and ``samples.parquet``."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import chain, islice
from types import MappingProxyType
from typing import IO, Any

from truegrade.errors import UserError
from truegrade.records import Completion, Verdict
from truegrade.report.chosen_samples import ReportMaterial
from truegrade.report.text_files import csv_lines
from truegrade.store import Run
from truegrade.store.facts import CompletionFacts, VerdictFacts, firsts

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


def sample_rows(run: Run, material: ReportMaterial) -> Iterator[dict[str, Any]]:
    """The verdicts that count, profile by profile in the order of the journals, with what their replies took.

    Args:
        run: graded.
        material: of the run, or of the part that is reported.
    """
    summary = material.summary
    known = {task.id for profile in summary.profiles for task in profile.tasks}

    def counts(reply: CompletionFacts) -> bool:
        """Whether it may be asked for, and is one."""
        return reply.answered and reply.problem_id in known and reply.sample < summary.samples_per_task

    with run.last_completions(counts) as replies:
        for profile in summary.profiles:
            clusters = {task.id: task.cluster for task in profile.tasks}
            for verdict in _last_verdicts(run, profile.profile, clusters, summary.samples_per_task):
                yield _row(verdict, replies.of(verdict), clusters[verdict.problem_id], run, summary.model)


def _last_verdicts(run: Run, profile: str, tasks: Container[str], samples_per_task: int) -> Iterator[Verdict]:
    """The last verdict of each sample, in the order of the first."""

    def counts(verdict: VerdictFacts) -> bool:
        return verdict.problem_id in tasks and verdict.sample < samples_per_task

    with run.last_verdicts(profile, counts) as last:
        for first in firsts(filter(counts, run.verdict_facts(profile))):
            if (verdict := last.of(first)) is not None:
                yield verdict


def _row(verdict: Verdict, reply: Completion | None, cluster: str, run: Run, model: str) -> dict[str, Any]:
    usage = reply.usage if reply else None
    return {
        "run": run.path.resolve().name,
        "benchmark": verdict.benchmark,
        "dataset_sha256": verdict.dataset_sha256,
        "model": reply.model if reply else model,
        "profile": verdict.profile,
        "problem_id": verdict.problem_id,
        "sample": verdict.sample,
        "cluster": cluster,
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


def _csv(rows: Iterable[Mapping[str, Any]], file: IO[bytes]) -> None:
    lines = chain([list(COLUMNS)], ([_told(row[name]) for name in COLUMNS] for row in rows))
    file.writelines(line.encode("utf-8", "backslashreplace") for line in csv_lines(lines))


def _told(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


ROWS_OF_A_BATCH, BATCHES_OF_A_GROUP = 10_000, 10
"""What is held as objects, and as Arrow's columns until a row group of Parquet is written."""


def _parquet(rows: Iterable[Mapping[str, Any]], file: IO[bytes]) -> None:
    """Raises UserError where pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UserError("pyarrow is not installed; pip install 'truegrade[parquet]'") from None
    kinds = {"string": pyarrow.string(), "int64": pyarrow.int64(), "bool": pyarrow.bool_(),
             "float64": pyarrow.float64()}  # fmt: skip
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    whole = ({name: _readable(value) for name, value in row.items()} for row in rows)
    lists = iter(lambda: list(islice(whole, ROWS_OF_A_BATCH)), [])
    batches = (pyarrow.RecordBatch.from_pylist(each, schema=schema) for each in lists)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := list(islice(batches, BATCHES_OF_A_GROUP)):
            writer.write_table(pyarrow.Table.from_batches(group))


def _readable(value: Any) -> Any:
    """A text without halves of surrogate pairs, which UTF-8 cannot store."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


SAMPLE_TABLES: Mapping[str, Callable[[Iterable[Mapping[str, Any]], IO[bytes]], None]] = MappingProxyType(
    {"csv": _csv, "parquet": _parquet}
)
"""Report format -> what writes ``samples.FORMAT``."""
