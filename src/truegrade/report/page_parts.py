"""The pieces that every page is made of: sections, tables, named values, figures, and the frame around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import Template

from truegrade.report.charts.svg import Chart, asset, inline
from truegrade.report.markup import Child, Markup, el, join

STYLES = ("colours.css", "chart.css", "report.css")


def page(
    title: str,
    header: Child,
    body: Child,
    *,
    data: Child = None,
    styles: Iterable[str] = (),
    scripts: Iterable[str] = (),
) -> str:
    """A whole page that loads nothing.

    Args:
        title: of the window.
        header: what stands before the first section.
        body: the sections.
        data: what the scripts read.
        styles: assets beside those of every page.
        scripts: assets beside the switch of the theme, in order.
    """
    return Template(asset("page.html")).substitute(
        title=join(title),
        style="\n".join(map(asset, (*STYLES, *styles))),
        header=join(header),
        body=join(body),
        data=join(data),
        script="\n".join(map(asset, ("theme.js", *scripts))),
    )


def section(anchor: str, title: str, *content: Child) -> Markup:
    """A titled part of the page."""
    return el(
        "section", el("h2", title, id=f"{anchor}-title"), content, id=anchor, aria_labelledby=f"{anchor}-title"
    )


def table(caption: str, head: Sequence[Child], rows: Sequence[Sequence[Child]], *, class_: str = "") -> Markup:
    """A table that scrolls sideways where it must; the first cell of a row names it.

    It is a group, not a region: a page has dozens of tables, and each region would be a landmark to step through.
    """
    titles = el("tr", (el("th", cell, scope="col") if cell else el("td") for cell in head))
    body = (el("tr", el("th", row[0], scope="row"), (el("td", cell) for cell in row[1:])) for row in rows)
    whole = el("table", el("caption", caption), el("thead", titles), el("tbody", body), class_=class_ or None)
    return el("div", whole, class_="scroll", tabindex=0, role="group", aria_label=caption)


def facts(*pairs: tuple[Child, Child]) -> Markup:
    """Short named values."""
    return el("dl", (el("div", el("dt", name), el("dd", value)) for name, value in pairs), class_="facts")


def figure(
    chart: Chart, caption: Child, alternative: Child = None, *, summary: str = "The same as a table"
) -> Markup:
    """A chart, what it shows, and the same numbers as a table, folded."""
    folded = el("details", el("summary", summary), alternative, class_="numbers") if alternative else None
    return el("figure", el("figcaption", caption), inline(chart), folded)


def folded(title: Child, *content: Child, class_: str | None = None) -> Markup:
    """Something to open."""
    return el("details", el("summary", title), content, class_=class_)
