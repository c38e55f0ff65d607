"""Comparison of runs for the terminal: one pair in full, several pairs as a table, and the table of power."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from truegrade.report import comparison_wording as words
from truegrade.report import format as fmt
from truegrade.report.reasoning_text import differences_table
from truegrade.report.tables import fact_grid, open_console, plain_table, row
from truegrade.report.text import listed, print_comparison

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from truegrade.analysis.comparison import Comparison, RunPairing
    from truegrade.analysis.standings import PowerPlan


def print_comparisons(comparison: Comparison, *, console: Console | None = None) -> None:
    """Print warnings about comparability first, then the differences between the runs."""
    from rich.text import Text

    out = open_console(console)
    for sentence in words.forced(comparison):
        out.print(Text(f"! not comparable (--force given): {sentence}", "bold yellow"))
    for sentence in words.noted(comparison):
        out.print(Text(f"! {sentence}", "yellow"))
    if len(comparison.pairs) == 1:
        (pair,) = comparison.pairs
        print_comparison(
            pair.paired, console=out, first=pair.first, second=pair.second, more=_more(pair),
            same_replies=comparison.same_replies,
        )  # fmt: skip
        _print_groups(out, pair)
        return
    out.print(_sides(comparison))
    out.print(_pairs(comparison))
    said = words.correction(comparison)
    if said is not None:
        out.print(Text(said))
    for pair in comparison.pairs:
        _print_tasks(out, comparison, pair)


def _print_tasks(out: Console, comparison: Comparison, pair: RunPairing) -> None:
    """The problems of one of several pairs, and its metrics of reasoning."""
    from rich.text import Text

    c, (more, less) = pair.paired, words.outcomes(comparison)
    out.print(Text(f"\n{words.title(pair)}", "bold"))
    out.print(
        fact_grid(
            [
                (more, f"{len(c.wins)}{listed(c.wins)}"),
                (less, f"{len(c.losses)}{listed(c.losses)}"),
                *_more(pair),
            ]
        )
    )
    if c.parts:
        out.print(differences_table(c.parts, pair.first, pair.second))
    _print_groups(out, pair)


def _print_groups(out: Console, pair: RunPairing) -> None:
    """The difference by difficulty, platform and so on, where there is more than one group."""
    if not pair.splits:
        return
    table = plain_table("by group", "problems", "points", "p")
    for found in pair.splits:
        c = found.paired
        shown = f"{fmt.points(c.difference)} {fmt.bounds(c.low, c.high)}"
        row(table, f"{found.by} {found.value}", fmt.count(c.tasks), shown, f"{c.permutation_p:.2g}")
    out.print(table)


def _more(pair: RunPairing) -> list[tuple[str, str]]:
    facts = [
        ("bootstrap", f"{fmt.bounds(pair.bootstrap.low, pair.bootstrap.high)}, {pair.bootstrap.draws:,} draws"),
        ("power", words.detectable(pair.power)),
    ]
    wanted = None if pair.power is None else words.needed(pair.power)
    return [*facts, *([("needed", wanted)] if wanted else [])]


def _sides(comparison: Comparison) -> Table:
    by_model = all(side.label == side.model for side in comparison.sides)
    table = plain_table("", *([] if by_model else ["model"]), "pass@1", "problems")
    for side in comparison.sides:
        named = [side.label] if by_model else [side.label, side.model]
        row(
            table,
            *named,
            fmt.estimate(side.rate),
            fmt.count(side.rate.tasks),
            bold=side.label == comparison.baseline,
        )
    return table


def _pairs(comparison: Comparison) -> Table:
    table = plain_table("", "points", "p", "corrected", *words.outcomes(comparison), "same")
    for pair in comparison.pairs:
        c = pair.paired
        numbers = (fmt.count(len(tasks)) for tasks in (c.wins, c.losses, c.ties))
        shown = f"{fmt.points(c.difference)} {fmt.bounds(c.low, c.high)}"
        chance = (fmt.p_value(pair.p_value, digits=3), fmt.corrected_p(pair.p_value, pair.p_adjusted))
        row(table, words.title(pair), shown, *chance, *numbers)
    return table


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
