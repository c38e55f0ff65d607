"""The commands that write files for other tools and other people: `export`, `pack`, `lm-eval-tasks`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from truegrade.cli.options import Number, data_options, echo, json_option, notice, print_json


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
    from truegrade.integrations.lm_eval.task_folder import write_task

    args = dict(task_args)
    prompt = args.pop("prompt", None)
    names = [write_task(folder, name, prompt=prompt, task_args=args, **options) for name in benchmarks]
    if as_json:
        print_json({"folder": str(folder), "tasks": names})
    else:
        echo(f"lm_eval run --include_path {folder} --tasks {','.join(names)} --model ...")
