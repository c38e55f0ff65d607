"""Results on the terminal: a summary. Colour only where a terminal shows it (rich decides)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from truegrade.errors import first_few
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.agents import agent_facts
from truegrade.report.exhibits import SplitRow, split_rows
from truegrade.report.listings import (
    print_benchmarks,
    print_findings,
    print_models,
    print_profile,
    print_profiles,
    print_sources,
)
from truegrade.report.reasoning_text import reasoning_parts
from truegrade.report.terminal import fact_grid, open_console, plain_table, row
from truegrade.statistics.windows import described

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from truegrade.pipeline.summary import ProfileSummary, Summary

__all__ = [
    "print_benchmarks",
    "print_findings",
    "print_models",
    "print_profile",
    "print_profiles",
    "print_sources",
    "print_summary",
]

SHOWN_TASKS = 12
"""Number of problem ids that a comparison lists before it gives the count of the rest."""


def print_summary(summary: Summary, *, console: Console | None = None, worded: Callable[[str], str] = str) -> None:
    """Print the results of a graded run: estimates by profile, then counts, intervals, usage and warnings.

    Args:
        summary: of the run.
        console: where to print; None for standard output.
        worded: what the command line makes of the warnings, which name arguments as Python has them.
    """
    from rich.text import Text

    out = open_console(console)
    out.print(Text(wording.measured(summary), "bold"))
    out.print(_estimates(summary.profiles))
    for profile in summary.profiles:
        if profile.reported or profile.published:
            out.print(Text(f"as printed by {profile.profile}: {_as_reported(profile)}", "bold"))
        if said := wording.tiers(profile):
            out.print(Text(said))
    for part in reasoning_parts(summary.profiles):
        out.print(part)
    if groups := split_rows(summary):
        out.print(_groups(summary, groups))
    for profile in summary.profiles:
        if said := wording.after_cutoff(profile, summary.cutoff):
            out.print(Text(said))
    out.print(fact_grid(_facts(summary)))
    for warning in summary.warnings:
        out.print(Text(f"! {worded(warning.line)}", "yellow"))


def _estimates(profiles: Sequence[ProfileSummary]) -> Table:
    """Metrics by profile, then replies without an answer or cut, protection level and verdicts by reason."""
    table = plain_table("", "problems", *(profile.profile for profile in profiles))
    by_profile = [{e.metric: e for e in profile.estimates} for profile in profiles]
    metrics = dict.fromkeys(name for estimates in by_profile for name in estimates)
    for place, name in enumerate(metrics):
        found = [estimates.get(name) for estimates in by_profile]
        shown = ("–" if each is None else fmt.estimate(each) for each in found)
        row(table, name, str(wording.problems_of(found)), *shown, bold=place == 0)
    table.add_section()
    row(table, wording.NO_ANSWER, "", *(fmt.count(max(e.unanswered for e in p.estimates)) for p in profiles))
    row(table, "truncated", "", *(fmt.count(max(e.truncated for e in p.estimates)) for p in profiles))
    row(table, "protection", "", *(wording.level(profile.level) for profile in profiles))
    table.add_section()
    reasons = dict.fromkeys(reason for profile in profiles for reason in profile.reasons)
    for reason in reasons:
        row(table, reason, "", *(fmt.count(profile.reasons.get(reason, 0)) for profile in profiles))
    return table


def _groups(summary: Summary, groups: Sequence[SplitRow]) -> Table:
    """pass@1 by difficulty, platform and so on; profiles across."""
    table = plain_table("pass@1 by group", "problems", *(profile.profile for profile in summary.profiles))
    for kind, value, tasks, rates in groups:
        shown = ("–" if rate is None else fmt.estimate(rate) for rate in rates)
        row(table, f"{kind} {value}", fmt.count(tasks), *shown)
    return table


def _as_reported(profile: ProfileSummary) -> str:
    """The numbers that the harness itself would print."""
    values = {estimate.metric: fmt.percent(estimate.value) for estimate in profile.estimates}
    numbers = [f"{name.replace('_', ' ')} {values[name]}" for name in profile.reported if name in values]
    numbers += [f"{name} {value!r}" for name, value in profile.published.items()]
    return " · ".join(numbers)


def _facts(summary: Summary) -> list[tuple[str, str]]:
    """Name and value of the facts about the whole run."""
    first = summary.profiles[0].estimates[0]
    verb = "has" if summary.expected == 1 else "have"
    replies = f"{fmt.count(summary.answered)} of {fmt.plural(summary.expected, 'sample')} {verb} a reply"
    facts = [
        ("problems", f"{fmt.count(summary.tasks)} × {fmt.plural(summary.samples_per_task, 'sample')}; {replies}"),
        *([("window", described(summary.window))] if summary.window else []),
        ("missing", fmt.count(summary.missing)),
        (f"{100 * first.confidence:g} % CI", wording.interval(first)),
    ]
    if summary.excluded:
        excluded = list(summary.excluded)
        facts.append(("excluded", f"{fmt.plural(len(excluded), 'problem')}{listed(excluded)}"))
    if len(summary.profiles) > 1:
        facts.append(("disagreeing", fmt.plural(summary.disagreeing, "sample")))
    return facts + agent_facts(summary) + _usage(summary)


def _usage(summary: Summary) -> list[tuple[str, str]]:
    used = summary.usage
    facts = []
    if used.input_tokens is not None and used.output_tokens is not None:
        each = f"mean {fmt.quantity(used.output_tokens.mean)} output tokens per sample"
        tokens = (
            f"{fmt.count(used.input_tokens.total)} input, {fmt.count(used.output_tokens.total)} output; {each}"
        )
        facts.append(("tokens", tokens))
    if used.latency_s is not None:
        latency = f"median {fmt.seconds(used.latency_s.median)}, p99 {fmt.seconds(used.latency_s.p99)}"
        facts.append(("latency", latency))
    if used.cost_usd is not None:
        facts.append(("cost", fmt.usd(used.cost_usd)))
    if used.failed_attempts or used.empty_attempts:
        failures = f"{fmt.count(used.failed_attempts)} failed, {fmt.count(used.empty_attempts)} empty"
        facts.append(("requests", f"{fmt.count(used.attempts)}: {failures}"))
    return facts


def listed(tasks: Sequence[str]) -> str:
    """``: `` and the first few ids; nothing for none."""
    return f": {first_few(tasks, SHOWN_TASKS)}" if tasks else ""
