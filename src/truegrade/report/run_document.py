"""A graded run as a document: its tables, each made once, and its sections; empty ones are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from truegrade.analysis.standings import Matrix
from truegrade.pipeline.summary import Summary
from truegrade.records import Estimate
from truegrade.report import document as doc
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.agents import agent_section, budget_section
from truegrade.report.chosen_samples import ReportMaterial
from truegrade.report.document import Cell, On, Part, Prose, Section, Table, only
from truegrade.report.figures import (
    Distribution,
    count_tiles,
    curve_chart,
    distribution_chart,
    reasons_chart,
    rules_chart,
    said,
    score_card,
    task_strip,
    truncation_chart,
)
from truegrade.report.markup import Child, el, join
from truegrade.report.page_parts import draw, folded
from truegrade.report.reasoning_document import reasoning
from truegrade.report.terminal import print_parts
from truegrade.statistics.windows import described

if TYPE_CHECKING:
    from rich.console import Console

    from truegrade.analysis.audit.findings import Finding

MAX_ACROSS = 3
"""Profiles that a table of estimates shows side by side."""
MAX_CARDS = 2
"""With more profiles only the first gets a card; the section on profiles compares all of them."""
MAX_STRIPS = 3
MAX_CELLS = 1_000
"""Cells of a strip and rows of the table of problems: with ten thousand of each a browser takes seconds."""
NAMED_ROWS = 40
"""Rows of a finding of an audit that a page names."""
_SHOWN = On.PAGE | On.TERMINAL
_ANY_SAMPLE = ("any_correct", "any of N")
_ALL_SAMPLES = ("all_solutions", "all solutions")
_OF_ONE_SAMPLE = (*_ANY_SAMPLE, *_ALL_SAMPLES, "all_correct", "first_sample", "first sample")


# ----------------------------------------------------------------------------------------------- tables


def estimates(summary: Summary, *, whole: bool = False) -> Table:
    """Metrics down; profiles down where they are so many that they would not fit a page across.

    Metrics that are equal by construction stand once, and the caption names the others, unless it is ``whole``.
    """
    names = dict.fromkeys(e.metric for profile in summary.profiles for e in profile.estimates)
    by_profile = [{e.metric: e for e in profile.estimates} for profile in summary.profiles]
    columns = {name: [of.get(name) for of in by_profile] for name in names}
    same = "" if whole else once(columns, summary.samples_per_task)
    known = [profile.profile for profile in summary.profiles]
    codes = ", ".join(dict.fromkeys(one.code for one in summary.warnings))
    partial = wording.how_far(summary)
    told = [partial and f"partial: {partial}", *map(wording.tiers, summary.profiles)]
    alone = "; ".join([f", {summary.benchmark}, {summary.model}", *filter(None, told)])
    if len(known) > MAX_ACROSS:
        head: tuple[str, ...] = ("profile", *columns)
        rows: list[list[Cell]] = [[name, *found] for name, *found in zip(known, *columns.values(), strict=True)]
    else:
        head = ("metric", *known, "problems")
        rows = [
            [doc.noted(name, wording.metric(name)), *found, wording.problems_of(found)]
            for name, found in columns.items()
        ]
    return Table(
        slug="estimates",
        caption=f"Estimates {'so far, ' if partial else ''}with their intervals{same}",
        alone=f"{alone}; warnings: {codes}" if codes else alone,
        head=head,
        rows=rows,
        strong=frozenset({0}),
        look="metrics",
    )


def conditions(summary: Summary) -> Table:
    """What the estimates of each profile rest on; profiles down, as there are many columns."""
    rows: list[list[Cell]] = []
    for profile in summary.profiles:
        first = profile.estimates[0]
        unanswered = max(e.unanswered for e in profile.estimates)
        truncated = max(e.truncated for e in profile.estimates)
        level, method = wording.level(profile.level), wording.interval(first)
        rows.append([profile.profile, first.clusters, unanswered, truncated, level, method])
    head = ("profile", "clusters", wording.NO_ANSWER, "truncated", "protection", "interval")
    return Table(
        slug="conditions", caption="What the estimates rest on", head=head, rows=rows, upright=True,
        spare=("clusters", "interval"), look="words",
    )  # fmt: skip


def warnings(summary: Summary) -> Table:
    """What must be known of the numbers."""
    rows: list[list[Cell]] = [[one.code, one.line, one.count, one.of] for one in summary.warnings]
    head = ("code", "warning", "count", "of")
    return Table(slug="warnings", caption="What must be known of these numbers", head=head, rows=rows)


def profiles(matrix: Matrix, *, whole: bool = False) -> Table:
    """The same replies under each profile; columns as the metrics of `estimates`."""
    ks = sorted({k for row in matrix.rows for k in row.pass_at})
    columns: dict[str, list[Estimate | None]] = {
        f"pass@{k}": [row.pass_at.get(k) for row in matrix.rows] for k in ks
    }
    columns |= {
        "any of N": [row.any_of_n for row in matrix.rows],
        "all solutions": [row.all_solutions for row in matrix.rows],
        "first sample": [row.first_sample for row in matrix.rows],
    }
    same = "" if whole else once(columns, matrix.samples_per_task)
    return Table(
        slug="profiles",
        caption=f"The same replies under each profile{same}",
        alone=f"; spread {100 * matrix.spread:.1f} points{wording.spread_note(matrix.warnings)}",
        head=("profile", *columns),
        rows=[[row.profile, *cells] for row, *cells in zip(matrix.rows, *columns.values(), strict=True)],
        look="numeric",
    )


def once(columns: dict[str, list[Estimate | None]], samples_per_task: int) -> str:
    """Take out the columns that equal another by construction, where they do; what a caption says of it.

    Args:
        columns: name -> estimates; those taken out are deleted.
        samples_per_task: with one, all of these are ``pass@1``; with n, any correct is ``pass@n``, and all
            solutions are ``pass@1`` where no sample is missing.
    """
    n = samples_per_task
    shown = {name: [fmt.estimate(each) if each else "" for each in found] for name, found in columns.items()}
    taken: dict[str, list[str]] = {}
    for name, numbers in shown.items():
        if name in (_OF_ONE_SAMPLE if n == 1 else _ALL_SAMPLES):
            same = "pass@1"
        elif name in _ANY_SAMPLE:
            same = f"pass@{n}"
        else:
            continue
        if numbers == shown.get(same):
            del columns[name]
            taken.setdefault(same, []).append(name)
    told = [f"{', '.join(names)} equal{'' if names[1:] else 's'} {same}" for same, names in taken.items()]
    first = "with one sample per problem " if n == 1 else ""
    return f"; {first}{'; '.join(told)}" if told else ""


def disagreements(summary: Summary) -> Table:
    """Samples that pass under one profile and fail under another, the first ones."""
    names = [profile.profile for profile in summary.profiles]
    caption = f"{fmt.plural(summary.disagreeing, 'sample')} graded differently"
    if summary.disagreeing > len(summary.disagreements):
        caption += f"; the first {len(summary.disagreements)}"
    rows: list[list[Cell]] = []
    for found in summary.disagreements:
        name = doc.SampleName(found.problem_id, found.sample)
        link = doc.Linked(name, "#samples", {"data_find": doc.read(name)})
        badges = (doc.Badge(found.reasons[one]) if one in found.reasons else None for one in names)
        rows.append([link, *badges])
    head = ("sample", *names)
    return Table(slug="disagreements", caption=caption, head=head, rows=rows, look="badges")


def reasons(summary: Summary) -> Table:
    """How many verdicts each reason has, profiles side by side."""
    names = dict.fromkeys(reason for profile in summary.profiles for reason in profile.reasons)
    meanings: dict[str, str] = {reason.value: words for reason, words in wording.REASONS.items()}
    totals = [sum(profile.reasons.values()) for profile in summary.profiles]
    rows: list[list[Cell]] = []
    for name in names:
        shares = (
            doc.PartOf(profile.reasons.get(name, 0), total, wording.family(name))
            for profile, total in zip(summary.profiles, totals, strict=True)
        )
        rows.append([doc.noted(name, meanings.get(name)), *shares])
    head = ("reason", *(profile.profile for profile in summary.profiles))
    return Table(slug="reasons", caption="Verdicts by reason", head=head, rows=rows, look="reasons")


def splits(summary: Summary) -> Table:
    """pass@1 by difficulty, platform, month and a model's cut-off, profiles side by side."""
    by_profile = [{(s.by, s.value): s.rate for s in profile.splits} for profile in summary.profiles]
    rows: list[list[Cell]] = []
    for by, value in dict.fromkeys(group for rates in by_profile for group in rates):
        rates = [found.get((by, value)) for found in by_profile]
        count = next(rate.tasks for rate in rates if rate is not None)
        rows.append([doc.GroupName(by, value), *rates, count])
    head = ("group", *(profile.profile for profile in summary.profiles), "problems")
    return Table(slug="groups", caption="pass@1 by group", head=head, rows=rows, look="metrics")


def usage(summary: Summary) -> Table:
    """Tokens and seconds: totals and how they are spread over samples and problems."""
    used = summary.usage
    named = {
        "input tokens": used.input_tokens,
        "output tokens": used.output_tokens,
        "latency, s": used.latency_s,
        "tokens per problem": used.tokens_per_task,
        "latency per problem, s": used.latency_s_per_task,
    }
    return Table(
        slug="usage",
        caption="Tokens as reported with each reply; wall-clock seconds",
        head=("per sample or problem", "known", "total", "mean", "median", "p90", "p99", "largest"),
        rows=[
            [name, s.count, s.total, s.mean, s.median, s.p90, s.p99, s.high]
            for name, s in named.items()
            if s is not None
        ],
        look="numeric",
        spare=("p90", "largest", "known"),
    )


def tasks(summary: Summary, most: int | None = None) -> Table:
    """Passes of every problem, or of the first ones."""
    known = [{task.id: task for task in profile.tasks} for profile in summary.profiles]
    names = list(dict.fromkeys(name for of in known for name in of))
    rows: list[list[Cell]] = []
    for name in names[:most]:
        passes = (doc.Passes(task.c, task.n) if (task := of.get(name)) else None for of in known)
        rows.append([doc.Linked(name, "#samples", {"data_find": f"{name}#"}), *passes])
    head = ("problem", *(profile.profile for profile in summary.profiles))
    cut = f" of the first {fmt.count(len(rows))} problems" if len(rows) < len(names) else " by problem"
    return Table(slug="tasks", caption=f"Passes{cut}", head=head, rows=rows, look="numeric")


# ---------------------------------------------------------------------------------------------- terminal


def print_summary(summary: Summary, *, console: Console | None = None, worded: Callable[[str], str] = str) -> None:
    """Print the results of a graded run: estimates by profile, then counts, intervals, usage and warnings.

    Args:
        summary: of the run.
        console: where to print; None for standard output.
        worded: what the command line makes of the warnings, which name arguments as Python has them.
    """
    print_parts(
        Prose(lead=wording.measured(summary)),
        partial_result(summary),
        metrics_section(summary),
        reasoning(summary),
        groups_section(summary),
        reasons_section(summary),
        usage_section(summary),
        agent_section(summary),
        doc.Facts(_coverage(summary)),
        doc.Cautions([Prose(text=worded(warning.line)) for warning in summary.warnings]),
        console=console,
    )


def partial_result(summary: Summary) -> Prose | None:
    """That the run is not complete, before any number of it; None of a complete one."""
    found = wording.how_far(summary)
    return Prose(lead="Partial result: ", text=found, tone="partial") if found else None


def print_matrix(matrix: Matrix, *, console: Console | None = None) -> None:
    """Print the results of each profile and the spread between profiles."""
    print_parts(profiles(matrix), Prose(text=wording.spread(matrix)), console=console)


def _coverage(summary: Summary) -> list[tuple[str, Cell]]:
    """Name and value of the facts about the whole run."""
    verb = "has" if summary.expected == 1 else "have"
    replies = f"{fmt.count(summary.answered)} of {fmt.plural(summary.expected, 'sample')} {verb} a reply"
    found: list[tuple[str, Cell]] = [
        ("problems", f"{fmt.count(summary.tasks)} × {fmt.plural(summary.samples_per_task, 'sample')}; {replies}"),
        *([("window", described(summary.window))] if summary.window else []),
        ("missing", summary.missing),
    ]
    if summary.excluded:
        named = f"{fmt.plural(len(summary.excluded), 'problem')}: {wording.first_tasks(list(summary.excluded))}"
        found.append(("excluded", named))
    if len(summary.profiles) > 1:
        found.append(("disagreeing", fmt.plural(summary.disagreeing, "sample")))
    return found


# ---------------------------------------------------------------------------------------------- sections


def report_sections(material: ReportMaterial) -> list[Section | None]:
    """The sections of a page and of files about results, in the page's order."""
    summary = material.summary
    return [
        overview(material),
        rules_section(material.matrix, summary),
        reasoning(summary),
        metrics_section(summary),
        groups_section(summary),
        tasks_section(summary),
        reasons_section(summary),
        usage_section(summary, material.distributions),
        budget_section(summary),
        agent_section(summary),
        findings_section(material.findings),
    ]


def overview(material: ReportMaterial) -> Section:
    """The first section: headline estimates by profile, and warnings."""
    summary = material.summary
    several = len(summary.profiles)
    cards = summary.profiles if several <= MAX_CARDS else summary.profiles[:1]
    shown = el("div", (score_card(profile, summary) for profile in cards), class_="cards")
    other = None
    if several > MAX_CARDS:
        values = [profile.estimates[0].value for profile in summary.profiles]
        other = Prose(
            text=f"Under {several} profiles the same replies give {fmt.percent(min(values))} to"
            f" {fmt.percent(max(values))}: the grading rules alone change the result by"
            f" {100 * material.matrix.spread:.1f} points{wording.spread_note(summary.warnings)}. ",
            link=("Compare the profiles", "#rules"),
        )
    audited = (finding for finding in material.findings if finding.severity.value != "info")
    doubts = [Prose(text=f"{finding.sentence} ", link=("Audit", "#audit")) for finding in audited]
    doubts += [Prose(text=warning.line) for warning in summary.warnings]
    beside = doc.Beside([shown, other], [doc.Cautions(doubts, "No warnings for this run.")])
    page = only(On.PAGE, beside, count_tiles(summary))
    return Section("result", "Result", [page, only(On.FILES, warnings(summary))])


def rules_section(matrix: Matrix, summary: Summary) -> Section | None:
    """One set of replies under several profiles; nothing for a single one."""
    chart = rules_chart(matrix, summary)
    if chart is None:
        return None
    differing = disagreements(summary)
    none = Prose(text="All profiles agree on every sample.", tone="note")
    shown: Part = doc.Folded(differing.caption, [differing]) if len(differing.rows) > 12 else differing
    caption = "The same replies under each profile (axis cropped); grey: range."
    changed = "change the result" if matrix.spread else "do not change the result"
    words = f"The grading rules alone {changed}: {wording.spread(matrix)}."
    return Section(
        "rules",
        "Profiles",
        [
            Prose(text=words, tone="prose"),
            doc.Figure(chart, caption, plain=True),
            only(_SHOWN, profiles(matrix)),
            only(On.FILES, profiles(matrix, whole=True)),
            shown if summary.disagreeing else only(On.PAGE, none),
        ],
    )


def metrics_section(summary: Summary) -> Section:
    """All estimates, profiles side by side, what they rest on, and pass@k against k."""
    chart = curve_chart(summary)
    words = "pass@k by number of samples k (logarithmic axis), with intervals. The table gives the same numbers."
    told = [Prose(text=line, tone="note") for line in map(wording.tiers, summary.profiles) if line]
    return Section(
        "metrics",
        "Metrics",
        [
            only(On.PAGE, doc.Figure(chart, words, plain=True)) if chart else None,
            only(_SHOWN, estimates(summary)),
            only(On.FILES, estimates(summary, whole=True)),
            *_as_reported(summary),
            *told,
            conditions(summary),
        ],
    )


def _as_reported(summary: Summary) -> list[Part]:
    """The numbers that the harnesses themselves would print."""
    parts: list[Part] = []
    for profile in summary.profiles:
        values = {estimate.metric: fmt.percent(estimate.value) for estimate in profile.estimates}
        numbers = [f"{name.replace('_', ' ')} {values[name]}" for name in profile.reported if name in values]
        numbers += [f"{name} {value!r}" for name, value in profile.published.items()]
        if numbers:
            parts.append(Prose(lead=f"as printed by {profile.profile}: ", text=" · ".join(numbers)))
    return parts


def tasks_section(summary: Summary) -> Section:
    """Cells shaded by the share of samples that pass, in data set order: a problem each, or several."""
    page, files = only(On.PAGE, lambda: _strips(summary)), only(On.FILES, lambda: [tasks(summary)])
    return Section("tasks", "Problems", [page, files])


def _strips(summary: Summary) -> list[Part]:
    scale = el(
        "p",
        "no sample passes ",
        el("span", class_="ramp", aria_hidden="true"),
        " every sample passes",
        class_="note",
    )
    each = max(1, *(-(-len(profile.tasks) // MAX_CELLS) for profile in summary.profiles))
    cell = "problem" if each == 1 else f"{each} problems"
    hint = f"One cell per {cell}, in data set order. Select a cell, or search below, to see the samples."
    strips = [task_strip(profile, each) for profile in summary.profiles]
    more = doc.Folded(f"{len(strips) - MAX_STRIPS} more profiles", list(strips[MAX_STRIPS:]))
    first = tasks(summary, MAX_CELLS)
    title = "Passes of every problem as a table"
    if len({task.id for profile in summary.profiles for task in profile.tasks}) > MAX_CELLS:
        title = f"{first.caption} as a table; all of them: truegrade report --format csv"
    shown = [*strips[:MAX_STRIPS], more if strips[MAX_STRIPS:] else None, scale, doc.Folded(title, [first])]
    return [Prose(text=hint, tone="note"), *shown]


def reasons_section(summary: Summary) -> Section:
    """How many verdicts each reason has."""
    also: dict[str, list[str]] = {}
    for profile in summary.profiles:
        for number, what in (
            (profile.time_sensitive, "reached a time limit or used half of it"),
            (profile.inside, "had their tests run in the process of the candidate"),
        ):
            if number:
                also.setdefault(f"{fmt.plural(number, 'verdict')} {what}", []).append(profile.profile)
    noted: list[str | Prose] = [f"{', '.join(of)}: {line}" for line, of in also.items()]
    drawn = only(On.PAGE, doc.Figure(reasons_chart(summary), "", plain=True))
    return Section("reasons", "Verdicts by reason", [drawn, reasons(summary), doc.Bullets(noted)], "Reasons")


def findings_section(findings: Sequence[Finding]) -> Section | None:
    """What a stored audit found; what the samples of a run show by themselves is among its warnings."""
    if not findings:
        return None
    items = (el("li", _finding(finding)) for finding in findings)
    return Section("audit", "Audit", [el("ul", items, class_="findings")])


def _finding(finding: Finding) -> Child:
    grave = el("b", finding.severity.value, class_=f"severity {finding.severity.value}")
    head = join(grave, " ", finding.sentence)
    if not finding.rows:
        return head
    more = len(finding.rows) - NAMED_ROWS
    rows = ", ".join(finding.rows[:NAMED_ROWS]) + (f", and {more} more" if more > 0 else "")
    return [head, folded(f"{finding.code}: where", el("p", rows, class_="note"))]


def groups_section(summary: Summary) -> Section | None:
    """pass@1 by group; nothing where the problems form none."""
    table = splits(summary)
    found = (wording.after_cutoff(profile, summary.cutoff) for profile in summary.profiles)
    told: list[str | Prose] = [sentence for sentence in found if sentence]
    return Section("groups", "Groups", [table, doc.Bullets(told)]) if table.rows else None


def usage_section(summary: Summary, distributions: Sequence[Distribution] = ()) -> Section | None:
    """Tokens, time, cost and truncation; nothing where none is known, as with an imported file of answers."""
    used, table = summary.usage, usage(summary)
    if not table.rows and not distributions and not used.attempts and used.cost_usd is None:
        return None
    totals: list[tuple[str, Cell]] = []
    if used.attempts or used.cost_usd is not None:
        totals.append(("cost", doc.dollars(used.cost_usd)))
        if used.cost_usd is not None and summary.tasks:
            totals.append(("cost per problem", doc.dollars(used.cost_usd / summary.tasks)))
        totals += [("requests", used.attempts), ("failed requests", used.failed_attempts)]
        totals.append(("empty replies", used.empty_attempts))

    def drawn() -> list[Part]:
        pairs = el("div", draw([_histogram(found) for found in distributions]), class_="pair")
        chart = truncation_chart(summary)
        words = "Replies without an answer and replies cut at the token limit, in percent of verdicts"
        cut = el("div", draw([doc.Figure(chart, words)]), class_="narrow") if chart else None
        return [pairs if distributions else None, cut]

    shown = [doc.Facts(totals) if totals else None, table, only(On.PAGE, drawn)]
    return Section("usage", "Tokens, time and cost", list(shown), "Cost")


def _histogram(found: Distribution) -> Part:
    families = list(found.counts)
    rows: list[list[Cell]] = [
        [f"{fmt.quantity(low)} to {fmt.quantity(high)}", *(found.counts[f][place] for f in families)]
        for place, (low, high) in enumerate(zip(found.edges[:-1], found.edges[1:], strict=True))
        if any(found.counts[family][place] for family in families)
    ]
    head = (found.unit, *(wording.FAMILIES[family] for family in families))
    numbers = Table(slug=found.name, caption=found.name, head=head, rows=rows, look="numeric")
    return doc.Figure(distribution_chart(found), said(found), numbers)
