"""The command that writes reports: `report`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from truegrade.cli.flags import with_flags
from truegrade.cli.options import (
    cutoff_option,
    data_option,
    echo,
    json_option,
    log_to_option,
    print_json,
    window_option,
)

EXIT_NOT_TRACKED = 1


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--format",
    "file_format",
    default="html",
    show_default=True,
    metavar="FORMAT",
    help="html (one page), or one file per table or figure: png, svg, latex, markdown, csv, json,"
    " bibtex; parquet: a row per sample; model-index, eval-results: YAML for the Hugging Face Hub.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The page, or the folder of the files. [default: report.html or report/ in the run's folder]",
)
@window_option
@cutoff_option
@data_option
@log_to_option
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@json_option
def report(
    runs: tuple[Path, ...], file_format: str, out: Path | None, open_page: bool, as_json: bool, **part: Any
) -> None:
    """Write the report of graded runs: a page, or its tables and figures as files."""
    if out is not None and len(runs) > 1:
        raise click.UsageError("--out names one place, but several runs are given; report them one by one")
    if open_page and file_format != "html":
        raise click.UsageError(f"--open shows a page; {file_format} makes none")
    made = [_report(path, file_format, out, part) for path in runs]
    files = [file for found, _ in made for file in found]
    if as_json:
        print_json([str(file) for file in files])
    else:
        for file in files:
            echo(file)
    if open_page:
        for file in files:
            click.launch(str(file))
    if failures := [failure for _, failure in made if failure]:
        for failure in failures:
            echo(f"truegrade: {failure}", err=True)
        sys.exit(EXIT_NOT_TRACKED)


def _report(path: Path, file_format: str, out: Path | None, part: Mapping[str, Any]) -> tuple[list[Path], str]:
    """The files of one report, and why a tracker did not take the results; empty where nothing failed."""
    from truegrade import api
    from truegrade.store.trackers import NotTracked

    if (path / "evolution.json").is_file():
        return [_of_evolution(path, file_format, out, part)], ""
    if (path / "suite.json").is_file():
        return _of_suite(path, file_format, out, part), ""
    try:
        return api.report_files(path, file_format, out=out, **part), ""
    except NotTracked as error:
        return error.made, with_flags(error)


def _of_suite(folder: Path, file_format: str, out: Path | None, part: Mapping[str, Any]) -> list[Path]:
    """Write the page, or the tables as files, of what `truegrade run` made of several benchmarks or models."""
    from truegrade.errors import UserError
    from truegrade.report.suite_html import export_suite

    if any(part.values()):
        raise UserError(f"{folder}: -T, --cutoff, --data and --log-to are for runs; this folder holds several")
    return export_suite(folder, file_format, out)


def _of_evolution(folder: Path, file_format: str, out: Path | None, part: Mapping[str, Any]) -> Path:
    """Write the page, or the summary as Markdown, of what `truegrade evolve` made."""
    from truegrade.errors import UserError
    from truegrade.evolution.reporting.page import write_report
    from truegrade.evolution.reporting.search_material import gather
    from truegrade.evolution.reporting.summary_text import markdown_summary

    if any(part.values()):
        raise UserError(f"{folder}: -T, --cutoff, --data and --log-to are for runs; this is an evolution")
    if file_format == "html":
        return write_report(gather(folder), out)
    if file_format != "markdown":
        raise UserError(f"{folder}: an evolution has a page (html) and a summary (markdown), no {file_format}")
    path = out or folder / "summary.md"
    path.write_text(markdown_summary(gather(folder)), encoding="utf-8")
    return path
