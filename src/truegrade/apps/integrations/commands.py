"""`truegrade lm-eval-tasks`: benchmarks as tasks of lm-evaluation-harness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from truegrade.cli.options import Number, data_options, echo, json_option, print_json


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
    from truegrade.apps.integrations.lm_eval import write_task

    args = dict(task_args)
    prompt = args.pop("prompt", None)
    names = [write_task(folder, name, prompt=prompt, task_args=args, **options) for name in benchmarks]
    if as_json:
        print_json({"folder": str(folder), "tasks": names})
    else:
        echo(f"lm_eval run --include_path {folder} --tasks {','.join(names)} --model ...")
