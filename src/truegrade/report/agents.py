"""Agents in terminal output and reports: the label of their results, and their usage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING

from truegrade.analysis.comparison import Comparison, RunPairing
from truegrade.pipeline.summary import Summary
from truegrade.report import document as doc
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart, number_axis, share_axis
from truegrade.report.charts.svg_steps import Steps, step_lines
from truegrade.report.document import Cell, On, Prose, Section, Table, only
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import facts, section, table
from truegrade.report.terminal import fact_grid, open_console, plain_table, row
from truegrade.statistics.budgets import KNOWN_SHARE, BudgetCurve, BudgetPoint, BudgetStretch

if TYPE_CHECKING:
    from rich.console import Console

    from truegrade.agents import AgentInfo
    from truegrade.agents.account import AgentSummary, RoleUse


def agent_facts(summary: Summary) -> list[tuple[str, str]]:
    """Name and value of what a terminal shows of an agent; nothing where there was none."""
    agent = summary.agent
    if agent is None:
        return []
    return [
        ("agent", f"{agent.agent}/{agent.variant}"),
        ("label", agent.label),
        ("accepted" if agent.tests_itself or agent.official_tests else "asked", _accepted(agent)),
        *((name, _use(use, several=_several(agent))) for name, use in agent.by_agent.items()),
    ]


def _several(agent: AgentSummary) -> bool:
    """Whether the roles asked more than one model."""
    return len({use.model for use in agent.by_agent.values() if use.model}) > 1


def _accepted(agent: AgentSummary) -> str:
    if agent.official_tests:
        rates = (f"pass_rate_{tries} {fmt.percent(rate)}" for tries, rate in agent.pass_rates.items())
        told = f"{fmt.count(agent.accepted)} of {fmt.plural(agent.settled, 'sample')} by the data set's tests"
        return ", ".join((told, *rates))
    if not agent.tests_itself:
        return f"{fmt.plural(agent.settled, 'sample')}; replies that were stored before are kept unchanged"
    by_rounds = ", ".join(f"{count} after {number}" for number, count in agent.rounds.items())
    return (
        f"{fmt.count(agent.accepted)} of {fmt.plural(agent.settled, 'sample')} by self-made tests;"
        f" rounds: {by_rounds or 'none'}; {fmt.plural(agent.tests, 'assert')}, {fmt.plural(agent.trials, 'trial')}"
    )


def _use(use: RoleUse, *, several: bool) -> str:
    parts = [
        *([use.model] if several else []),
        fmt.plural(use.calls, "call"),
        f"{fmt.count(use.input_tokens)} input tokens, {fmt.count(use.output_tokens)} output tokens",
        fmt.seconds(use.latency_s),
    ]
    if use.cost_usd is not None:
        parts.append(fmt.usd(use.cost_usd))
    if use.failed_attempts or use.empty_attempts:
        parts.append(f"{fmt.count(use.failed_attempts)} requests failed, {fmt.count(use.empty_attempts)} empty")
    return "; ".join(parts)


def agent(summary: Summary) -> Markup:
    """The section of the page; empty where the model was asked directly."""
    about = summary.agent
    if about is None:
        return Markup()
    counts = ("calls", "requests", "failed", "empty", "input tokens", "output tokens", "seconds", "cost")
    head = ["agent", "model", *counts]
    rows: list[list[Child]] = [
        [
            name,
            use.model or "–",
            *map(fmt.count, (use.calls, use.attempts, use.failed_attempts, use.empty_attempts)),
            *map(fmt.count, (use.input_tokens, use.output_tokens)),
            fmt.seconds(use.latency_s),
            "–" if use.cost_usd is None else fmt.usd(use.cost_usd),
        ]
        for name, use in about.by_agent.items()
    ]
    return section(
        "agent",
        "Agent",
        el("p", f"{about.agent}/{about.variant}: {about.label}.", class_="prose"),
        facts(*_page_facts(about)),
        table("Usage of each agent over all samples", head, rows),
    )


def _page_facts(about: AgentSummary) -> list[tuple[str, str]]:
    if about.official_tests:
        named = "by the data set's tests, their output shown between the tries"
        rates = [(f"pass_rate_{tries}, {named}", fmt.percent(rate)) for tries, rate in about.pass_rates.items()]
        return [*rates, ("programs run", f"{fmt.count(about.trials)}, {fmt.seconds(about.trial_cpu_s)} of CPU")]
    if not about.tests_itself:
        return [("samples asked; replies that were stored before are kept unchanged", fmt.count(about.settled))]
    return [
        ("accepted by its own tests", f"{fmt.count(about.accepted)} of {fmt.count(about.settled)}"),
        ("samples without a test", fmt.count(about.without_tests)),
        ("assertions parsed", fmt.count(about.tests)),
        ("programs run", f"{fmt.count(about.trials)}, {fmt.seconds(about.trial_cpu_s)} of CPU"),
    ]


def print_agents(
    agents: Iterable[AgentInfo], origins: Iterable[str] = repeat("built-in"), *, console: Console | None = None
) -> None:
    """Print the agents, their arguments with the defaults of each variant, and their rules."""
    from rich.text import Text

    out = open_console(console)
    for info, origin in zip(agents, origins, strict=False):
        out.print(
            fact_grid(
                [
                    ("agent", f"{info.name}@{info.version}"),
                    ("summary", info.summary),
                    ("covers", ", ".join(info.covers)),
                    ("from", origin),
                ]
            )
        )
        arguments = plain_table("-A", *info.defaults, "meaning")
        for name, meaning in info.args.items():
            row(
                arguments,
                name,
                *("–" if defaults[name] is None else str(defaults[name]) for defaults in info.defaults.values()),
                meaning,
            )
        if info.args:
            out.print(arguments)
        for rule in info.rules:
            out.print(Text.assemble(f"· {rule.text} ", (f"({rule.source})", "dim")))


# --------------- Pass rate against token budget: the chart and the words, for a run's page and a comparison's.


BEYOND = 1.08
"""How far the chart goes on behind the longest reply, to show what holds for larger budgets."""
_CURVE = "Pass rate against token budget"
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
        rows += [[name, *_cells(point, "up to")] for point in curve.points]
        rows += [] if curve.beyond is None else [[name, *_cells(curve.beyond, "beyond")]]
    interval = f"{100 * curves[0][1].confidence:g} % interval of the ends"
    head = ("", "output tokens", "correct", interval)
    return Table(slug="token-budget", caption=_CURVE, head=head, rows=rows, look="numeric")


def _cells(point: BudgetPoint, side: str) -> list[Cell]:
    rate = fmt.percent(point.low)
    if point.high > point.low:
        rate = f"{rate} to {fmt.percent(point.high)}"
    return [f"{side} {fmt.count(point.tokens)}", rate, fmt.bounds(point.interval_low, point.interval_high)]


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
