"""`truegrade assay`: measure how often a grader is wrong, and what follows from it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from truegrade.cli.groups import AppGroup
from truegrade.cli.options import (
    EXIT_GATE,
    Number,
    data_option,
    data_options,
    echo,
    fail_if_option,
    json_option,
    names_of,
    notice,
    print_json,
    progress_for,
    read_limit,
    unsafe_option,
    with_flags,
    workers_option,
)

EXIT_NOT_REPEATED, EXIT_UNUSABLE = 1, 2
_MEASURE = "measure"
_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)


def seconds_of(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """``90s``, ``20m`` or ``1h`` in seconds; a bare number is seconds."""
    if text is None:
        return None
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1.0)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise click.BadParameter(f"{text}: write a time such as 90s, 20m or 1h.", context, parameter)
    return seconds


class AssayGroup(AppGroup):
    """A group whose first word may also be a benchmark: then its command `measure` is meant."""

    words = "assay"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the command in front where a benchmark or an option stands there."""
        first = args[0] if args else ""
        if first not in ctx.help_option_names and self.get_command(ctx, first) is None:
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
        return [name for name in super().list_commands(ctx) if name != _MEASURE]


@click.group(cls=AssayGroup, options_metavar="[BENCHMARK...] [OPTIONS]", subcommand_metavar="")
def assay() -> None:
    """Measure how often a grader is wrong: right programs refused, wrong ones accepted, cheats paid.

    A grader is a profile (--as), the tests of a benchmark, or your own reward function (--grader). Programs whose
    correctness is known are sent through it. Without arguments: small problems, two graders, offline.
    Without --limit the first 8 problems; the same command with a larger one goes on.

    \b
    truegrade assay humaneval mbpp                a benchmark's tests, by strict
    truegrade assay humaneval --as human-eval     a profile
    truegrade assay humaneval --grader rewards.py:code_reward --call trl
    truegrade assay harden mbpp --out hard.jsonl  more tests for a benchmark
    truegrade assay repository . --out strength   a repository's own tests
    truegrade assay verdicts runs/x --corrected   pass@1 less its false passes
    """


@assay.command(_MEASURE, hidden=True)
@click.argument("benchmarks", nargs=-1, metavar="[BENCHMARK]...")
@click.option("--benchmark", "-b", "more", multiple=True, hidden=True)
@click.option("--as", "profiles", multiple=True, metavar="PROFILE",
              help="Profile to measure; tests-inside is program and asserts in one process. Repeatable."
              " [default: strict]")  # fmt: skip
@click.option("--grader", multiple=True, metavar="SPEC",
              help="Foreign grader: FILE.py:function, cmd:COMMAND or http://HOST:PORT. Repeatable.")  # fmt: skip
@click.option("--call", default="", metavar="PRESET",
              help="How it is called: plain, trl, verl, rllm, openrlhf, open-instruct, exit-code, sandboxfusion,"
              " truegrade, or module:adapter. [default: plain; of a command exit-code]")  # fmt: skip
@click.option("--tests-as", default="", metavar="FORM",
              help="Form of the tests that it is given: asserts, check, stdio, taco, lcb, pytest. [default: the"
              " usual one of the call]")  # fmt: skip
@click.option("--show-call", is_flag=True,
              help="Print one call exactly, arguments, shapes and values, and measure nothing.")  # fmt: skip
@click.option("--probes", "classes", callback=names_of, metavar="CLASSES",
              help="Classes of probes: right, mutants, outputs, stubs, labelled, forms,"
              " cheats, must-fail; as a,b,c. [default: all]")  # fmt: skip
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
@click.option("--jail/--no-jail", default=True, help="Run a foreign grader inside the jail. [default: inside]")
@click.option("--timeout", "timeout_s", type=Number(min=0, min_open=True), metavar="SECONDS",
              help="Seconds that a foreign grader may take for one program. [default: ten times what the slowest"
              " right one took, at least 12 and at most 60]")  # fmt: skip
@click.option("--pass-at", type=Number(), metavar="SCORE",
              help="Score from which on a grader accepts. [default: what it gives the reference]")  # fmt: skip
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(min=1),
              help="Times that every probe is sent; verdicts that differ are reported.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, type=int, help="Seed of every choice of probes.")
@click.option("--limit", metavar="N|A-B", callback=read_limit,
              help="The first N problems, or a 1-based range; a larger one goes on in the same folder."
              " [default: the first 8]")  # fmt: skip
@click.option("--id", "ids", multiple=True, help="One problem, by its id. Repeatable.")
@click.option("--confidence", default=0.95, show_default=True, type=Number(0, 1, min_open=True, max_open=True),
              help="Confidence level of the intervals.")  # fmt: skip
@fail_if_option("J < 0.9 or forgeable")
@click.option("--out", type=click.Path(path_type=Path), help="Output folder. [default: runs/assay-NAME-HASH]")
@workers_option
@data_options
@unsafe_option
@json_option
def measure(
    benchmarks: tuple[str, ...], more: tuple[str, ...], classes: tuple[str, ...], per_problem: int,
    cheats_per_problem: int, inputs: int, seed: int, fail_if: str | None, show_call: bool, as_json: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Measure graders on benchmarks. The same command resumes."""
    from truegrade.apps.assay.measures import holds_for, read_grader_condition, silenced
    from truegrade.apps.assay.opening import assay as run
    from truegrade.apps.assay.records import CLASSES, CODES, Battery
    from truegrade.apps.assay.reporting.assay_document import print_assay

    if show_call:
        first, *rest = call_lines((*benchmarks, *more), options)
        for line in (with_flags(first), *rest):
            echo(line)
        return
    condition = None if fail_if is None else read_grader_condition(fail_if, CODES)
    battery = Battery(
        classes=tuple(classes) or CLASSES,
        per_problem=per_problem,
        cheats_per_problem=cheats_per_problem,
        inputs=inputs,
        seed=seed,
    )
    results = run(
        (*benchmarks, *more), battery=battery, command=_typed(), progress=progress_for(as_json), notice=notice,
        **options,
    )  # fmt: skip
    if as_json:
        print_json(
            [{"folder": str(each.folder), "summary": each.summary, "unusable": each.unusable} for each in results]
        )
    else:
        for result in results:
            print_assay(result.summary, result.findings, folder=str(result.folder))
    unusable = {name: why for each in results for name, why in each.unusable.items()}
    for why in unusable.values():
        echo(f"truegrade: {with_flags(why)}", err=True)
    met = [(each, one) for each in results for one in each.measures
           if condition is not None and holds_for(condition, one, each.summary.findings)]  # fmt: skip
    if met:
        graders = ", ".join(f"{one.grader} on {one.benchmark}" for _, one in met)
        echo(f"truegrade: --fail-if {fail_if!r} holds for {graders}", err=True)
        if condition is not None and (unheard := max(silenced(condition, one) for _, one in met)):
            others = f"({condition.text}) or no_verdict > N"
            echo(
                f"note: {unheard} programs got no verdict, so it is not known; {others!r} judges the rest",
                err=True,
            )
    if unusable or met:
        sys.exit(EXIT_UNUSABLE if unusable else EXIT_GATE)


def call_lines(benchmarks: Sequence[str], options: Mapping[str, Any]) -> Iterator[str]:
    """One call, about the first problem that is chosen."""
    from truegrade.apps.assay.opening import load_benchmarks
    from truegrade.apps.assay.targets.opening import show_call
    from truegrade.pipeline.loading import select

    loaded = load_benchmarks(benchmarks, (), options["data"], options["task_args"], notice)[0]
    problem = select(loaded, options["limit"], options["ids"])[0]
    grader = next(iter(options["grader"]), "")
    return show_call(problem, grader, options["call"], options["tests_as"], options["timeout_s"])


def _typed() -> str:
    """The command line, for the page."""
    from truegrade.files.writing import without_keys

    return shlex.join(["truegrade", *map(without_keys, sys.argv[1:])])


@assay.command()
@click.argument("benchmark")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.jsonl",
              help="The hardened benchmark; other forms and the manifest are written beside it.")  # fmt: skip
@click.option("--budget", "budget_s", callback=seconds_of, metavar="TIME",
              help="Time after which no further problem is begun: 90s, 20m, 1h.")  # fmt: skip
@click.option("--mutants", default=40, show_default=True, type=click.IntRange(min=2), help="Of each reference.")
@click.option("--inputs", default=400, show_default=True, type=click.IntRange(min=1),
              help="Candidates generated for each problem.")  # fmt: skip
@click.option("--most-tests", default=10, show_default=True, type=click.IntRange(1, 40),
              help="New tests of a problem, at most.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, type=int, help="Seed of every choice.")
@click.option("--labels", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Labelled programs; they measure what the tests gain.")  # fmt: skip
@click.option("--limit", metavar="N|A-B", callback=read_limit, help="The first N problems, or a 1-based range.")
@click.option("--id", "ids", multiple=True, help="One problem, by its id. Repeatable.")
@click.option("--workers", type=click.IntRange(min=1), help="Problems at once. [default: one per core]")
@data_options
@unsafe_option
@json_option
def harden(benchmark: str, as_json: bool, **options: Any) -> None:
    """Add tests that refuse wrong programs which the benchmark's own tests accept. The same command resumes."""
    from truegrade.apps.assay.hardening import harden as run
    from truegrade.apps.assay.hardening import hardened_lines

    found = run(benchmark, progress=progress_for(as_json), notice=notice, **options)
    if as_json:
        print_json(found)
    else:
        for line in hardened_lines(found):
            echo(line)


@assay.command()
@click.argument("runs", nargs=-1, required=True, type=_DIRECTORY, metavar="RUN...")
@click.option("--corrected", is_flag=True, help="Audit passes of the runs, and correct pass@1 by what it finds.")
@click.option("--audit", type=click.IntRange(min=1), metavar="N",
              help="Passes to audit, drawn at random. [default: as many as --width needs]")  # fmt: skip
@click.option("--width", type=Number(0, 1, min_open=True, max_open=True), metavar="W",
              help="Wanted width of the interval, 0.1 for 10 points. [default: 1.1 times"
              " that of an audit of every pass]")  # fmt: skip
@click.option("--failures", default=0, show_default=True, type=click.IntRange(min=0), metavar="N",
              help="Failures to audit as well; with 0 every failure counts as wrong.")  # fmt: skip
@click.option("--inputs", default=200, show_default=True, type=click.IntRange(min=0),
              help="Inputs generated for each problem, beside those of the extended benchmark.")  # fmt: skip
@click.option("--hardened", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Hardened benchmark, whose tests judge as well.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, type=int, help="Seed of the draw.")
@click.option("--as", "profile", metavar="PROFILE", help="Profile of the verdicts. [default: the only one]")
@click.option("--confidence", default=0.95, show_default=True, type=Number(0, 1, min_open=True, max_open=True),
              help="Confidence level of the intervals.")  # fmt: skip
@click.option("--workers", type=click.IntRange(min=1), help="Problems at once. [default: one per core]")
@data_option
@unsafe_option
@json_option
def verdicts(runs: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    """Say how many passes of runs an audit needs; with --corrected, audit them and correct pass@1."""
    from truegrade.apps.assay.correcting import corrected_lines, corrected_runs

    found = corrected_runs(runs, progress=progress_for(as_json), notice=notice, **options)
    if as_json:
        print_json(found)
    else:
        for line in corrected_lines(found):
            echo(with_flags(line))


@assay.command()
@click.argument("folder", type=_DIRECTORY, metavar="ASSAY")
@click.argument("probe", metavar="PROBE")
@data_option
@unsafe_option
@json_option
def replay(as_json: bool, **options: Any) -> None:
    """Make the call of a probe's witness again, of the reference and of the probe."""
    from truegrade.apps.assay.opening import replay as run

    probe, found = run(**options, notice=notice)
    if as_json:
        print_json({"probe": probe, "replayed": found})
        return
    echo(probe.code.rstrip())
    echo(f"\n{found.call}\n  reference: {found.expected}\n  probe:     {found.got}")
    if not found.differs:
        echo("truegrade: the probe does what the reference does; the label cannot be repeated here", err=True)
        sys.exit(EXIT_NOT_REPEATED)
