"""Pass rate against token budget: the chart and the words, for a run's page and a comparison's."""

from __future__ import annotations

from collections.abc import Sequence

from truegrade.analysis.comparison import Comparison, RunPairing
from truegrade.pipeline.summary import Summary
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart, number_axis, share_axis
from truegrade.report.charts.svg_steps import Steps, step_lines
from truegrade.report.markup import Child, el
from truegrade.report.page_parts import figure, section, table
from truegrade.statistics.budgets import KNOWN_SHARE, BudgetCurve, BudgetPoint, BudgetStretch

BEYOND = 1.08
"""How far the chart goes on behind the longest reply, to show what holds for larger budgets."""
_MEANING = (
    "Share of replies that are correct and not longer than a budget of output tokens, as the service counts them,"
    " averaged over problems. It is what these replies show: a model told of a budget may answer otherwise."
)


def budget_chart(curves: Sequence[tuple[str, BudgetCurve]]) -> Chart | None:
    """Steps with a band for the interval and, beyond the limit, the bounds; None where no curve is known."""
    known = [(name, curve) for name, curve in curves if curve.points]
    if not known:
        return None
    longest = max(curve.points[-1].tokens for _, curve in known) * BEYOND
    lines = [_steps(name, curve, longest) for name, curve in known]
    axis = number_axis(0, longest, "budget, output tokens")
    return step_lines(lines, axis, share_axis(title="correct within the budget"), "Pass rate against token budget")


def _steps(name: str, curve: BudgetCurve, longest: float) -> Steps:
    points = [*curve.points, curve.beyond or curve.points[-1]]
    start = BudgetPoint(0, 0.0, 0.0, 0.0, 0.0)
    return Steps(
        name=name,
        x=[0, *(float(point.tokens) for point in curve.points), longest],
        y=[point.low for point in (start, *points)],
        low=[_low(point) for point in (start, *points)],
        high=[_high(point) for point in (start, *points)],
    )


def _low(point: BudgetPoint) -> float:
    return point.low if point.interval_low is None else point.interval_low


def _high(point: BudgetPoint) -> float:
    return point.high if point.interval_high is None else point.interval_high


def budget_section(summary: Summary) -> Child:
    """The section of a run's page; nothing for runs of an agent and summaries of before there was the curve."""
    curves = [(profile.profile, profile.budget) for profile in summary.profiles if profile.budget is not None]
    if not curves or not any(curve.known for _, curve in curves):
        return None
    said = [
        el("p", _MEANING, class_="note"),
        *(el("p", known(name, curve), class_="note") for name, curve in curves),
    ]
    chart = budget_chart(curves)
    drawn = None if chart is None else figure(chart, el("b", chart.name), _numbers(curves))
    return section("budget", "Token budget", said, drawn)


def known(name: str, curve: BudgetCurve) -> str:
    """Up to which budget the rate of a curve is known, and what bounds it beyond, in a sentence."""
    if not curve.points:
        return (
            f"{name}: output tokens are known for {fmt.count(curve.known)} of {fmt.count(curve.samples)} replies;"
            f" the curve needs {100 * KNOWN_SHARE:g} %, so there is none."
        )
    if curve.limit is None or curve.beyond is None:
        return f"{name}: no incorrect reply was cut, so the rate is known at every budget."
    between = f"{fmt.percent(curve.beyond.low)} and {fmt.percent(curve.beyond.high)}"
    return (
        f"{name}: exact up to {fmt.count(curve.limit)} tokens. {fmt.count(curve.cut)} of"
        f" {fmt.count(curve.samples)} replies were cut without being correct; what they would have become is not"
        f" known, so beyond the longest reply the rate lies between {between} (Manski 1989), wherever it is."
    )


def _numbers(curves: Sequence[tuple[str, BudgetCurve]]) -> Child:
    rows: list[list[Child]] = []
    for name, curve in curves:
        rows += [[name, *_cells(point, "up to")] for point in curve.points]
        rows += [] if curve.beyond is None else [[name, *_cells(curve.beyond, "beyond")]]
    confidence = 100 * curves[0][1].confidence
    head = ["", "output tokens", "correct", f"{confidence:g} % interval of the ends"]
    return table("Pass rate against token budget", head, rows, class_="numeric")


def _cells(point: BudgetPoint, side: str) -> list[Child]:
    rate = fmt.percent(point.low)
    if point.high > point.low:
        rate = f"{rate} to {fmt.percent(point.high)}"
    return [f"{side} {fmt.count(point.tokens)}", rate, fmt.bounds(point.interval_low, point.interval_high)]


def compared_budgets(comparison: Comparison) -> Child:
    """The section of a comparison's page: the runs' curves, and where each pair differs for certain."""
    curves = [
        (side.label, side.budget) for side in comparison.sides if side.budget is not None and side.budget.points
    ]
    chart = budget_chart(curves) if len(curves) > 1 else None
    if chart is None:
        return None
    said = [el("li", apart(pair)) for pair in comparison.pairs]
    note = "Each curve is over all replies of its run. " + _MEANING
    return section(
        "budget",
        "Token budget",
        el("p", note, class_="note"),
        figure(chart, el("b", chart.name), _numbers(curves)),
        el("ul", said, (el("li", known(name, curve)) for name, curve in curves), class_="note"),
    )


def apart(pair: RunPairing) -> str:
    """At which budgets the runs of a pair differ, whatever became of the replies that were cut."""
    title = f"{pair.second} against {pair.first}"
    if not pair.budgets_apart:
        return f"{title}: at no stored budget do the bounds of the two rates lie apart."
    found = "; ".join(_stretch(pair, each) for each in pair.budgets_apart)
    return (
        f"{title}: {found}. There the bounds do not meet, whatever the replies that were cut would have become;"
        " this says nothing about chance, for which the intervals stand."
    )


def _stretch(pair: RunPairing, stretch: BudgetStretch) -> str:
    better = pair.second if stretch.second_higher else pair.first
    start = fmt.count(stretch.start)
    if stretch.end is None:
        return f"{better} is higher from {start} tokens on"
    if stretch.end == stretch.start:
        return f"{better} is higher at {start} tokens"
    return f"{better} is higher from {start} to {fmt.count(stretch.end)} tokens"
