"""A report as files: one for each table or figure, in the format that a paper or a spreadsheet wants."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from truegrade.errors import UnknownName, UserError
from truegrade.files.extras import require
from truegrade.files.json_text import encode
from truegrade.pipeline.summary import ProfileSummary, Summary
from truegrade.records import Completion, Estimate, Verdict
from truegrade.report import figures
from truegrade.report.agents import budget_chart
from truegrade.report.charts.svg import Chart, png, standalone
from truegrade.report.chosen_samples import NO_REFERENCES, ReportMaterial, gather
from truegrade.report.document import Document, Table, tables
from truegrade.report.html import report_document, write_report
from truegrade.report.methods import bibtex
from truegrade.report.page_parts import show
from truegrade.report.reasoning_document import CHOICE, PREDICTION
from truegrade.report.text_files import TEXTS, csv_lines, split_cells
from truegrade.store import Run
from truegrade.store.facts import CompletionFacts, VerdictFacts, firsts
from truegrade.store.manifest import replacing, write_atomically

# ----------------- One row per sample and profile, for data frames and databases: samples.csv and samples.parquet.


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
    require("parquet", "`file_format` parquet")
    import pyarrow
    from pyarrow import parquet

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


# ----------------------------------------------------------------------------------------------------------------
# Results as the Hugging Face Hub takes them: ``model-index`` of a model card, and files of ``.eval_results``.
# The fields are those of `huggingface_hub` 2.4: ``eval_results_to_model_index`` (``repocard_data.py``) and
# ``eval_result_entries_to_yaml`` (``_eval_results.py``), which the tests read the files back with.


HUB_DATASETS: Mapping[str, str] = MappingProxyType(
    {
        "humaneval": "openai/openai_humaneval",
        "mbpp": "google-research-datasets/mbpp",
        "humanevalplus": "evalplus/humanevalplus",
        "mbppplus": "evalplus/mbppplus",
        "cruxeval": "cruxeval-org/cruxeval",
        "livecodebench": "livecodebench/code_generation_lite",
    }
)
"""Benchmark -> the data set's name on the Hub."""
_SOURCE = {"name": "Truegrade", "url": "https://github.com/truegrade/truegrade"}


def model_index(material: ReportMaterial) -> Iterator[tuple[str, bytes]]:
    """``model-index.yaml``: the block for the front matter of a model card, every estimate under every profile."""
    summary, benchmark = material.summary, material.manifest.benchmark
    asked = f" ({summary.tasks} of {benchmark.problems} problems)" if summary.tasks < benchmark.problems else ""
    result = {
        "task": {"type": "text-generation", "name": "Code generation"},
        "dataset": {
            "name": f"{benchmark.label}{asked}",
            "type": HUB_DATASETS.get(benchmark.label, benchmark.label),
            "args": {**benchmark.args, "sha256": benchmark.dataset_sha256, "problems": summary.tasks},
        },
        "metrics": [_metric(profile, each) for profile in summary.profiles for each in profile.estimates],
        "source": _SOURCE,
    }
    content = {"model-index": [{"name": summary.model.rpartition("/")[2] or summary.model, "results": [result]}]}
    yield "model-index.yaml", as_yaml(content).encode()


def eval_results(material: ReportMaterial) -> Iterator[tuple[str, bytes]]:
    """``.eval_results/BENCHMARK-PROFILE.yaml``, one file a profile: its first estimate in percent.

    Raises:
        UserError: the Hub has no data set of the benchmark, or the run covers a part of it.
    """
    summary, benchmark = material.summary, material.manifest.benchmark
    if benchmark.label not in HUB_DATASETS:
        known = ", ".join(HUB_DATASETS)
        raise UserError(
            f".eval_results files are of data sets of the Hub ({known}); for {benchmark.label} use model-index"
        )
    covered = min(summary.tasks, *(profile.estimates[0].tasks for profile in summary.profiles))
    if covered < benchmark.problems:
        raise UserError(
            f".eval_results files are of whole benchmarks, and this run covers {covered} of the"
            f" {benchmark.problems} problems of {benchmark.label}; use model-index"
        )
    for profile in summary.profiles:
        headline = profile.estimates[0]
        entry = {
            "dataset": {"id": HUB_DATASETS[benchmark.label], "task_id": "default"},
            "value": round(100 * headline.value, 2),
            "date": material.manifest.profiles.get(profile.profile, material.manifest.created),
            "source": _SOURCE,
            "notes": f"{headline.metric} in percent under {profile.profile}{_bounds(headline)};"
            f" {headline.samples} samples of {headline.tasks} problems",
        }
        name = f"{benchmark.label}-{profile.profile.partition('@')[0]}.yaml"
        yield f".eval_results/{name}", as_yaml([entry]).encode()


def _metric(profile: ProfileSummary, estimate: Estimate) -> dict[str, Any]:
    bounds = {} if estimate.low is None or estimate.high is None else {"low": estimate.low, "high": estimate.high}
    return {
        "type": estimate.metric,
        "value": estimate.value,
        "name": f"{estimate.metric} ({profile.profile})",
        "config": profile.profile,
        "args": {
            **bounds,
            "confidence": estimate.confidence,
            "method": estimate.method,
            "samples": estimate.samples,
            "problems": estimate.tasks,
        },
    }


def _bounds(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f", {estimate.confidence:.0%} confidence interval {100 * estimate.low:.1f} to {100 * estimate.high:.1f}"


def as_yaml(value: Any, depth: int = 0) -> str:
    """Mappings and lists as indented YAML; texts in double quotes, so that none is read as something else."""
    space = "  " * depth
    if isinstance(value, Mapping) and value:
        return "".join(f"{space}{_scalar(name)}:{_below(each, depth)}" for name, each in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{space}-{_below(each, depth)}" for each in value)
    return f"{space}{_scalar(value)}\n"


def _below(value: Any, depth: int) -> str:
    nested = isinstance(value, Mapping | list) and value
    return f"\n{as_yaml(value, depth + 1)}" if nested else f" {_scalar(value)}\n"


def _scalar(value: Any) -> str:
    """As JSON writes it, but for what YAML 1.1 reads otherwise: pairs of surrogates, ``1e-05`` without a dot."""
    if isinstance(value, str):
        return f'"{"".join(map(_character, value))}"'
    text = json.dumps(value)
    return text.replace("e", ".0e") if isinstance(value, float) and "e" in text and "." not in text else text


def _character(one: str) -> str:
    return json.dumps(one)[1:-1] if ord(one) < 0x10000 else f"\\U{ord(one):08x}"


FORMATS = (
    "html",
    "png",
    "svg",
    "latex",
    "markdown",
    "csv",
    "parquet",
    "json",
    "bibtex",
    "model-index",
    "eval-results",
)
FOLDER = "report"
"""Where the files go inside a run's folder."""

Files = Iterator[tuple[str, bytes]]
"""Name and content."""


def export_report(
    run: Run,
    file_format: str,
    out: Path | None = None,
    summary: Summary | None = None,
    references: Mapping[str, str] = NO_REFERENCES,
) -> list[Path]:
    """Write a report as files and return their paths.

    Args:
        run: graded.
        file_format: one of `FORMATS`.
        out: for ``html`` the file, else the folder of the files; None for the run's own folder.
        summary: of the part that is reported; None for the stored one.
        references: as of `write_report`, for ``html``.

    Raises:
        UnknownName: no such format.
        UserError: the run was not graded yet, PNG cannot be made here, or ``out`` is no folder.
    """
    if file_format not in FORMATS:
        raise UnknownName("report format", file_format, FORMATS)
    if file_format == "html":
        page = out or run.outputs / "report.html"
        make_folder(page.parent)
        return [write_report(run, page, summary, references)]
    folder = out or run.outputs / FOLDER
    material = gather(run, summary)
    made = write_files(folder, dict(_WRITERS[file_format](material)) if file_format in _WRITERS else {})
    if table := SAMPLE_TABLES.get(file_format):
        make_folder(folder)
        made.append(folder / f"samples.{file_format}")
        with replacing(made[-1]) as file:
            table(sample_rows(run, material), file)
    return made


def charts(material: ReportMaterial) -> dict[str, Chart]:
    """The figures of a run by the name of their file."""
    summary = material.summary
    found: dict[str, Chart | None] = {
        "score": figures.score_chart(summary),
        "profiles": figures.rules_chart(material.matrix, summary),
        "pass-at-k": figures.curve_chart(summary),
        "reasons": figures.reasons_chart(summary),
        "token-budget": budget_chart([(of.profile, of.budget) for of in summary.profiles if of.budget]),
    }
    for profile in summary.profiles:
        suffix = f"-{profile.profile.partition('@')[0]}" if len(summary.profiles) > 1 else ""
        found |= {f"{name}{suffix}": chart for name, chart in _reasoning(profile).items()}
    for distribution in material.distributions:
        found[distribution.name.replace(" ", "-")] = figures.distribution_chart(distribution)
    found["unanswered"] = figures.truncation_chart(summary)
    return {name: chart for name, chart in found.items() if chart is not None}


def _reasoning(profile: ProfileSummary) -> dict[str, Chart | None]:
    made: dict[str, Chart | None] = {}
    found = profile.reasoning
    if found is not None and found.prediction is not None:
        made["prediction"] = figures.prediction_chart(found.prediction, PREDICTION)
        made["differences"] = figures.differences_chart(found.prediction.differences)
        made["operators"] = figures.mutation_chart(found.prediction.by_mutation)
    if found is not None and found.choice is not None:
        made["choice"] = figures.choice_chart(found.choice, CHOICE)
        made["choice-order"] = figures.order_chart(found.choice, CHOICE)
    return made


# ---------------------------------------------------------------------------------------------- writers


def _svg(material: ReportMaterial) -> Files:
    for name, chart in charts(material).items():
        yield f"{name}.svg", standalone(chart).encode()


def _png(material: ReportMaterial) -> Files:
    for name, chart in charts(material).items():
        yield f"{name}.png", png(standalone(chart))


def _texts(file_format: str) -> Callable[[ReportMaterial], Files]:
    def files(material: ReportMaterial) -> Files:
        for name, text in show(report_document(material), file_format).items():
            yield name, text.encode()

    return files


def _json(material: ReportMaterial) -> Files:
    document = report_document(material)
    content = {
        "benchmark": material.summary.benchmark,
        "model": material.summary.model,
        "methods": document.methods,
        "tables": {table.slug: _table(table) for table in tables(document.sections)},
        "distributions": material.distributions,
        "warnings": material.summary.warnings,
        "findings": material.findings,
    }
    yield "report.json", encode(content, indent=2) + b"\n"


def _table(table: Table) -> dict[str, Any]:
    columns, rows = split_cells(table)
    return {"caption": table.caption + table.alone, "columns": columns, "rows": rows}


def _bibtex(material: ReportMaterial) -> Files:
    yield "references.bib", bibtex(material.manifest, material.summary).encode()


_WRITERS: Mapping[str, Callable[[ReportMaterial], Files]] = MappingProxyType(
    {
        "svg": _svg,
        "png": _png,
        "json": _json,
        "bibtex": _bibtex,
        "model-index": model_index,
        "eval-results": eval_results,
        **{file_format: _texts(file_format) for file_format in TEXTS},
    }
)


def write_files(folder: Path, made: Mapping[str, bytes]) -> list[Path]:
    """Write files into a folder, which is made, and return their paths.

    Raises:
        UserError: the folder cannot be made.
    """
    for name, content in made.items():
        make_folder((folder / name).parent)
        write_atomically(folder / name, content)
    return [folder / name for name in made]


def write_document_tables(document: Document, file_format: str, folder: Path) -> list[Path]:
    """Write the tables of a document into a folder, which is made, and return their paths.

    Args:
        file_format: a name of `TEXTS`.

    Raises:
        UnknownName: no such format.
        UserError: the folder cannot be made.
    """
    if file_format not in TEXTS:
        raise UnknownName("format of a table", file_format, TEXTS)
    return write_files(folder, {name: text.encode() for name, text in show(document, file_format).items()})


def make_folder(folder: Path) -> None:
    """Make a folder and those above it.

    Raises:
        UserError: it cannot be.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}; give another `out`") from None
