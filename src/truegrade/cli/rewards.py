"""`truegrade rewards`: what a reward does to the policy that is trained on it."""

from __future__ import annotations

from pathlib import Path

import click

from truegrade.cli.options import echo, json_option, names_of, print_json, unsafe_option


@click.group()
def rewards() -> None:
    """Show what a reward does to the policy that is trained on it."""


@rewards.command()
@click.option("--arms", callback=names_of, metavar="NAMES",
              help="Arms: strict,leaky,leaky+penalty,noise; also J=0.6,J=0.2,J=0,J=-0.2."
              " [default: the first four]")  # fmt: skip
@click.option("--seeds", type=click.IntRange(min=1), help="Seeds of prompts and samples. [default: 5]")
@click.option("--rounds", type=click.IntRange(min=1), help="Rounds of samples and an update. [default: 12]")
@click.option("--prompts", type=click.IntRange(min=1), help="Prompts of a round. [default: 64]")
@click.option("--samples", type=click.IntRange(min=2), help="Samples of a prompt. [default: 8]")
@click.option("--hard", type=click.FloatRange(0, 1),
              help="Share of problems that the start mostly fails at. [default: 0.67]")  # fmt: skip
@click.option("--quick", is_flag=True, help="Arms strict and leaky, one seed, 10 rounds.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path),
              help="Output folder. [default: runs/testbed-HASH]")  # fmt: skip
@click.option("--workers", type=click.IntRange(min=1), help="Arms trained at once. [default: one per core]")
@unsafe_option
@json_option
def testbed(
    arms: tuple[str, ...], seeds: int | None, rounds: int | None, prompts: int | None, samples: int | None,
    hard: float | None, quick: bool, out: Path | None, workers: int | None, allow_unsafe: bool | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Train a small model on rewards that can and cannot be bought. The same command resumes.

    The embedded model, which was taught two cheats, is trained by GRPO in numpy on micro-repair.
    """
    import msgspec

    from truegrade.evolution.testbed.records import TestbedSettings
    from truegrade.evolution.testbed.reporting import print_results, write_pages
    from truegrade.evolution.testbed.running import all_rounds
    from truegrade.evolution.testbed.running import quick as quickly
    from truegrade.evolution.testbed.running import testbed as run

    given = {
        "arms": tuple(arms) or None, "seeds": seeds, "rounds": rounds, "prompts": prompts, "samples": samples,
        "hard": hard,
    }  # fmt: skip
    changes = {name: value for name, value in given.items() if value is not None}
    settings = msgspec.structs.replace(quickly() if quick else TestbedSettings(), **changes)
    folder, results = run(
        settings, out=out, workers=workers, allow_unsafe=bool(allow_unsafe),
        said=(lambda _: None) if as_json else (lambda line: echo(line, err=True)),
    )  # fmt: skip
    path = write_pages(folder, results, all_rounds(folder, settings))
    if as_json:
        print_json({"folder": str(folder), "results": results})
    else:
        print_results(results)
        echo(f"{folder}: results.json holds the numbers, {path.name} the curves")
