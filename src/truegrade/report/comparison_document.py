"""A comparison of graded runs as a document: its tables, each made once, and its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from truegrade.analysis.comparison import Comparison, RunPairing
from truegrade.errors import UnknownName
from truegrade.files.json_text import encode
from truegrade.pipeline.summary import TaskLine
from truegrade.report import comparison_replies as words
from truegrade.report import document as doc
from truegrade.report import format as fmt
from truegrade.report.agents import compared_budgets
from truegrade.report.charts.svg import Chart, difference_rows, standalone
from truegrade.report.comparison_replies import (
    Replies,
    collect_replies,
    reasons,
    replies_link,
    replies_section,
    reply_blocks,
    strips,
    strips_legend,
)
from truegrade.report.document import Cell, On, Part, Prose, Section, Table, only
from truegrade.report.export import make_folder, write_files
from truegrade.report.figures import differences_chart
from truegrade.report.page_parts import render_page, show
from truegrade.report.wording import conclusion, first_tasks
from truegrade.statistics import PairedComparison
from truegrade.statistics.reasoning_records import ShareDifference
from truegrade.store.manifest import write_atomically

if TYPE_CHECKING:
    from rich.console import Console

FORMATS = ("html", "latex", "markdown", "csv", "json")
NAME = "comparison"
"""Of the page and of the folder, where no other is asked for."""
OPEN_STRIPS = 3
"""Pairs whose strip a page shows at once; the others are folded."""
STYLES = ("browser.css", "compare.css")
SCRIPTS = ("blocks.js", "detail.js", "compare.js")

Reasons = Mapping[tuple[str, str], Sequence[str]]
"""By side's label and problem."""


# ----------------------------------------------------------------------------------------------- tables


def sides(comparison: Comparison) -> Table:
    """The runs, each over all its problems."""
    return Table(
        slug="runs",
        caption="Results of each run over all its problems",
        head=(
            "run", "model", "pass@1", "problems", "samples per problem", "benchmark", "profile", "prompt rule",
            "folder",
        ),
        rows=[
            [
                s.label, s.model, s.rate, s.rate.tasks, s.samples_per_task, s.benchmark, s.profile,
                s.prompt_rule or "imported", s.run.resolve().name,
            ]
            for s in comparison.sides
        ],
        strong=frozenset(n for n, s in enumerate(comparison.sides) if s.label == comparison.baseline),
        spare=("samples per problem", "benchmark", "profile", "prompt rule", "folder"),
    )  # fmt: skip


def models(comparison: Comparison) -> Table | None:
    """What a paper shows: the estimate of each run, its difference from the baseline, and how sure that is; None
    where all pairs are compared."""
    if comparison.baseline is None:
        return None
    first = comparison.pairs[0].paired
    against = {pair.second: pair for pair in comparison.pairs}
    of = sorted(comparison.sides, key=lambda side: side.label != comparison.baseline)
    rows: list[list[Cell]] = []
    for side in of:
        row: list[Cell] = [words.named(side), side.rate, None, None]
        if (pair := against.get(side.label)) is not None:
            paired = pair.paired
            row[2] = doc.points_interval(paired.difference, paired.low, paired.high)
            row[3] = doc.Worded(pair.p_adjusted, fmt.corrected_p(pair.p_value, pair.p_adjusted))
        rows.append(row)
    forced = "not comparable, forced" if words.forced(comparison) else ""
    corrected = words.correction(comparison) or "one comparison, so p is not corrected"
    ends = filter(None, (words.tests(comparison), corrected, forced))
    counted = words.counted(comparison)
    counted += "" if "cluster" in counted else ", each a cluster of its own"
    return Table(
        slug="models",
        caption=f"Differences from {comparison.baseline} in percentage points, with {100 * first.confidence:g} %"
        " confidence intervals",
        alone=f", on {words.benchmarks(comparison)} under {words.profiles(comparison)}, paired by problem,"
        f" {counted};"
        f" {'; '.join([first.method, *ends])}",
        head=("model", of[0].rate.metric, "difference", "p" if comparison.correction is None else "p corrected"),
        rows=rows,
        strong=frozenset({0}),
        look="numeric",
    )


def differences(comparison: Comparison) -> Table:
    """Difference, interval and p-value of every pair."""
    rows: list[list[Cell]] = [
        [
            words.title(pair),
            doc.points_interval(pair.paired.difference, pair.paired.low, pair.paired.high),
            doc.points_interval(pair.paired.difference, pair.bootstrap.low, pair.bootstrap.high),
            doc.p_value(pair.p_value),
            doc.Worded(pair.p_adjusted, fmt.corrected_p(pair.p_value, pair.p_adjusted)),
        ]
        for pair in comparison.pairs
    ]
    confidence = 100 * comparison.pairs[0].paired.confidence
    return Table(
        slug="differences",
        caption=f"Paired differences in percentage points with {confidence:g} % intervals",
        alone="; not comparable, forced" if words.forced(comparison) else "",
        head=("difference", "points", "bootstrap", "p", "p corrected"),
        rows=rows,
        spare=("bootstrap",),
        upright=True,
        look="numeric",
    )


def problems(comparison: Comparison) -> Table:
    """What the differences rest on, and what so many problems can show."""
    powers = [pair.power for pair in comparison.pairs if pair.power is not None]
    caption = "Problems behind the differences"
    if powers:
        caption += f"; what their test detects at {100 * powers[0].power:g} % power (–: nothing)"
        wanted = powers[0].wanted
        caption += f", and what is needed to detect {100 * wanted:g} points" if wanted is not None else ""
    rows: list[list[Cell]] = []
    for pair in comparison.pairs:
        c, power = pair.paired, pair.power
        least = None if power is None or power.detectable is None else 100 * power.detectable
        none = "one cluster" if power is None else "none" if least is None else ""
        needed = None if power is None else power.tasks_needed
        counts = (len(tasks) for tasks in (c.wins, c.losses, c.ties))
        rows.append([words.title(pair), *counts, c.tasks, c.clusters, doc.noted(least, none), needed])
    counted = (*words.outcomes(comparison), "same", "problems", "clusters")
    return Table(
        slug="problems",
        caption=caption,
        head=("difference", *counted, "detectable points", "problems needed"),
        rows=rows,
        spare=("same", "problems needed", "clusters"),
        upright=True,
        look="numeric",
    )


def rates(pairs: Mapping[str, PairedComparison]) -> Table:
    """The rates of both sides on the problems that they share, and each test of their difference."""
    rows: list[list[Cell]] = [
        [
            title,
            doc.percent(c.rate_a),
            doc.percent(c.rate_b),
            doc.p_value(c.permutation_p),
            None if c.mcnemar_p is None else doc.Worded(c.mcnemar_p, f"{c.mcnemar_p:.3g}"),
            c.method,
            len(c.only_a),
            len(c.only_b),
        ]
        for title, c in pairs.items()
    ]
    return Table(
        slug="tests",
        caption="Rates on the problems of both, and how their difference was tested",
        head=(
            "difference", "first", "second", "p, sign-flip test", "p, McNemar test", "interval",
            "problems of the first alone", "problems of the second alone",
        ),
        rows=rows,
        spare=("interval", "problems of the first alone", "problems of the second alone"),
        upright=True,
        look="words",
    )  # fmt: skip


def reasoning_metrics(parts: Sequence[ShareDifference], first: str, second: str) -> Table:
    """The metrics of execution reasoning of one pair."""

    def rate(part: ShareDifference, value: float) -> Cell:
        return doc.Worded(100 * value, (fmt.points if part.metric == "MC - OC" else fmt.percent)(value))

    return Table(
        slug="reasoning",
        caption=f"Execution reasoning: {second} − {first}, paired, in percentage points, p not corrected",
        head=("metric", "first", "second", "points", "p", "pairs", "clusters"),
        rows=[
            [
                part.metric,
                rate(part, part.first),
                rate(part, part.second),
                doc.points_interval(part.difference, part.low, part.high),
                doc.p_value(part.p_value),
                part.pairs,
                part.clusters,
            ]
            for part in parts
        ],
        spare=("clusters",),
        look="numeric",
    )


def groups(pair: RunPairing) -> Table:
    """The differences of one pair by difficulty, platform and so on."""
    return Table(
        slug="groups",
        caption=f"{words.title(pair)} by group, in percentage points; p of the sign-flip test, not corrected",
        head=("group", "points", "p", "problems"),
        rows=[
            [
                doc.GroupName(found.by, found.value),
                doc.points_interval(found.paired.difference, found.paired.low, found.paired.high),
                doc.p_value(found.paired.permutation_p, digits=2),
                found.paired.tasks,
            ]
            for found in pair.splits
        ],
        look="numeric",
    )


def differing(comparison: Comparison) -> Table:
    """Passes of every run on the problems on which a pair differs."""
    found = {name for pair in comparison.pairs for name in (*pair.paired.wins, *pair.paired.losses)}
    whole = passes_by_task(comparison)
    rows = [row for row in whole.rows if row[0] in found]
    return msgspec.structs.replace(
        whole, slug="discordant", caption="Passes by problem, where the runs differ", rows=rows
    )


def discordant(comparison: Comparison, pair: RunPairing, why: Reasons | None = None) -> Table:
    """The problems on which the sides of a pair have different pass rates, won ones first."""
    known = {side.label: {task.id: task for task in side.tasks} for side in comparison.sides}

    def passes(label: str, task: TaskLine) -> doc.Passes:
        return doc.Passes(task.c, task.n, tuple((why or {}).get((label, task.id), ())))

    rows: list[list[Cell]] = []
    for name in (*pair.paired.wins, *pair.paired.losses):
        one, two = known[pair.first][name], known[pair.second][name]
        link = replies_link(comparison, pair, name) if why and (pair.first, name) in why else name
        better = pair.second if two.c * one.n > one.c * two.n else pair.first
        rows.append([link, passes(pair.first, one), passes(pair.second, two), better])
    return Table(
        slug="discordant",
        caption=f"{words.title(pair)}: {fmt.plural(len(rows), 'problem')} on which they differ",
        head=("problem", pair.first, pair.second, words.outcomes(comparison)[0]),
        rows=rows,
        look="badges",
    )


def passes_by_task(comparison: Comparison) -> Table:
    """Passes of every problem in every run."""
    known = [{task.id: task for task in side.tasks} for side in comparison.sides]
    names = dict.fromkeys(task.id for side in comparison.sides for task in side.tasks)
    rows: list[list[Cell]] = [
        [name, *(doc.Passes(task.c, task.n) if (task := of.get(name)) else None for of in known)] for name in names
    ]
    head = ("problem", *(side.label for side in comparison.sides))
    return Table(slug="tasks", caption="Passes by problem", head=head, rows=rows)


def obstacles(comparison: Comparison) -> Table:
    """Why the runs are not comparable."""
    rows: list[list[Cell]] = [[sentence] for sentence in words.forced(comparison)]
    return Table(slug="not-comparable", caption="Not comparable, forced", head=("because",), rows=rows)


# --------------------------------------------------------------------------------------------- sections


def comparison_document(comparison: Comparison, replies: Replies | None = None) -> doc.Document:
    """Everything that is said of a comparison.

    Args:
        comparison: of two runs or more.
        replies: what a page shows side by side; None where none is written.
    """
    under = f"graded under {words.profiles(comparison)}"
    methods = " ".join(words.sentences(comparison))
    shown = replies is not None and bool(replies.tasks)
    return doc.Document(
        kind=NAME,
        about=(words.benchmarks(comparison), words.scope(comparison)),
        lines=(Prose(text=f"paired by problem, {words.counted(comparison)} · {under}", tone="asked"),),
        sections=[
            _result(comparison),
            _reasoning(comparison),
            compared_budgets(comparison),
            _groups(comparison),
            _problems(comparison, replies),
            replies_section(replies) if replies else None,
            Section("methods", "Methods", [only(On.PAGE, Prose(text=methods, tone="prose"))]),
        ],
        methods=methods,
        data=reply_blocks(replies) if replies and shown else None,
        styles=STYLES,
        scripts=SCRIPTS if shown else (),
    )


def differences_figure(comparison: Comparison) -> Chart:
    """Forest plot: every pair's difference and interval around zero."""
    rows = [
        (words.title(pair), pair.paired.difference, pair.paired.low, pair.paired.high) for pair in comparison.pairs
    ]
    return difference_rows(rows, "Paired differences in percentage points")


def _result(comparison: Comparison) -> Section:
    confidence = 100 * comparison.pairs[0].paired.confidence
    caption = f"Second run minus first run, in percentage points, with {confidence:g} % confidence intervals."
    forced = [Prose(lead="not comparable (--force given): ", text=each) for each in words.forced(comparison)]
    cautions = [Prose(text=each) for each in words.noted(comparison)]
    plotted = doc.Figure(differences_figure(comparison), caption, plain=True)
    said = words.correction(comparison)
    main = models(comparison)
    pairs = {words.title(pair): pair.paired for pair in comparison.pairs}
    return Section(
        "result",
        "Result",
        [
            only(
                On.PAGE,
                doc.Beside(
                    [plotted, *_conclusions(comparison)],
                    [doc.Cautions([*forced, *cautions], "Data set, problems, prompts and profile are the same.")],
                ),
            ),
            only(On.TERMINAL, doc.Cautions(forced), *_conclusions(comparison)),
            main or differences(comparison),
            Prose(text=said, tone="note") if said else None,
            only(On.TERMINAL, doc.Cautions(cautions)),
            problems(comparison),
            only(
                On.PAGE | On.FILES,
                differences(comparison) if main else None,
                rates(pairs),
                sides(comparison),
            ),
            only(On.FILES, obstacles(comparison)),
        ],
    )


def _conclusions(comparison: Comparison) -> list[Part]:
    """What the intervals say; in words only where there are few."""
    few = comparison.pairs if len(comparison.pairs) <= 3 else ()
    profiles = {side.profile for side in comparison.sides}
    under = f" under {profiles.pop()}" if len(profiles) == 1 else ""
    same = comparison.same_replies
    return [said(pair.paired, pair.first, pair.second, under, same_replies=same) for pair in few]


def said(c: PairedComparison, first: str, second: str, under: str = "", *, same_replies: bool = False) -> Prose:
    """Difference, interval, both rates, and what the interval says.

    Args:
        c: paired by problem.
        first: name of the run compared with.
        second: name of the run in question.
        under: the profile of both, behind their names.
        same_replies: both are profiles over one run's replies, of which none is better.
    """
    interval = f"{100 * c.confidence:g} % CI {fmt.bounds(c.low, c.high)}"
    rates = f"{fmt.percent(c.rate_b)} against {fmt.percent(c.rate_a)}"
    lead = f"{second} − {first}{under}: {fmt.points(c.difference)} points, {interval}; {rates}. "
    return Prose(lead=lead, text=conclusion(c, first, second, same_replies=same_replies))


def _reasoning(comparison: Comparison) -> Section | None:
    """The metrics of execution reasoning, pair by pair; nothing for other kinds of problem."""
    found = {
        words.title(pair): reasoning_metrics(pair.paired.parts, pair.first, pair.second)
        for pair in comparison.pairs
        if pair.paired.parts
    }
    if not found:
        return None
    charts = {words.title(pair): differences_chart(pair.paired.parts) for pair in comparison.pairs}
    drawn = [
        doc.Figure(chart, title, table) if (chart := charts[title]) else table for title, table in found.items()
    ]
    confidence = 100 * comparison.pairs[0].paired.confidence
    note = (
        "Original against mutant, reversion and choice, each paired by problem; intervals of"
        f" {confidence:g} %, p-values not corrected."
    )
    caption = "Paired differences of the metrics of execution reasoning, in percentage points, p not corrected"
    head = ("difference", "metric", "first", "second", "points", "p", "pairs", "clusters")
    return Section(
        "reasoning",
        "Reasoning",
        [
            only(On.PAGE, Prose(text=note, tone="note"), *drawn),
            only(On.TERMINAL, *found.values()),
            only(On.FILES, doc.stacked(found, caption, head)),
        ],
    )


def _groups(comparison: Comparison) -> Section | None:
    """The differences by group; nothing where the problems form none."""
    found = {words.title(pair): groups(pair) for pair in comparison.pairs if pair.splits}
    if not found:
        return None
    note = "Paired within each group; p-values of the sign-flip test, not corrected for the number of groups."
    caption = "Differences by group, in percentage points; p-values of sign flips, not corrected"
    whole = doc.stacked(found, caption, ("difference", "group", "points", "p", "problems"))
    return Section(
        "groups",
        "Groups",
        [
            only(On.PAGE, Prose(text=note, tone="note")),
            only(On.PAGE | On.TERMINAL, *found.values()),
            only(On.FILES, whole),
        ],
    )


def _problems(comparison: Comparison, replies: Replies | None) -> Section:
    """Every problem: a strip a pair and the problems on which it differs, or the first of their names."""
    files = [differing(comparison), passes_by_task(comparison)]
    page = _strips(comparison, replies) if replies else []
    terminal: list[Part] = []
    for pair in comparison.pairs:
        terminal += [Prose(lead=words.title(pair)), differing_names(pair.paired, pair.first, pair.second)]
    return Section(
        "tasks", "Problems", [only(On.PAGE, *page), only(On.TERMINAL, *terminal), only(On.FILES, *files)]
    )


def _strips(comparison: Comparison, replies: Replies) -> list[Part]:
    hint = (
        "One cell per problem, in data set order. Cells of problems on which the runs differ link to both replies."
    )
    drawn = strips(comparison, replies)
    more = drawn[OPEN_STRIPS:]
    parts: list[Part] = [Prose(text=hint, tone="note"), *drawn[:OPEN_STRIPS]]
    parts += [doc.Folded(f"{len(more)} more pairs", list(more))] if more else []
    parts.append(strips_legend(comparison))
    why = reasons(replies)
    for pair in comparison.pairs:
        table = discordant(comparison, pair, why)
        alike = f"{words.title(pair)}: both runs have the same pass rate on every problem."
        parts.append(doc.Folded(table.caption, [table]) if table.rows else Prose(text=alike, tone="note"))
    return parts


def differing_names(c: PairedComparison, first: str, second: str) -> doc.Facts:
    """The first names of problems that count for the second run, against it, and for neither."""
    lists = {
        f"{second} higher": c.wins,
        f"{first} higher": c.losses,
        f"only in {first}, left out": c.only_a,
        f"only in {second}, left out": c.only_b,
    }
    return doc.Facts([(name, f"{len(of)}: {first_tasks(of)}") for name, of in lists.items() if of])


# -------------------------------------------------------------------------------------------- terminal, files


def print_comparison(comparison: Comparison, *, console: Console | None = None) -> None:
    """Print warnings about comparability first, then the differences between the runs."""
    show(comparison_document(comparison), "terminal", console=console)


def render_comparison(comparison: Comparison, replies: Replies) -> str:
    """The whole page; pure."""
    return render_page(comparison_document(comparison, replies))


def export_comparison(comparison: Comparison, file_format: str, out: Path | None = None) -> list[Path]:
    """Write a comparison as files and return their paths.

    Args:
        comparison: its runs are read once more for the replies on the page.
        file_format: one of `FORMATS`.
        out: for ``html`` the file, else the folder of the files; None for ``comparison.html`` or ``comparison``.

    Raises:
        UnknownName: no such format.
        UserError: ``out`` cannot be made.
    """
    if file_format not in FORMATS:
        raise UnknownName("format of a comparison", file_format, FORMATS)
    if file_format == "html":
        path = out or Path(f"{NAME}.html")
        make_folder(path.parent)
        content = render_comparison(comparison, collect_replies(comparison))
        write_atomically(path, content.encode("utf-8", "replace"))
        return [path]
    return write_files(out or Path(NAME), dict(_files(comparison, file_format)))


def _files(comparison: Comparison, file_format: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file of a format other than the page."""
    if file_format == "json":
        yield f"{NAME}.json", encode(comparison, enc_hook=str, indent=2) + b"\n"
        return
    for name, text in show(comparison_document(comparison), file_format).items():
        yield name, text.encode()
    yield "differences.svg", standalone(differences_figure(comparison)).encode()
