"""The tables of a run as data: what the page shows and what goes into a paper or a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from truegrade.analysis.standings import Matrix
from truegrade.pipeline.summary import Summary
from truegrade.records import Estimate
from truegrade.report.document import Cell, Table
from truegrade.report.reasoning_html import aggregation
from truegrade.report.wording import problems_of, spread_note, tiers
from truegrade.statistics import NumberSummary

MAX_ACROSS = 3
"""Profiles that a table of estimates shows side by side."""


def exhibits(summary: Summary, matrix: Matrix) -> list[Table]:
    """All tables of a run that say something."""
    made = [
        _estimates(summary),
        _warnings(summary),
        *([_rules(matrix)] if len(matrix.rows) > 1 else []),
        _reasons(summary),
        *([_disagreements(summary)] if summary.disagreements else []),
        *([_splits(summary)] if split_rows(summary) else []),
        *_usage(summary),
        *_reasoning(summary),
        _tasks(summary),
    ]
    return [exhibit for exhibit in made if exhibit.rows]


def _estimates(summary: Summary) -> Table:
    """Metrics down; profiles down where they are so many that they would not fit a page across."""
    names = dict.fromkeys(e.metric for profile in summary.profiles for e in profile.estimates)
    known = {profile.profile: {e.metric: e for e in profile.estimates} for profile in summary.profiles}
    codes = ", ".join(dict.fromkeys(one.code for one in summary.warnings))
    caption = f"Estimates with their intervals, {summary.benchmark}, {summary.model}"
    caption = "; ".join([caption, *filter(None, map(tiers, summary.profiles))])
    caption += f"; warnings: {codes}" if codes else ""
    if len(known) > MAX_ACROSS:
        rows: list[list[Cell]] = [[profile, *(of.get(name) for name in names)] for profile, of in known.items()]
        return Table(slug="estimates", caption=caption, head=("profile", *names), rows=rows)
    found = {name: [of.get(name) for of in known.values()] for name in names}
    rows = [[name, problems_of(estimates), *estimates] for name, estimates in found.items()]
    return Table(slug="estimates", caption=caption, head=("metric", "problems", *known), rows=rows)


def _warnings(summary: Summary) -> Table:
    """The list of the summary."""
    rows: list[list[Cell]] = [[one.code, one.line, one.count, one.of] for one in summary.warnings]
    head = ("code", "warning", "count", "of")
    return Table(slug="warnings", caption="What must be known of these numbers", head=head, rows=rows)


def _rules(matrix: Matrix) -> Table:
    ks = sorted({k for row in matrix.rows for k in row.pass_at})
    return Table(
        slug="profiles",
        caption=f"The same replies under each profile; spread {100 * matrix.spread:.1f} points"
        f"{spread_note(matrix.warnings)}",
        head=("profile", *(f"pass@{k}" for k in ks), "any of N", "all solutions", "first sample"),
        rows=[
            [row.profile, *(row.pass_at.get(k) for k in ks), row.any_of_n, row.all_solutions, row.first_sample]
            for row in matrix.rows
        ],
    )


def _reasons(summary: Summary) -> Table:
    names = dict.fromkeys(reason for profile in summary.profiles for reason in profile.reasons)
    return Table(
        slug="reasons",
        caption="Verdicts by reason",
        head=("reason", *(profile.profile for profile in summary.profiles)),
        rows=[[name, *(profile.reasons.get(name, 0) for profile in summary.profiles)] for name in names],
    )


SplitRow = tuple[str, str, int, list[Estimate | None]]
"""Kind of group, group, its tasks under the first profile that has any, and pass@1 under each profile."""


def split_rows(summary: Summary) -> list[SplitRow]:
    """pass@1 by group, profiles side by side."""
    by_profile = [{(s.by, s.value): s.rate for s in profile.splits} for profile in summary.profiles]
    rows = []
    for kind, value in dict.fromkeys(group for rates in by_profile for group in rates):
        rates = [found.get((kind, value)) for found in by_profile]
        rows.append((kind, value, next(rate.tasks for rate in rates if rate is not None), rates))
    return rows


def _splits(summary: Summary) -> Table:
    return Table(
        slug="groups",
        caption="pass@1 by group",
        head=("by", "group", "tasks", *(profile.profile for profile in summary.profiles)),
        rows=[[kind, value, tasks, *rates] for kind, value, tasks, rates in split_rows(summary)],
    )


def _disagreements(summary: Summary) -> Table:
    names = [profile.profile for profile in summary.profiles]
    return Table(
        slug="disagreements",
        caption=f"{summary.disagreeing} samples graded differently; the first {len(summary.disagreements)}",
        head=("problem", "sample", *names),
        rows=[[d.problem_id, d.sample, *(d.reasons.get(name) for name in names)] for d in summary.disagreements],
    )


def _usage(summary: Summary) -> list[Table]:
    used = summary.usage
    named: tuple[tuple[str, NumberSummary | None], ...] = (
        ("input tokens", used.input_tokens),
        ("output tokens", used.output_tokens),
        ("latency, s", used.latency_s),
        ("tokens per task", used.tokens_per_task),
        ("latency per task, s", used.latency_s_per_task),
    )
    rows: list[list[Cell]] = [
        [name, s.count, s.total, s.mean, s.median, s.p90, s.p99, s.high] for name, s in named if s is not None
    ]
    head = ("per sample or task", "known", "total", "mean", "median", "p90", "p99", "largest")
    return [Table(slug="usage", caption="Tokens and seconds", head=head, rows=rows)]


def _tasks(summary: Summary) -> Table:
    passes = [{task.id: task for task in profile.tasks} for profile in summary.profiles]
    first = dict.fromkeys(task.id for profile in summary.profiles for task in profile.tasks)
    head = (
        "task",
        *(f"{profile.profile} {what}" for profile in summary.profiles for what in ("passes", "samples")),
    )
    rows: list[list[Cell]] = []
    for name in first:
        found = [of.get(name) for of in passes]
        rows.append([name, *(number for task in found for number in ((task.c, task.n) if task else (None, None)))])
    return Table(slug="tasks", caption="Passes by task", head=head, rows=rows)


def _reasoning(summary: Summary) -> Iterator[Table]:
    several = len(summary.profiles) > 1
    for profile in summary.profiles:
        found, suffix = profile.reasoning, f"-{profile.profile.partition('@')[0]}" if several else ""
        if found is None:
            continue
        if found.prediction is not None:
            tables = {aggregation(t): t.estimates for t in found.prediction.tables}
            yield _by_metric(f"prediction{suffix}", f"Execution prediction under {profile.profile}", tables)
            if found.prediction.by_mutation:
                caption = f"Execution prediction by operator under {profile.profile}"
                yield _by_metric(f"operators{suffix}", caption, found.prediction.by_mutation)
        if found.choice is not None:
            tables = {aggregation(t): t.estimates for t in found.choice.tables}
            yield _by_metric(f"choice{suffix}", f"Execution choice under {profile.profile}", tables)
            caption = f"Preference by program and by position under {profile.profile}"
            yield _by_metric(f"choice-order{suffix}", caption, {"mean": found.choice.order})


def _by_metric(slug: str, caption: str, rows: Mapping[str, Sequence[Estimate]]) -> Table:
    metrics = dict.fromkeys(e.metric for estimates in rows.values() for e in estimates)
    known = {name: {e.metric: e for e in estimates} for name, estimates in rows.items()}
    return Table(
        slug=slug,
        caption=caption,
        head=("", *metrics),
        rows=[[name, *(of.get(metric) for metric in metrics)] for name, of in known.items()],
    )
