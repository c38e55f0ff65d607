"""Terminal table of several runs: one column per run, then each run's differences from the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from truegrade.errors import UnknownName
from truegrade.files.json_text import encode
from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report.export import make_folder
from truegrade.report.suite_exhibits import standings_exhibit
from truegrade.report.terminal import open_console, plain_table, row
from truegrade.report.text_files import TEXTS
from truegrade.store.manifest import write_atomically

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from truegrade.analysis.standings import LeftOutBenchmark, PairStanding, PowerPlan, RunStanding
    from truegrade.statistics.reasoning_records import ShareDifference


def print_standings(found: Sequence[RunStanding], *, console: Console | None = None) -> None:
    """Print every run with its intervals, and the paired differences from the first run."""
    from rich.text import Text

    out = open_console(console)
    out.print(_numbers(found))
    paired = [standing for standing in found[1:] if standing.against_first]
    if paired:
        out.print(Text(f"minus {found[0].model}, paired by problem", "bold"))
        out.print(_differences(paired))
    for standing in found[1:]:
        if not standing.against_first:
            out.print(
                Text(f"! {standing.run.name}: different data set or profile, so no paired comparison", "yellow")
            )


def print_pairs(
    found: Sequence[PairStanding],
    left_out: Sequence[LeftOutBenchmark] = (),
    *,
    console: Console | None = None,
    worded: Callable[[str], str] = str,
) -> None:
    """Print models by benchmarks, each headline with its interval; then folder, cost and warnings of every pair.

    Args:
        found: the pairs, in the order asked.
        left_out: benchmarks that were to be among them.
        console: where to print; None for standard output.
        worded: what the command line makes of sentences, which name arguments as Python has them.
    """
    from rich.text import Text

    out = open_console(console)
    by_profile: dict[str, list[RunStanding]] = {}
    for standing in (standing for pair in found for standing in pair.standings):
        by_profile.setdefault(standing.profile, []).append(standing)
    for standings in by_profile.values():
        exhibit = standings_exhibit(standings)
        out.print(Text(exhibit.caption, "bold"))
        table = plain_table(*exhibit.titles)
        for cells in exhibit.rows:
            row(table, *(fmt.estimate(cell) if isinstance(cell, Estimate) else str(cell or "–") for cell in cells))
        out.print(table)
    for pair in found:
        cost = "" if pair.cost_usd is None else f", {fmt.usd(pair.cost_usd)}"
        codes = ", ".join(dict.fromkeys(one.code for one in pair.warnings))
        warned = f"; {fmt.plural(len(pair.warnings), 'warning')}: {codes}" if codes else ""
        out.print(Text(f"{pair.benchmark} with {pair.model}: {pair.run}{cost}{warned}"), soft_wrap=True)
    for each in left_out:
        out.print(Text(f"! {each.benchmark} is left out: {worded(each.why)}", "yellow"), soft_wrap=True)
    for pair in found:
        if pair.failure is not None:
            failed = f"! {pair.benchmark} with {pair.model} is not complete: {worded(pair.failure)}"
            out.print(Text(failed, "yellow"), soft_wrap=True)


def _numbers(found: Sequence[RunStanding]) -> Table:
    """The estimates of each run, as far as any of them has the metric."""
    table = plain_table("", *(standing.model for standing in found))
    if len({(standing.benchmark, standing.dataset_sha256) for standing in found}) > 1:
        row(table, "data set", *(f"{s.benchmark} {s.dataset_sha256[:8]}" for s in found))
    columns = [_column(standing) for standing in found]
    for name in dict.fromkeys(name for column in columns for name in column):
        row(table, name, *(column.get(name, "–") for column in columns))
    return table


def _column(standing: RunStanding) -> Mapping[str, str]:
    """What one run shows under each name."""
    column = {standing.headline.metric: fmt.estimate(standing.headline)}
    column |= {e.metric: fmt.estimate(e) for e in standing.prediction}
    if standing.gap is not None:
        column[standing.gap.metric] = _points(standing.gap)
    return column | {f"choice {e.metric}": fmt.estimate(e) for e in standing.choice}


def _differences(paired: Sequence[RunStanding]) -> Table:
    table = plain_table("", *(standing.model for standing in paired))
    columns = [{d.metric: _points(d) for d in standing.against_first} for standing in paired]
    for name in dict.fromkeys(name for column in columns for name in column):
        row(table, name, *(column.get(name, "–") for column in columns))
    return table


def _points(difference: ShareDifference) -> str:
    bounds = fmt.bounds(difference.low, difference.high)
    return f"{fmt.points(difference.difference)} {bounds} p {fmt.p_value(difference.p_value)}"


def print_plans(plans: Sequence[PowerPlan], *, console: Console | None = None) -> None:
    """Print problems, difference and power for each share of problems on which two runs differ."""
    from rich.text import Text

    out = open_console(console)
    table = plain_table("runs differ on", "difference", "problems", "power")
    for plan in plans:
        points = "none" if plan.points is None else f"{plan.points:.3g} points"
        tasks = "–" if plan.tasks is None else fmt.count(plan.tasks)
        row(table, f"{plan.discordant:g} % of problems", points, tasks, f"{100 * plan.power:.1f} %")
    out.print(table)
    out.print(
        Text(
            f"McNemar's exact test, one sample per problem, two-sided, significance level {plans[0].alpha:g};"
            " sample"
            " size by Connor 1987 with continuity correction. `truegrade compare RUN RUN --power POINTS` estimates"
            " from two runs how often they differ."
        )
    )


def export_standings(found: Sequence[RunStanding], file_format: str, out: Path | None = None) -> list[Path]:
    """Write the table of models and benchmarks as a file, and return its path in a list.

    Args:
        found: the runs, in order.
        file_format: one of `TEXTS`, or ``json``.
        out: the folder; None for ``comparison``.

    Raises:
        UnknownName: no such format.
        UserError: ``out`` cannot be made.
    """
    known = (*TEXTS, "json")
    if file_format not in known:
        raise UnknownName("format of a table", file_format, known)
    if file_format == "json":
        name, content = "models.json", encode(found, enc_hook=str, indent=2) + b"\n"
    else:
        ending, write = TEXTS[file_format]
        name, content = f"models{ending}", write(standings_exhibit(found)).encode()
    folder = out or Path("comparison")
    make_folder(folder)
    write_atomically(folder / name, content)
    return [folder / name]
