"""Agents in terminal output and reports: the label of their results, and their usage."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import TYPE_CHECKING

from truegrade.pipeline.summary import Summary
from truegrade.report import format as fmt
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import facts, section, table
from truegrade.report.tables import fact_grid, open_console, plain_table, row

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
