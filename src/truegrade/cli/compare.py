"""The command `compare`, which compares runs, and plans a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from truegrade.cli.options import (
    Number,
    cutoff_option,
    echo,
    end_if_held,
    fail_if_option,
    json_option,
    print_json,
    refuse,
    window_option,
)

PLAN = ("tasks", "power", "discordant", "alpha")
"""Parameters of `compare` that are about a comparison without runs."""


@click.command()
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--as",
    "profiles",
    multiple=True,
    metavar="PROFILE",
    help="Profile; two or more with a single run compare the profiles. [default: the only one]",
)
@click.option("--baseline", metavar="RUN", help="Run that all others are compared with. [default: the first]")
@click.option("--all-pairs", "every_pair", is_flag=True, help="Compare all pairs of runs.")
@click.option(
    "--power",
    "planned",
    is_flag=True,
    help="Also the number of problems needed to detect a difference of --points. Without runs: of --points,"
    " --tasks and --probability, the one that is not given.",
)
@click.option(
    "--points", type=Number(0, 100, min_open=True), help="Difference between two runs, in percentage points."
)
@click.option("--tasks", type=click.IntRange(min=1), help="Number of problems of the benchmark, without runs.")
@click.option(
    "--probability",
    "power",
    type=Number(0, 1, min_open=True, max_open=True),
    help="Power, the probability of detecting the difference, without runs. [default: 0.8]",
)
@click.option(
    "--discordant",
    multiple=True,
    type=Number(0, 100, min_open=True),
    metavar="PERCENT",
    help="Percentage of problems on which exactly one of the two runs is correct, without runs. Repeatable."
    " [default: 5, 10, 20, 40]",
)
@click.option(
    "--alpha",
    default=0.05,
    show_default=True,
    type=Number(0, 1, min_open=True, max_open=True),
    help="Significance level, two-sided, without runs.",
)
@click.option(
    "--confidence",
    type=Number(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)
@window_option
@cutoff_option
@click.option(
    "--table",
    is_flag=True,
    help="Print all metrics, one column per run; the runs, or folders of them, may have different data sets. With"
    " --format: one table for a paper, models down and benchmarks across.",
)
@fail_if_option("worse or difference < -0.02")
@click.option("--force", is_flag=True, help="Compare runs that are not comparable; the result states this.")
@click.option(
    "--format",
    "file_format",
    metavar="FORMAT",
    help="Write files: html (one page), latex, markdown, csv or json. [default: print]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The page, or the folder of the files; of --table also one file, or - for standard output."
    " [default: comparison.html or comparison/ here]",
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@json_option
def compare(
    runs: tuple[Path, ...],
    planned: bool,
    table: bool,
    fail_if: str | None,
    every_pair: bool,
    file_format: str | None,
    out: Path | None,
    open_page: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare graded runs, paired by problem: differences from the first, intervals, tests, wins and losses.

    \b
    compare runs/a runs/b                    differences, a line a pair
    compare runs/a runs/b --format latex     the tables of a paper
    compare runs/a runs/b --fail-if worse    a gate: false alarms and power
    compare --power --points 2               problems that show 2 points

    In --fail-if, difference, difference_low, difference_high, rate_before, rate_after and p are shares (0.02 is 2
    points), of the second run less the first; worse and better say that the interval excludes 0; lost and won
    count problems. missing counts samples without a verdict in either run, left_out the problems that are not
    compared for lack of one (runs that were to answer different problems need --force). Where there are any, the
    rule holds unless it bounds missing (or left_out).
    """
    from truegrade.analysis.comparison import compare_runs
    from truegrade.analysis.gate import comparison_condition, gate_comparison, gate_lines

    plan = {name: options.pop(name) for name in PLAN}
    if planned and not runs:
        _plan({**plan, "points": options["points"]}, as_json=as_json)
        return
    _refuse_without_power(runs, planned, options["points"])
    if every_pair and options["baseline"]:
        raise click.UsageError("--all-pairs takes no --baseline: leave one of them out")
    if file_format is None and (out is not None or open_page):
        instead = "add --format csv" if table else "add --format html"
        raise click.UsageError(f"{'--open' if open_page else '--out'} needs a file: {instead}")
    if out == Path("-") and not table:
        raise click.UsageError("--out - is for --table: name a folder")
    if open_page and file_format != "html":
        raise click.UsageError(f"--open shows a page; {file_format} makes none")
    if table and fail_if is not None:
        raise click.UsageError("--fail-if is about pairs of runs, and --table pairs none: leave one of them out")
    condition = None if fail_if is None else comparison_condition(fail_if)
    if table and (options["window"] or options["cutoff"]):
        raise click.UsageError("--table takes no -T or --cutoff: leave out one or the other")
    if table:
        _table(runs, options["profiles"], file_format, out, as_json=as_json)
        return
    found = compare_runs(runs, every_pair=every_pair, **options)
    if file_format is not None:
        _write(found, file_format, out, open_page=open_page, as_json=as_json)
    elif as_json:
        print_json(found)
    else:
        from truegrade.report.comparison_document import print_comparison

        print_comparison(found)
    if condition is not None:
        end_if_held(gate_comparison(condition, found), partial(gate_lines, condition))


def _plan(plan: dict[str, Any], *, as_json: bool) -> None:
    """Print sample size, minimum detectable difference, or power of a comparison of two runs."""
    from truegrade.analysis import standings

    about_runs = {str(each.name) for each in compare.params} - {*plan, "planned", "as_json"}
    refuse(*about_runs, why="is about runs, and --power is given none")
    plans = standings.plan(**plan)
    if as_json:
        print_json(plans)
    else:
        from truegrade.report.standings_document import print_plans

        print_plans(plans)


def _refuse_without_power(runs: tuple[Path, ...], planned: bool, points: float | None) -> None:
    """See that what is asked of these runs is what they can be asked."""
    if not runs:
        raise click.UsageError("Missing argument 'RUN...'; without runs: truegrade compare --power --points 2")
    refuse(*PLAN, why="is about a comparison that is planned, and runs are given")
    if planned and points is None:
        raise click.UsageError("--power of given runs is about a difference: add --points")
    if not planned:
        refuse("points", why="is about the power of a comparison: add --power")


def _table(
    runs: tuple[Path, ...], profiles: tuple[str, ...], file_format: str | None, out: Path | None, *, as_json: bool
) -> None:
    """Every run with its own intervals; paired with the first where that is possible."""
    from truegrade.analysis.standings import run_folders, standings
    from truegrade.app import folder_kind

    found = [run for given in runs for run in run_folders(given) if folder_kind(run) is None]
    if len(found) < 2 or len(profiles) > 1:
        raise click.UsageError("--table needs two runs or more, or a folder of them, and one profile")
    rows = standings(found, profile=profiles[0] if profiles else None)
    if file_format is not None and out == Path("-"):
        from truegrade.report.standings_document import standings_text

        echo(standings_text(rows, file_format), nl=False)
    elif file_format is not None:
        from truegrade.report.standings_document import export_standings

        _name(export_standings(rows, file_format, out), as_json=as_json)
    elif as_json:
        print_json(rows)
    else:
        from truegrade.report.standings_document import print_standings

        print_standings(rows)


def _write(found: Any, file_format: str, out: Path | None, *, open_page: bool, as_json: bool) -> None:
    """Write a comparison as files and name them."""
    from truegrade.report.comparison_document import export_comparison

    files = export_comparison(found, file_format, out)
    _name(files, as_json=as_json)
    if open_page:
        click.launch(str(files[0]))


def _name(files: Sequence[Path], *, as_json: bool) -> None:
    """Print the paths of files that were written."""
    if as_json:
        print_json([str(file) for file in files])
    else:
        for file in files:
            echo(file)
