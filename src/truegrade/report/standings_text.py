"""Terminal table of several runs: one column per run, then each run's differences from the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from truegrade.report import format as fmt
from truegrade.report.tables import open_console, plain_table, row

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from truegrade.analysis.standings import PairStanding, RunStanding
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
    found: Sequence[PairStanding], *, console: Console | None = None, worded: Callable[[str], str] = str
) -> None:
    """Print models by benchmarks, each headline with its interval; then the cost and folder of every pair.

    Args:
        found: the pairs, in the order asked.
        console: where to print; None for standard output.
        worded: what the command line makes of sentences, which name arguments as Python has them.
    """
    from rich.text import Text

    out = open_console(console)
    benchmarks = dict.fromkeys(pair.benchmark for pair in found)
    cells = {(s.profile, pair.model, pair.benchmark): s for pair in found for s in pair.standings}
    for profile in dict.fromkeys(profile for profile, _, _ in cells):
        metrics = {benchmark: s.headline.metric for (of, _, benchmark), s in cells.items() if of == profile}
        table = plain_table(profile, *(f"{benchmark} {metrics.get(benchmark, '')}" for benchmark in benchmarks))
        for model in dict.fromkeys(pair.model for pair in found):
            standings = (cells.get((profile, model, benchmark)) for benchmark in benchmarks)
            row(table, model, *("–" if s is None else fmt.estimate(s.headline) for s in standings))
        out.print(table)
    for pair in found:
        cost = f"cost {fmt.usd(pair.cost_usd)}"
        out.print(Text(f"{pair.benchmark} with {pair.model}: {cost}, {pair.run}"), soft_wrap=True)
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
