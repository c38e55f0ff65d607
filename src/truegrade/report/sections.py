"""Sections of the report page about results: pure functions that return HTML, empty without content."""

from __future__ import annotations

from collections.abc import Sequence

from truegrade.analysis.audit.findings import Finding
from truegrade.analysis.standings import Matrix, MatrixRow
from truegrade.pipeline.summary import Disagreement, ProfileSummary, Summary, TaskLine
from truegrade.pipeline.totals import RunUsage
from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.charts import svg
from truegrade.report.charts.svg import inline, interval_plot
from truegrade.report.chosen_samples import ReportMaterial
from truegrade.report.exhibits import split_rows
from truegrade.report.figures import (
    Distribution,
    curve_chart,
    distribution_chart,
    reasons_chart,
    rules_chart,
    said,
    truncation_chart,
)
from truegrade.report.glossary import explained
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import facts, figure, folded, section, table
from truegrade.report.wording import after_cutoff

MAX_CARDS = 2
"""With more profiles only the first gets a card; the section on profiles compares all of them."""
MAX_DOUBTS = 4
"""Number of warnings shown unfolded; the gravest come first."""
MAX_STRIPS = 3
MAX_CELLS = 1_000
"""Cells of a strip and rows of the table of problems: with ten thousand of each a browser takes seconds."""


# --------------------------------------------------------------------------------------------- headline


def overview(material: ReportMaterial) -> Markup:
    """The first section: headline estimates by profile, and warnings."""
    summary = material.summary
    several = len(summary.profiles)
    cards = summary.profiles if several <= MAX_CARDS else summary.profiles[:1]
    other = None
    if several > MAX_CARDS:
        matrix = material.matrix
        other = el(
            "p",
            f"Under {several} profiles the same replies give {_range(summary)}: the grading rules alone change the"
            f" result by {100 * matrix.spread:.1f} points{wording.spread_note(summary.warnings)}. ",
            el("a", "Compare the profiles", href="#rules"),
            ".",
        )
    shown = el("div", (_card(profile, summary) for profile in cards), class_="cards")
    told = [el("p", line, class_="note") for profile in summary.profiles if (line := wording.tiers(profile))]
    return section(
        "result",
        "Result",
        el("div", el("div", shown, told, other), _doubts(material), class_="first"),
        _coverage(summary),
    )


def _range(summary: Summary) -> str:
    values = [profile.estimates[0].value for profile in summary.profiles]
    return f"{fmt.percent(min(values))} to {fmt.percent(max(values))}"


def _card(profile: ProfileSummary, summary: Summary) -> Markup:
    first = profile.estimates[0]
    interval = f"{100 * first.confidence:g} % CI {fmt.bounds(first.low, first.high)}"
    if first.low is None:
        interval = f"{100 * first.confidence:g} % CI: not available (one cluster)"
    scale = el("div", el("span", "0"), el("span", "50"), el("span", "100 %"), class_="scale", aria_hidden="true")
    return el(
        "article",
        el("h3", profile.profile, el("span", explained(first.metric), class_="metric")),
        el("p", fmt.percent(first.value), class_="value"),
        el("p", explained(interval), class_="interval-text"),
        interval_plot(first, f"{first.metric} under {profile.profile}"),
        scale,
        facts(
            ("problems × samples", f"{fmt.count(first.tasks)} × {summary.samples_per_task}"),
            (explained("clusters of related problems"), fmt.count(first.clusters)),
            (explained(wording.NO_ANSWER), fmt.count(max(e.unanswered for e in profile.estimates))),
            (explained("truncated"), fmt.count(max(e.truncated for e in profile.estimates))),
            ("interval by", first.method),
            (explained("protection"), wording.level(profile.level)),
            *((e.metric, fmt.percent(e.value)) for e in profile.estimates if e.metric in profile.reported),
            *((f"{name} as printed by the harness", repr(value)) for name, value in profile.published.items()),
        ),
        class_="card",
    )


def _coverage(summary: Summary) -> Markup:
    asked = f"{fmt.plural(summary.tasks, 'problem')} × {summary.samples_per_task}"
    tiles = [
        ("samples expected", summary.expected, asked),
        ("replies", summary.answered, "received, empty ones included"),
        ("missing", summary.missing, wording.why_missing(summary)),
    ]
    if summary.excluded:
        tiles.append(("excluded problems", len(summary.excluded), "not scored; see Methods"))
    rows = (
        el("div", el("dt", explained(name)), el("dd", fmt.count(number)), el("dd", what, class_="what"))
        for name, number, what in tiles
    )
    return el("dl", rows, class_="tiles")


def _doubts(material: ReportMaterial) -> Markup:
    """The warnings of the run, and what a stored audit found."""
    summary = material.summary
    grave = [finding for finding in material.findings if finding.severity.value != "info"]
    items = [el("li", finding.sentence, " ", el("a", "Audit", href="#audit")) for finding in grave]
    items += [el("li", warning.line) for warning in summary.warnings]
    title = el("h3", "Warnings", id="warnings-title")
    said = el("ul", items[:MAX_DOUBTS]) if items else el("p", "No warnings for this run.")
    rest = folded(f"{len(items) - MAX_DOUBTS} more", el("ul", items[MAX_DOUBTS:])) if items[MAX_DOUBTS:] else None
    kind = "warnings" if items else "warnings none"
    return el("aside", title, said, rest, id="warnings", class_=kind, aria_labelledby="warnings-title")


# ---------------------------------------------------------------------------------------------- metrics


def metrics(summary: Summary) -> Markup:
    """All estimates, profiles side by side, and pass@k against k."""
    by_profile = [{e.metric: e for e in profile.estimates} for profile in summary.profiles]
    names = dict.fromkeys(name for estimates in by_profile for name in estimates)
    rows = [
        [
            join(name, el("small", wording.metric(name))),
            str(wording.problems_of([estimates.get(name) for estimates in by_profile])),
            *(_estimate_cell(estimates.get(name), name) for estimates in by_profile),
        ]
        for name in names
    ]
    head = ["metric", "problems", *(profile.profile for profile in summary.profiles)]
    shown = table("Estimates with their intervals", head, rows, class_="metrics")
    chart = curve_chart(summary)
    words = "pass@k by number of samples k (logarithmic axis), with intervals. The table gives the same numbers."
    return section("metrics", "Metrics", figure(chart, words) if chart else None, shown)


def _estimate_cell(estimate: Estimate | None, name: str) -> Child:
    if estimate is None:
        return "–"
    number = el("span", el("b", fmt.percent(estimate.value)), " ", fmt.bounds(estimate.low, estimate.high))
    plot = interval_plot(estimate, name)
    return join(number, plot, el("small", fmt.part(estimate).strip()) if estimate.left_out else None)


# ------------------------------------------------------------------------------------------------ tasks


def tasks(summary: Summary) -> Markup:
    """Cells shaded by the share of samples that pass, in data set order: a problem each, or several."""
    scale = el(
        "p",
        "no sample passes ",
        el("span", class_="ramp", aria_hidden="true"),
        " every sample passes",
        class_="note",
    )
    each = max(1, *(_problems_a_cell(profile) for profile in summary.profiles))
    cell = "problem" if each == 1 else f"{each} problems"
    hint = f"One cell per {cell}, in data set order. Select a cell, or search below, to see the samples."
    strips = [_strip(profile) for profile in summary.profiles]
    more = (
        folded(f"{len(strips) - MAX_STRIPS} more profiles", strips[MAX_STRIPS:]) if strips[MAX_STRIPS:] else None
    )
    shown = [*strips[:MAX_STRIPS], more, scale, _task_table(summary)]
    return section("tasks", "Problems", el("p", hint, class_="note"), shown)


def _problems_a_cell(profile: ProfileSummary) -> int:
    return -(-len(profile.tasks) // MAX_CELLS)


def _strip(profile: ProfileSummary) -> Markup:
    solved = sum(0 < task.n == task.c for task in profile.tasks)
    unsolved = sum(task.n > 0 == task.c for task in profile.tasks)
    ungraded = sum(task.n == 0 for task in profile.tasks)
    mixed = len(profile.tasks) - solved - unsolved - ungraded
    words = (
        f"of {fmt.plural(len(profile.tasks), 'problem')} {solved} always pass, {mixed} sometimes, {unsolved} never"
    )
    words += f", {ungraded} not graded" if ungraded else ""
    each = max(1, _problems_a_cell(profile))
    cells = (_strip_cell(profile.tasks[at : at + each]) for at in range(0, len(profile.tasks), each))
    strip = el("div", cells, class_="strip", role="img", aria_label=f"{profile.profile}: {words}")
    return el("figure", el("figcaption", el("b", profile.profile), ": ", words), strip)


def _strip_cell(tasks: Sequence[TaskLine]) -> Markup:
    """The samples of these problems together; selecting it finds the first of them."""
    c, n = sum(task.c for task in tasks), sum(task.n for task in tasks)
    name = tasks[0].id if len(tasks) == 1 else f"{tasks[0].id} to {tasks[-1].id}"
    return el(
        "i",
        title=f"{name}: {c} of {n}",
        style=f"--p:{100 * c / n:.0f}" if n else None,
        class_=None if n else "none",
        data_find=f"{tasks[0].id}#",
    )


def _task_table(summary: Summary) -> Markup:
    """The same data as a table; each problem links to its samples."""
    known = [{task.id: task for task in profile.tasks} for profile in summary.profiles]
    names = list(dict.fromkeys(name for of in known for name in of))
    rows: list[list[Child]] = []
    for name in names[:MAX_CELLS]:
        found = [of.get(name) for of in known]
        link = el("a", name, href="#samples", data_find=f"{name}#")
        rows.append([link, *(f"{task.c} / {task.n}" if task else "–" for task in found)])
    head = ["problem", *(profile.profile for profile in summary.profiles)]
    title = "Passes of every problem as a table"
    if len(names) > len(rows):
        first = f"Passes of the first {fmt.count(len(rows))} problems as a table"
        title = f"{first}; all of them: truegrade report --format csv"
    return folded(title, table("Passes / samples", head, rows, class_="numeric"))


# ---------------------------------------------------------------------------------------------- reasons


def reasons(summary: Summary) -> Markup:
    """How many verdicts each reason has, profiles side by side."""
    names = dict.fromkeys(reason for profile in summary.profiles for reason in profile.reasons)
    meanings: dict[str, str] = {reason.value: words for reason, words in wording.REASONS.items()}
    totals = [max(1, sum(profile.reasons.values())) for profile in summary.profiles]
    rows = [
        [
            join(name, el("small", meanings.get(name, ""))),
            *(
                _bar(profile.reasons.get(name, 0), total, wording.family(name))
                for profile, total in zip(summary.profiles, totals, strict=True)
            ),
        ]
        for name in names
    ]
    head = ["reason", *(profile.profile for profile in summary.profiles)]
    also: dict[str, list[str]] = {}
    for profile in summary.profiles:
        for number, what in (
            (profile.time_sensitive, "reached a time limit or used half of it"),
            (profile.inside, "had their tests run in the process of the candidate"),
        ):
            if number:
                also.setdefault(f"{fmt.plural(number, 'verdict')} {what}", []).append(profile.profile)
    drawn = el("figure", svg.inline(reasons_chart(summary)))
    shown = table("Verdicts by reason", head, rows, class_="reasons")
    noted = (
        el("ul", (el("li", f"{', '.join(of)}: {line}") for line, of in also.items()), class_="note")
        if also
        else None
    )
    return section("reasons", "Verdicts by reason", drawn, shown, noted)


def _bar(number: int, total: int, family: str) -> Markup:
    share = number / total
    bar = el(
        "span", el("span", class_=family, style=f"width:{100 * share:.2f}%"), class_="bar", aria_hidden="true"
    )
    return join(el("span", f"{fmt.count(number)} · {fmt.percent(share)}", class_="num"), bar)


# ---------- The section on a stored audit; what the samples of a run show by themselves is among its warnings.


_NAMED_ROWS = 40


def findings_section(findings: list[Finding]) -> Markup:
    """The section of the page; empty where nothing was found."""
    if not findings:
        return Markup()
    items = (el("li", _item(finding)) for finding in findings)
    return section("audit", "Audit", el("ul", items, class_="findings"))


def _item(finding: Finding) -> Child:
    head = join(
        el("b", finding.severity.value, class_=f"severity {finding.severity.value}"), " ", finding.sentence
    )
    if not finding.rows:
        return head
    more = len(finding.rows) - _NAMED_ROWS
    rows = ", ".join(finding.rows[:_NAMED_ROWS]) + (f", and {more} more" if more > 0 else "")
    return [head, folded(f"{finding.code}: where", el("p", rows, class_="note"))]


# ------------- The section of the page on groups: pass@1 by difficulty, platform, month and a model's cut-off.


def splits(summary: Summary) -> Child:
    """The section; nothing where the problems form no groups."""
    rows = split_rows(summary)
    if not rows:
        return None
    head = ["group", "problems", *(profile.profile for profile in summary.profiles)]
    cells: list[list[Child]] = [
        [
            join(value, el("small", kind)),
            fmt.count(tasks),
            *(
                "–" if rate is None else join(el("span", fmt.estimate(rate)), interval_plot(rate, value))
                for rate in rates
            ),
        ]
        for kind, value, tasks, rates in rows
    ]
    shown = table("pass@1 by group", head, cells, class_="metrics")
    return section("groups", "Groups", _sentences(summary), shown)


def _sentences(summary: Summary) -> Markup | None:
    found = [after_cutoff(profile, summary.cutoff) for profile in summary.profiles]
    said = [el("li", sentence) for sentence in found if sentence]
    return el("ul", said, class_="note") if said else None


# ----------------------------------- Tokens, time, cost and truncation: totals and distributions over samples.


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


# ----------------------------------------------------------------------------------------------------------------
# One set of replies under several profiles: spread, results by profile, and samples with different verdicts.


def rules(matrix: Matrix, summary: Summary) -> Markup:
    """The section of the page; empty for a single profile."""
    chart = rules_chart(matrix, summary)
    if chart is None:
        return Markup()
    spread = f"The grading rules alone change the result by {100 * matrix.spread:.1f} points"
    words = (
        f"{spread}: from {matrix.lowest} to {matrix.highest}{wording.spread_note(matrix.warnings)}. The profiles"
        " disagree on"
        f" {fmt.count(matrix.disagreeing)} of {fmt.plural(matrix.compared, 'sample')}."
    )
    caption = "The same replies under each profile (axis cropped); grey: range."
    return section(
        "rules",
        "Profiles",
        el("p", words, class_="prose"),
        figure(chart, caption),
        _matrix(matrix),
        _differing(summary),
    )


def _matrix(matrix: Matrix) -> Markup:
    ks = sorted({k for row in matrix.rows for k in row.pass_at})
    head = ["profile", *(f"pass@{k}" for k in ks), "any of N", "all solutions", "first sample"]
    return table("Results by profile", head, [_row(row, ks) for row in matrix.rows], class_="numeric")


def _row(row: MatrixRow, ks: Sequence[int]) -> list[Child]:
    cells = [*(row.pass_at.get(k) for k in ks), row.any_of_n, row.all_solutions, row.first_sample]
    return [row.profile, *map(_cell, cells)]


def _cell(estimate: Estimate | None) -> Child:
    return "–" if estimate is None else fmt.percent(estimate.value)


def _differing(summary: Summary) -> Child:
    """Samples that pass under one profile and fail under another."""
    if not summary.disagreeing:
        return el("p", "All profiles agree on every sample.", class_="note")
    profiles = [profile.profile for profile in summary.profiles]
    rows = [_disagreement(item, profiles) for item in summary.disagreements]
    caption = f"{fmt.plural(summary.disagreeing, 'sample')} graded differently"
    if summary.disagreeing > len(rows):
        caption += f"; the first {len(rows)}"
    shown = table(caption, ["sample", *profiles], rows, class_="badges")
    return folded(caption, shown) if len(rows) > 12 else shown


def _disagreement(item: Disagreement, profiles: Sequence[str]) -> list[Child]:
    name = f"{item.problem_id}#{item.sample}"
    link = el("a", name, href="#samples", data_find=name)
    return [link, *(_badge(item.reasons.get(profile)) for profile in profiles)]


def _badge(reason: str | None) -> Child:
    return "–" if reason is None else el("span", reason, class_=f"badge {wording.family(reason)}")
