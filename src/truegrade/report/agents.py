"""Agents in terminal output and reports: the label of their results, and their usage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from truegrade.analysis.comparison import Comparison, RunPairing
from truegrade.pipeline.summary import Summary
from truegrade.report import document as doc
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart, number_axis, share_axis
from truegrade.report.charts.svg_lines import Steps, step_lines
from truegrade.report.document import Cell, On, Prose, Section, Table, only
from truegrade.statistics.budgets import KNOWN_SHARE, BudgetCurve, BudgetPoint, BudgetStretch

if TYPE_CHECKING:
    from truegrade.agents.account import AgentSummary


def agent_section(summary: Summary) -> Section | None:
    """The label of an agent's results, what came of its tests, and its usage; nothing where a model was asked."""
    about = summary.agent
    if about is None:
        return None
    label = Prose(lead=f"{about.agent}/{about.variant}: ", text=f"{about.label}.", tone="prose")
    return Section("agent", "Agent", [label, doc.Facts(_facts(about)), agent_usage(about)])


def agent_usage(about: AgentSummary) -> Table:
    """What each role asked, and what it took."""
    counts = ("calls", "requests", "failed", "empty", "input tokens", "output tokens")
    rows: list[list[Cell]] = [
        [
            name, use.model or None, use.calls, use.attempts, use.failed_attempts, use.empty_attempts,
            use.input_tokens, use.output_tokens, doc.Worded(use.latency_s, fmt.seconds(use.latency_s)),
            None if use.cost_usd is None else doc.dollars(use.cost_usd),
        ]
        for name, use in about.by_agent.items()
    ]  # fmt: skip
    return Table(
        slug="agent",
        caption="Usage of each agent over all samples",
        head=("agent", "model", *counts, "seconds", "cost"),
        rows=rows,
        spare=("model", "requests", "failed", "empty"),
    )


def _facts(about: AgentSummary) -> list[tuple[str, Cell]]:
    """What came of the agent's tests, or of the data set's."""
    programs = ("programs run", f"{fmt.count(about.trials)}, {fmt.seconds(about.trial_cpu_s)} of CPU")
    of = f"{fmt.count(about.accepted)} of {fmt.plural(about.settled, 'sample')}"
    if about.official_tests:
        rates = [(f"pass_rate_{tries}", doc.percent(rate)) for tries, rate in about.pass_rates.items()]
        return [("accepted by the data set's tests, whose output stands between the tries", of), *rates, programs]
    rounds = ", ".join(f"{count} after {number}" for number, count in about.rounds.items())
    if not about.tests_itself:
        asked = ("samples asked; replies that were stored before are kept unchanged", about.settled)
        return [("samples", about.settled), ("rounds", rounds), programs] if about.trials else [asked]
    return [
        ("accepted by its own tests", of),
        ("rounds", rounds or "none"),
        ("samples without a test", about.without_tests),
        ("assertions parsed", about.tests),
        programs,
    ]


# --------------- Pass rate against token budget: the chart and the words, for a run's page and a comparison's.


BEYOND = 1.08
"""How far the chart goes on behind the longest reply, to show what holds for larger budgets."""
_CURVE = "Pass rate against token budget"
_MEANING = (
    "Share of replies that are correct and not longer than a budget of output tokens, as reported with it,"
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
    return step_lines(lines, axis, share_axis(title="correct within the budget"), _CURVE)


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


def budget_section(summary: Summary) -> Section | None:
    """The section of a run; nothing for runs of an agent and summaries of before there was the curve."""
    curves = [(profile.profile, profile.budget) for profile in summary.profiles if profile.budget is not None]
    if not curves or not any(curve.known for _, curve in curves):
        return None
    said = [Prose(text=text, tone="note") for text in (_MEANING, *(known(*named) for named in curves))]
    chart = budget_chart(curves)
    drawn = None if chart is None else doc.Figure(chart, chart.name, budget_table(curves))
    return Section("budget", "Token budget", [only(On.PAGE | On.FILES, *said, drawn)])


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


def budget_table(curves: Sequence[tuple[str, BudgetCurve]]) -> Table:
    """The points of the curves, and what bounds the rate beyond them."""
    rows: list[list[Cell]] = []
    for name, curve in curves:
        known_points = [
            (point, doc.Worded(point.tokens, f"up to {fmt.count(point.tokens)}")) for point in curve.points
        ]
        if curve.beyond is not None:
            known_points.append((curve.beyond, doc.Worded(None, f"beyond {fmt.count(curve.beyond.tokens)}")))
        for point, tokens in known_points:
            ends = (point.low, point.high, point.interval_low, point.interval_high)
            rows.append([name, tokens, *(None if end is None else doc.percent(end) for end in ends)])
    interval = f"{100 * curves[0][1].confidence:g} % interval of the ends"
    head = ("", "output tokens", "correct, at least", "at most", f"{interval}, low", "high")
    return Table(slug="token-budget", caption=_CURVE, head=head, rows=rows, look="numeric")


def compared_budgets(comparison: Comparison) -> Section | None:
    """The section of a comparison: the runs' curves, and where each pair differs for certain."""
    curves = [
        (side.label, side.budget) for side in comparison.sides if side.budget is not None and side.budget.points
    ]
    chart = budget_chart(curves) if len(curves) > 1 else None
    if chart is None:
        return None
    said = [*map(apart, comparison.pairs), *(known(name, curve) for name, curve in curves)]
    note = "Each curve is over all replies of its run. " + _MEANING
    drawn = doc.Figure(chart, chart.name, budget_table(curves))
    shown = only(On.PAGE | On.FILES, Prose(text=note, tone="note"), drawn, doc.Bullets(list(said)))
    return Section("budget", "Token budget", [shown])


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
