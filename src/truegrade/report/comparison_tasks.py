"""A comparison problem by problem: a strip a pair, the problems on which runs differ, and both replies side by
side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from truegrade.analysis.comparison import Comparison, RunPairing
from truegrade.pipeline.summary import TaskLine
from truegrade.report import comparison_wording as words
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.comparison_exhibits import discordant
from truegrade.report.comparison_replies import SAMPLES_A_TASK, Replies, reasons
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import folded, section, table

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
