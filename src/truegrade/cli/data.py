"""`truegrade data`: the pinned data sets, and data sets of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from truegrade.cli.data_build import build, check
from truegrade.cli.groups import AppGroup
from truegrade.cli.options import (
    Number,
    TellingCommand,
    echo,
    json_option,
    names_of,
    notice,
    print_json,
    progress_for,
    unsafe_option,
    with_flags,
)


class DataGroup(AppGroup):
    """The commands of ``truegrade data``."""

    words = "data"


@click.group(cls=DataGroup)
def data() -> None:
    """Download, inspect, build and publish data sets."""


@data.command("list", cls=TellingCommand)
@json_option
def data_list(as_json: bool) -> None:
    """List the data sets with their hashes, and whether each is available locally."""
    from truegrade.datasets import list_sources

    sources = list_sources()
    if as_json:
        print_json(sources)
    else:
        from truegrade.report.listings import print_sources

        print_sources(sources)


@data.command("pull")
@click.argument("names", nargs=-1)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File for a data set of the hub.")
@json_option
def data_pull(names: tuple[str, ...], out: Path | None, as_json: bool) -> None:
    """Download data sets, verified: by name into the cache (all, without one), or hf:ORG/NAME[@REVISION]."""
    from truegrade.datasets import SOURCES, pull
    from truegrade.datasets.hub import PREFIX
    from truegrade.datasets.hub import pull as pull_from_hub
    from truegrade.report.progress_lines import download_progress

    located = {}
    if out is not None and not (len(names) == 1 and names[0].startswith(PREFIX)):
        raise click.UsageError("--out goes with one data set of the hub: hf:ORG/NAME.")
    for name in names or SOURCES:
        if name.startswith(PREFIX):
            located[name] = str(pull_from_hub(name, out).path)
            continue
        with download_progress(name, quiet=as_json) as progress:
            located[name] = str(pull(name, progress=progress).path)
    if as_json:
        print_json(located)
    else:
        for name, path in located.items():
            echo(f"{name}: {path}")


@data.command("show", cls=TellingCommand)
@click.argument("name")
@json_option
def data_show(name: str, as_json: bool) -> None:
    """Print origin, licence, hash and location of a data set."""
    import msgspec

    from truegrade.datasets import source
    from truegrade.datasets.download import find

    pinned = source(name)
    local = find(pinned)
    facts = {
        **{field: getattr(pinned, field) for field in ("name", "file", "url", "sha256", "content_sha256")},
        **{field: getattr(pinned, field) for field in ("size", "licence", "citation")},
        "local": str(local.path) if local else None,
    }
    if as_json:
        print_json(msgspec.to_builtins(facts))
    else:
        for key, value in facts.items():
            echo(
                f"{key:<15} {value if value is not None else '(not available: truegrade data pull ' + name + ')'}"
            )


@data.command("mutate")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="File to write.")
@click.option(
    "--operators",
    callback=names_of,
    metavar="A,B,...",
    help="Mutation operators, wider ones among them, or `published` for the published tool's."
    " [default: those that are not wider]",
)
@click.option(
    "--select",
    type=click.Choice(["coverage", "first", "all"]),
    default="coverage",
    show_default=True,
    help="Keep the mutant whose execution is most similar to the original's, the first valid one, or all.",
)
@click.option(
    "--differ",
    type=click.Choice(["any", "all"]),
    default="any",
    show_default=True,
    help="On which cases the outputs must differ.",
)
@click.option(
    "--preserve",
    callback=names_of,
    metavar="A,B,...",
    help="Semantics-preserving rewritings to add to each row. [default: none]",
)
@click.option("--raw", is_flag=True, help="Keep the layout of the original, which makes the mutant recognisable.")
@click.option("--seed", default=0, show_default=True, help="Seed of the choice between equally good mutants.")
@click.option(
    "--cpu",
    "cpu_s",
    default=2.0,
    show_default=True,
    type=Number(min=0, min_open=True),
    help="CPU seconds of one mutant on all cases.",
)
@click.option(
    "--max-steps",
    default=100_000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Maximum number of executed lines.",
)
@click.option(
    "--max-chars",
    default=1000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Maximum number of characters of an output.",
)
@click.option(
    "--preamble",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Python file that runs before each program, for imports that the rows omit.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Rows processed at once. [default: one per core]")
@unsafe_option
@json_option
def data_mutate(file: Path, out: Path, workers: int | None, allow_unsafe: bool | None, as_json: bool,
                preamble: Path | None, **asked: Any) -> None:  # fmt: skip
    """Add a mutant to every row of FILE: a program that differs in one place and returns a different value."""
    from truegrade.builders.leetcode import OF_LEETCODE
    from truegrade.builders.mutation.file import mutate_file
    from truegrade.builders.mutation.mutants import MutationOptions
    from truegrade.sandbox import Limits, Sandbox

    chosen = {name: value for name, value in asked.items() if value not in (None, ())}
    options = MutationOptions(**chosen, preamble=preamble.read_text(encoding="utf-8") if preamble else "")
    limits = Limits(cpu_s=options.cpu_s, memory_bytes=1 << 30, packages=OF_LEETCODE)
    with Sandbox(limits, workers, allow_unsafe=bool(allow_unsafe)) as sandbox:
        watch = progress_for(as_json)
        mutated = mutate_file(file, out, options, sandbox, workers=sandbox.workers, watch=watch, notice=notice)
    if as_json:
        print_json(mutated)
    else:
        operators = ", ".join(f"{name} {count}" for name, count in mutated.operators.items())
        echo(f"{out}: {mutated.mutants} mutants of {mutated.rows} programs ({operators})")
        for name, reason in mutated.without.items():
            echo(f"no mutant of {name}: {with_flags(reason)}")


@data.command("push")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--repo", required=True, metavar="ORG/NAME", help="Data set on the hub; created if absent.")
@click.option("--private", is_flag=True, help="Create it as private.")
@click.option(
    "--licence", default="unknown", show_default=True, help="Licence id of the hub, such as cc-by-4.0 or mit."
)
@json_option
def data_push(file: Path, repo: str, private: bool, licence: str, as_json: bool) -> None:
    """Put a file of execution rows on the Hugging Face hub, with a card that names its hash."""
    from truegrade.datasets.hub import push

    pushed = push(file, repo, private=private, licence=licence)
    if as_json:
        print_json(pushed)
    else:
        echo(f"{pushed.rows} rows, sha256 {pushed.sha256}\n{pushed.url}")


data.add_command(build)
data.add_command(check)
