"""The page of a comparison: a self-contained file that makes no network requests."""

from __future__ import annotations

from collections.abc import Sequence

from truegrade.analysis.comparison import Comparison, RunPairing
from truegrade.report import comparison_wording as words
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.budget_parts import compared_budgets
from truegrade.report.charts.svg import Chart
from truegrade.report.charts.svg_dots import difference_rows
from truegrade.report.comparison_replies import Replies, reply_blocks
from truegrade.report.comparison_tasks import replies_section, tasks_section
from truegrade.report.figures import differences_chart
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import figure, page, section, table

STYLES = ("browser.css", "compare.css")
SCRIPTS = ("blocks.js", "detail.js", "compare.js")
_NAVIGATION = (
    ("result", "Result"),
    ("reasoning", "Reasoning"),
    ("budget", "Token budget"),
    ("groups", "Groups"),
    ("tasks", "Problems"),
    ("replies", "Replies"),
    ("methods", "Methods"),
)


def render_comparison(comparison: Comparison, replies: Replies) -> str:
    """The whole page; pure."""
    body = join(
        _result(comparison),
        _reasoning(comparison),
        compared_budgets(comparison),
        _groups(comparison),
        tasks_section(comparison, replies),
        replies_section(replies),
        section("methods", "Methods", el("p", " ".join(words.sentences(comparison)), class_="prose")),
    )
    shown = bool(replies.tasks)
    return page(
        f"Comparison · {words.scope(comparison)}",
        _header(comparison, body),
        body,
        data=reply_blocks(replies) if shown else None,
        styles=STYLES,
        scripts=SCRIPTS if shown else (),
    )


def differences_figure(comparison: Comparison) -> Chart:
    """Forest plot: every pair's difference and interval around zero."""
    rows = [
        (words.title(pair), pair.paired.difference, pair.paired.low, pair.paired.high) for pair in comparison.pairs
    ]
    return difference_rows(rows, "Paired differences in percentage points")


def _header(comparison: Comparison, body: Markup) -> Child:
    benchmarks = " and ".join(dict.fromkeys(side.benchmark for side in comparison.sides))
    profiles = ", ".join(dict.fromkeys(side.profile for side in comparison.sides))
    counts = sorted({pair.paired.tasks for pair in comparison.pairs})
    counted = f"{fmt.count(counts[0])} to " if len(counts) > 1 else ""
    counted += fmt.plural(counts[-1], "problem")
    links = (el("a", said, href=f"#{name}") for name, said in _NAVIGATION if f'<section id="{name}"' in body)
    return [
        el("p", "Truegrade comparison", class_="kicker"),
        el("h1", benchmarks, el("span", " · ", class_="dim"), words.scope(comparison)),
        el("p", f"paired by problem, {counted} · graded under {profiles}", class_="asked"),
        el("nav", links, aria_label="Sections"),
    ]


# ----------------------------------------------------------------------------------------------- result


def _result(comparison: Comparison) -> Markup:
    confidence = 100 * comparison.pairs[0].paired.confidence
    caption = f"Second run minus first run, in percentage points, with {confidence:g} % confidence intervals."
    said = words.correction(comparison)
    plotted = el("div", figure(differences_figure(comparison), caption), _conclusions(comparison))
    return section(
        "result",
        "Result",
        el("div", plotted, _doubts(comparison), class_="first"),
        _pairs(comparison),
        el("p", said, class_="note") if said else None,
        _sides(comparison),
    )


def _conclusions(comparison: Comparison) -> Child:
    """What the intervals say; in words only where there are few."""
    if len(comparison.pairs) > 3:
        return None
    return [
        el(
            "p",
            el("b", f"{words.title(pair)}: {fmt.points(pair.paired.difference)} points. "),
            wording.conclusion(pair.paired, pair.first, pair.second, same_replies=comparison.same_replies),
        )
        for pair in comparison.pairs
    ]


def _doubts(comparison: Comparison) -> Markup:
    """What must be known before the difference is quoted; first what should have forbidden it."""
    forced, noted = words.forced(comparison), words.noted(comparison)
    items = [el("li", el("b", "not comparable (--force given): "), sentence) for sentence in forced]
    items += [el("li", sentence) for sentence in noted]
    title = el("h3", "Warnings", id="warnings-title")
    said = el("ul", items) if items else el("p", "Data set, problems, prompts and profile are the same.")
    kind = "warnings" if items else "warnings none"
    return el("aside", title, said, id="warnings", class_=kind, aria_labelledby="warnings-title")


def _pairs(comparison: Comparison) -> Markup:
    corrected = comparison.correction is not None
    planned = any(pair.power is not None and words.needed(pair.power) for pair in comparison.pairs)
    head = ["difference", "points", "bootstrap", "p", *(["p corrected"] if corrected else [])]
    head += [
        *words.outcomes(comparison),
        "same",
        "problems",
        "detectable",
        *(["needed"] if planned else []),
    ]
    rows = [_pair(pair, corrected=corrected, planned=planned) for pair in comparison.pairs]
    return table("All pairs, compared by problem", head, rows, class_="numeric")


def _pair(pair: RunPairing, *, corrected: bool, planned: bool) -> list[Child]:
    c, power = pair.paired, pair.power
    least = "–" if power is None or power.detectable is None else f"{100 * power.detectable:.1f} points"
    wanted = None if power is None else words.needed(power)
    return [
        words.title(pair),
        f"{fmt.points(c.difference)} {fmt.bounds(c.low, c.high)}",
        fmt.bounds(pair.bootstrap.low, pair.bootstrap.high),
        fmt.p_value(pair.p_value, digits=3),
        *([fmt.corrected_p(pair.p_value, pair.p_adjusted)] if corrected else []),
        *(fmt.count(len(tasks)) for tasks in (c.wins, c.losses, c.ties)),
        join(fmt.count(c.tasks), el("small", fmt.plural(c.clusters, "cluster"))),
        least,
        *([wanted or "–"] if planned else []),
    ]


def _sides(comparison: Comparison) -> Markup:
    rows: list[Sequence[Child]] = [
        [
            side.label,
            side.model,
            side.run.resolve().name,
            fmt.estimate(side.rate),
            f"{fmt.count(side.rate.tasks)} × {side.samples_per_task}",
            side.profile,
            side.prompt_rule or "imported",
        ]
        for side in comparison.sides
    ]
    head = ["name", "model", "run", "pass@1", "problems × samples", "profile", "prompt rule"]
    return table("Results of each run over all its problems", head, rows)


def _groups(comparison: Comparison) -> Child:
    """The difference by difficulty, platform and so on; nothing where the problems form no groups."""
    rows: list[Sequence[Child]] = [
        [
            join(found.value, el("small", found.by)),
            words.title(pair),
            fmt.count(found.paired.tasks),
            f"{fmt.points(found.paired.difference)} {fmt.bounds(found.paired.low, found.paired.high)}",
            f"{found.paired.permutation_p:.2g}",
        ]
        for pair in comparison.pairs
        for found in pair.splits
    ]
    if not rows:
        return None
    note = "Paired within each group; p-values of the sign-flip test, not corrected for the number of groups."
    head = ["group", "difference", "tasks", "points", "p"]
    return section(
        "groups",
        "Groups",
        el("p", note, class_="note"),
        table("Differences by group", head, rows, class_="numeric"),
    )


# -------------------------------------------------------------------------------------------- reasoning


def _reasoning(comparison: Comparison) -> Child:
    """The metrics of execution reasoning, pair by pair; nothing for other kinds of problem."""
    pairs = [pair for pair in comparison.pairs if pair.paired.parts]
    if not pairs:
        return None
    confidence = 100 * pairs[0].paired.parts[0].confidence
    note = (
        "Original against mutant, reversion and choice, each paired by problem; intervals of"
        f" {confidence:g} %, p-values not corrected."
    )
    shown = [_parts(pair) for pair in pairs]
    return section("reasoning", "Reasoning", el("p", note, class_="note"), shown)


def _parts(pair: RunPairing) -> Child:
    chart = differences_chart(pair.paired.parts)
    rows: list[Sequence[Child]] = [
        [
            part.metric,
            f"{100 * part.first:.1f}",
            f"{100 * part.second:.1f}",
            f"{fmt.points(part.difference)} {fmt.bounds(part.low, part.high)}",
            fmt.p_value(part.p_value),
            fmt.count(part.pairs),
        ]
        for part in pair.paired.parts
    ]
    head = ["metric, percent", pair.first, pair.second, "points", "p", "pairs"]
    numbers = table(f"Metrics of {words.title(pair)}", head, rows, class_="numeric")
    return numbers if chart is None else figure(chart, el("b", words.title(pair)), numbers)
