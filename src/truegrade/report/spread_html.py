"""Tokens, time, cost and truncation: totals and distributions over samples."""

from __future__ import annotations

from collections.abc import Sequence

from truegrade.pipeline.summary import Summary
from truegrade.pipeline.totals import RunUsage
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.charts.svg import inline
from truegrade.report.distributions import Distribution
from truegrade.report.figures import distribution_chart, said, truncation_chart
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import facts, figure, section, table


def spread(summary: Summary, distributions: Sequence[Distribution]) -> Markup:
    """The section of the page; empty where nothing is known, as with an imported file of answers."""
    used = summary.usage
    rows = _usage_rows(used)
    if not rows and not distributions and not used.attempts and used.cost_usd is None:
        return Markup()
    head = ["per sample or problem", "known", "total", "mean", "median", "p90", "p99", "largest"]
    caption = "Tokens as counted by the service; wall-clock seconds"
    shown = table(caption, head, rows, class_="numeric") if rows else None
    drawn = el("div", map(_histogram, distributions), class_="pair")
    return section(
        "usage", "Tokens, time and cost", _totals(used, summary.tasks), shown, drawn, _truncation(summary)
    )


def _totals(used: RunUsage, tasks: int) -> Child:
    if not used.attempts and used.cost_usd is None:
        return None
    money = [("cost", fmt.usd(used.cost_usd))]
    if used.cost_usd is not None and tasks:
        money.append(("cost per problem", fmt.usd(used.cost_usd / tasks)))
    return facts(
        *money,
        ("requests", fmt.count(used.attempts)),
        ("failed requests", fmt.count(used.failed_attempts)),
        ("empty replies", fmt.count(used.empty_attempts)),
    )


def _histogram(found: Distribution) -> Markup:
    families = list(found.counts)
    rows: list[list[Child]] = [
        [f"{fmt.quantity(low)} to {fmt.quantity(high)}", *(fmt.count(found.counts[f][place]) for f in families)]
        for place, (low, high) in enumerate(zip(found.edges[:-1], found.edges[1:], strict=True))
        if any(found.counts[family][place] for family in families)
    ]
    numbers = table(found.name, [found.unit, *(wording.FAMILIES[f] for f in families)], rows, class_="numeric")
    return figure(distribution_chart(found), el("b", said(found)), numbers)


def _truncation(summary: Summary) -> Child:
    chart = truncation_chart(summary)
    if chart is None:
        return None
    caption = el("b", "Replies without an answer and replies cut at the token limit, in percent of verdicts")
    return el("figure", el("figcaption", caption), inline(chart), class_="narrow")


def _usage_rows(used: RunUsage) -> list[list[Child]]:
    named = (
        ("input tokens", used.input_tokens),
        ("output tokens", used.output_tokens),
        ("latency, s", used.latency_s),
        ("tokens per problem", used.tokens_per_task),
        ("latency per problem, s", used.latency_s_per_task),
    )
    return [
        [name, fmt.count(s.count), *map(fmt.quantity, (s.total, s.mean, s.median, s.p90, s.p99, s.high))]
        for name, s in named
        if s is not None
    ]
