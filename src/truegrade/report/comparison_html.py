"""The page of a comparison: a self-contained file that makes no network requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from truegrade.analysis.comparison import Comparison, RunPairing
from truegrade.pipeline.summary import TaskLine
from truegrade.report import comparison_wording as words
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.agents import compared_budgets
from truegrade.report.charts.svg import Chart
from truegrade.report.charts.svg_dots import difference_rows
from truegrade.report.comparison_replies import SAMPLES_A_TASK, Replies, reasons, reply_blocks
from truegrade.report.figures import differences_chart
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import figure, folded, page, section, table
from truegrade.report.suite_exhibits import discordant

# ----------------------------------------------------------------------------------------------------------------
# A comparison problem by problem: a strip a pair, the problems on which runs differ, and both replies side by
# side.


Reasons = Mapping[tuple[str, str], Sequence[str]]
"""By side's label and problem."""
MAX_OPEN = 3
"""Pairs whose strip is shown at once; the others are folded."""


def tasks_section(comparison: Comparison, replies: Replies) -> Markup:
    """A strip and a table of discordant problems for each pair."""
    gained = words.outcomes(comparison)[0]
    named = {
        "won": f"second {gained}",
        "lost": f"first {gained}",
        "both": "equal, right",
        "neither": "equal, wrong",
    }
    keys = (el("li", el("span", class_=f"swatch {kind}"), said) for kind, said in named.items())
    hint = (
        "One cell per problem, in data set order. Cells of problems on which the runs differ link to both replies."
    )
    strips = [_strip(comparison, pair, replies) for pair in comparison.pairs]
    why = reasons(replies)
    more = folded(f"{len(strips) - MAX_OPEN} more pairs", strips[MAX_OPEN:]) if strips[MAX_OPEN:] else None
    return section(
        "tasks",
        "Problems",
        el("p", hint, class_="note"),
        strips[:MAX_OPEN],
        more,
        el("ul", keys, class_="legend"),
        [_differing(comparison, pair, why) for pair in comparison.pairs],
    )


def _strip(comparison: Comparison, pair: RunPairing, replies: Replies) -> Markup:
    c, (more, less) = pair.paired, words.outcomes(comparison)
    said = f"{len(c.wins)} {more}, {len(c.losses)} {less}, {len(c.ties)} equal"
    first, second = _counts(comparison, pair.first), _counts(comparison, pair.second)
    shown = set(replies.tasks)
    cells = (
        _cell(name, first.get(name), second.get(name), _link(comparison, pair, name) if name in shown else {})
        for name in dict.fromkeys([*first, *second])
    )
    strip = el("div", cells, class_="strip gains", role="img", aria_label=f"{words.title(pair)}: {said}")
    return el("figure", el("figcaption", el("b", words.title(pair)), ": ", said), strip)


def _cell(name: str, one: TaskLine | None, two: TaskLine | None, link: dict[str, object]) -> Markup:
    if one is None or two is None or not one.n or not two.n:
        return el("i", title=f"{name}: not in both", class_="none still")
    gain = two.c / two.n - one.c / one.n
    title = f"{name}: {one.c} of {one.n}, {two.c} of {two.n}"
    if gain:
        kind = ("won" if gain > 0 else "lost") if link else f"{'won' if gain > 0 else 'lost'} still"
        # A gain of one sample in ten is still to be seen.
        return el("i", title=title, class_=kind, style=f"--p:{30 + 70 * abs(gain):.0f}", **link)
    return el("i", title=title, class_="both still" if 2 * one.c >= one.n and one.c else "still")


def _counts(comparison: Comparison, label: str) -> dict[str, TaskLine]:
    return next({task.id: task for task in side.tasks} for side in comparison.sides if side.label == label)


def _link(comparison: Comparison, pair: RunPairing, task: str) -> dict[str, object]:
    """Attributes that lead to the replies of a problem."""
    labels = [side.label for side in comparison.sides]
    return {"data_task": task, "data_left": labels.index(pair.first), "data_right": labels.index(pair.second)}


def _differing(comparison: Comparison, pair: RunPairing, why: Reasons) -> Child:
    """Problems on which a pair differs, won ones first; each leads to both replies."""
    rows: list[list[Child]] = []
    for one, two in discordant(comparison, pair):
        shown = (pair.first, one.id) in why
        link = el("a", one.id, href="#replies", **_link(comparison, pair, one.id)) if shown else one.id
        better = pair.second if two.c * one.n > one.c * two.n else pair.first
        sides = ((pair.first, one), (pair.second, two))
        rows.append([link, better, *(_outcome(task, why.get((label, task.id), ())) for label, task in sides)])
    if not rows:
        return el("p", f"{words.title(pair)}: both runs have the same pass rate on every problem.", class_="note")
    caption = f"{words.title(pair)}: {fmt.plural(len(rows), 'problem')} on which they differ"
    made = table(
        caption,
        ["problem", words.outcomes(comparison)[0], pair.first, pair.second],
        rows,
        class_="badges",
    )
    return folded(caption, made)


def _outcome(task: TaskLine, why: Sequence[str]) -> Child:
    """How many samples pass, and the reasons."""
    badges = (join(" ", el("span", reason, class_=f"badge {wording.family(reason)}")) for reason in why)
    return join(f"{task.c} / {task.n}", badges)


# ---------------------------------------------------------------------------------------------- replies


def replies_section(replies: Replies) -> Child:
    """The frame of the replies side by side; the page's script fills it. Nothing where no problem differs."""
    if not replies.tasks:
        return None
    places = (("left", "Left", 0), ("right", "Right", 1))
    tasks = (el("option", name, value=place) for place, name in enumerate(replies.tasks))
    controls = el(
        "form",
        el("label", "Problem", el("select", tasks, id="choose-task")),
        el("label", "Sample", el("select", id="choose-sample")),
        (_side_choice(replies, name, title, start) for name, title, start in places),
        el("button", "Previous problem", type="button", id="before"),
        el("button", "Next problem", type="button", id="next"),
        id="choose",
        hidden=True,
    )
    articles = (el("article", id=f"reply-{name}", tabindex=-1, aria_label=title) for name, title, _ in places)
    return section(
        "replies",
        "Replies side by side",
        el("p", _what_is_shown(replies), class_="note"),
        el("noscript", el("p", "Showing replies requires JavaScript; the rest of this page does not.")),
        controls,
        el("p", id="replies-problem", class_="note", role="status"),
        el("div", articles, id="beside", class_="beside", hidden=True),
    )


def _side_choice(replies: Replies, name: str, title: str, start: int) -> Markup:
    options = (
        el("option", side.label, value=place, selected=place == start) for place, side in enumerate(replies.sides)
    )
    return el("label", title, el("select", options, id=f"choose-{name}"))


def _what_is_shown(replies: Replies) -> str:
    said = f"The problems on which runs differ: {fmt.count(replies.differing)}"
    if len(replies.tasks) < replies.differing:
        said += f", of which the first {fmt.count(len(replies.tasks))} are on this page"
    if any(side.samples_per_task > SAMPLES_A_TASK for side in replies.sides):
        said += f"; the first {SAMPLES_A_TASK} samples of each"
    return f"{said}. The run folders contain all of them."


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
