"""A report as files: one for each table or figure, in the format that a paper or a spreadsheet wants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from truegrade.errors import UnknownName, UserError
from truegrade.files.json_text import encode
from truegrade.pipeline.summary import ProfileSummary, Summary
from truegrade.report import figures
from truegrade.report.budget_parts import budget_chart
from truegrade.report.charts.svg import Chart
from truegrade.report.charts.svg_file import png, standalone
from truegrade.report.citation import bibtex
from truegrade.report.exhibit_text import TEXTS, latex
from truegrade.report.exhibits import Cell, Exhibit, exhibits
from truegrade.report.html import write_report
from truegrade.report.methods import sentences
from truegrade.report.model_card import eval_results, model_index
from truegrade.report.reasoning_wording import CHOICE, PREDICTION
from truegrade.report.report_material import ReportMaterial, gather
from truegrade.report.sample_table import SAMPLE_TABLES, sample_rows
from truegrade.store import Run
from truegrade.store.manifest import write_atomically

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
    run: Run, file_format: str, out: Path | None = None, summary: Summary | None = None
) -> list[Path]:
    """Write a report as files and return their paths.

    Args:
        run: graded.
        file_format: one of `FORMATS`.
        out: for ``html`` the file, else the folder of the files; None for the run's own folder.
        summary: of the part that is reported; None for the stored one.

    Raises:
        UnknownName: no such format.
        UserError: the run was not graded yet, PNG cannot be made here, or ``out`` is no folder.
    """
    if file_format not in FORMATS:
        raise UnknownName("report format", file_format, FORMATS)
    if file_format == "html":
        page = out or run.outputs / "report.html"
        make_folder(page.parent)
        return [write_report(run, page, summary)]
    folder = out or run.outputs / FOLDER
    material = gather(run, summary)
    made = list(_WRITERS[file_format](material)) if file_format in _WRITERS else []
    if table := SAMPLE_TABLES.get(file_format):
        made.append((f"samples.{file_format}", table(sample_rows(run, material))))
    for name, content in made:
        make_folder((folder / name).parent)
        write_atomically(folder / name, content)
    return [folder / name for name, _ in made]


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
    ending, write = TEXTS[file_format]

    def files(material: ReportMaterial) -> Files:
        for exhibit in exhibits(material.summary, material.matrix):
            yield f"{exhibit.slug}{ending}", write(exhibit).encode()
        words = " ".join(sentences(material.manifest, material.summary))
        if file_format == "latex":
            yield "methods.tex", f"{latex(words)}\n".encode()
        elif file_format == "markdown":
            yield "methods.md", f"{words}\n".encode()

    return files


def _json(material: ReportMaterial) -> Files:
    content = {
        "benchmark": material.summary.benchmark,
        "model": material.summary.model,
        "methods": " ".join(sentences(material.manifest, material.summary)),
        "tables": {table.slug: _table(table) for table in exhibits(material.summary, material.matrix)},
        "distributions": material.distributions,
        "warnings": material.summary.warnings,
        "findings": material.findings,
    }
    yield "report.json", encode(content, indent=2) + b"\n"


def _table(table: Exhibit) -> dict[str, Any]:
    rows: list[list[Cell]] = table.rows
    return {"caption": table.caption, "columns": table.head, "rows": rows}


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


def make_folder(folder: Path) -> None:
    """Make a folder and those above it.

    Raises:
        UserError: it cannot be.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}; give another `out`") from None
