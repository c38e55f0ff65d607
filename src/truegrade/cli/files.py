"""The commands that write files, `export`, `pack` and `report` among them, and the completion of shells.

The commands that write files for other tools and other people: `export`, `pack`, `lm-eval-tasks`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

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
    window_option,
    with_flags,
)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "file_format",
    required=True,
    metavar="FORMAT",
    help="human-eval, evalplus, evalplus-results, bigcode, blog, seed-results, livecodebench, livecodebench-eval,"
    " livecodebench-eval-all, evalscope-eval or inspect.",
)
@click.option(
    "--as", "profile", metavar="PROFILE", help="Profile whose rules extract the answers. [default: the format's]"
)
@click.option("--benchmark", "-b", metavar="FILE.py", help="Benchmark file of a run that was made with one.")
@click.option("--data", type=click.Path(path_type=Path), help="Local data file, or a folder that holds it.")
@click.option("--out", type=click.Path(path_type=Path), help="Output file. [default: in the run's folder]")
@json_option
def export(
    run: Path,
    file_format: str,
    profile: str | None,
    benchmark: str | None,
    data: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Write a run in the file format of another tool (docs/formats.md)."""
    from truegrade import api

    path = api.export(run, file_format, profile=profile, benchmark=benchmark, data=data, out=out)
    if as_json:
        print_json({"file": str(path)})
    else:
        echo(path)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="Output file. [default: the run's name with .truegrade]"
)
@json_option
def pack(run: Path, out: Path | None, as_json: bool) -> None:
    """Write a run as one file, which grade, report, compare, view, export, replicate and audit read like a run."""
    from truegrade.store import Run
    from truegrade.store.packing import pack_run

    path = pack_run(Run.open(run), out, notice=notice)
    if as_json:
        print_json({"file": str(path), "bytes": path.stat().st_size})
    else:
        echo(path)


@click.command("lm-eval-tasks")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.argument("benchmarks", nargs=-1, required=True, metavar="BENCHMARK...")
@click.option(
    "--as", "profile", default="strict", show_default=True, help="Profile that writes the prompts and grades."
)
@data_options
@click.option(
    "-n", "--repeats", default=1, show_default=True, type=click.IntRange(min=1), help="Samples per problem."
)
@click.option("--temperature", type=Number(min=0), help="[default: 0 for one sample, 0.8 for several]")
@click.option(
    "--max-tokens", default=2048, show_default=True, type=click.IntRange(min=1), help="Maximum tokens per reply."
)
@json_option
def lm_eval_tasks(
    folder: Path, benchmarks: tuple[str, ...], task_args: dict[str, str], as_json: bool, **options: Any
) -> None:
    """Write benchmarks as tasks of lm-evaluation-harness: a folder for its --include_path."""
    from truegrade.integrations.lm_eval import write_task

    args = dict(task_args)
    prompt = args.pop("prompt", None)
    names = [write_task(folder, name, prompt=prompt, task_args=args, **options) for name in benchmarks]
    if as_json:
        print_json({"folder": str(folder), "tasks": names})
    else:
        echo(f"lm_eval run --include_path {folder} --tasks {','.join(names)} --model ...")


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


# ----------------------------------------------------------------------------------------------------------------
# Shell completion: names of benchmarks, profiles and models behind the options and arguments that take them.


VARIABLE = "_TRUEGRADE_COMPLETE"
"""By which click is asked for completions."""


def _benchmarks() -> Iterable[str]:
    from truegrade.benchmarks import REGISTRY

    return REGISTRY.names()


def _suites() -> Iterable[str]:
    from truegrade.pipeline.suites.table import REGISTRY

    return REGISTRY.names()


def _profiles() -> Iterable[str]:
    from truegrade.profiles import REGISTRY

    return REGISTRY.names()


def _models() -> Iterator[str]:
    from truegrade.models import BASELINES, LOCAL
    from truegrade.models.presets import PRESETS

    yield from (f"baseline/{name}" for name in BASELINES)
    yield from (name for name in LOCAL if name == name.lower())  # the others are patterns: hf/NAME
    yield from PRESETS


def _benchmarks_and_suites() -> Iterator[str]:
    yield from _benchmarks()
    yield from _suites()


NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "benchmark": _benchmarks,
    "benchmarks": _benchmarks,
    "profile": _profiles,
    "profiles": _profiles,
    "model": _models,
    "models": _models,
}
"""Parameter of a command -> what it can be called with."""
OF_GROUPS: dict[str, Callable[[], Iterable[str]]] = {"profiles": _profiles, "suites": _suites}
"""Groups of which every argument is such a name."""


class Named(click.types.StringParamType):
    """A text that may be one of these names, or a file.

    Args:
        names: looked up when a shell asks.
    """

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin so; files where none does, as a file can stand for each."""
        found = [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


def complete_names(group: click.Group) -> None:
    """Let the parameters of a group's commands be completed by what they name."""
    for command in group.commands.values():
        if isinstance(command, click.Group):
            complete_names(command)
        for parameter in command.params:
            names = OF_GROUPS.get(group.name or "") or NAMES.get(parameter.name or "")
            if command.name == "run" and parameter.name == "benchmark":
                names = _benchmarks_and_suites
            if names is not None and parameter.type is click.STRING:
                parameter.type = Named(names)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands, options and names in a shell.

    \b
    bash, in ~/.bashrc:   eval "$(truegrade completion bash)"
    zsh, in ~/.zshrc:     eval "$(truegrade completion zsh)"
    fish:                 truegrade completion fish > ~/.config/fish/completions/truegrade.fish
    """
    scripts = get_completion_class(shell)
    assert scripts is not None
    click.echo(scripts(ctx.find_root().command, {}, "truegrade", VARIABLE).source())
