"""A document as a page that loads nothing, and the pieces that every page is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import Template
from typing import TYPE_CHECKING

from truegrade.errors import UnknownName
from truegrade.records import Estimate
from truegrade.report import document as doc
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart, asset, inline, interval_plot
from truegrade.report.document import Document, On, Prose, Table, read
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.terminal import print_parts
from truegrade.report.text_files import TEXTS, write_texts
from truegrade.report.wording import family

if TYPE_CHECKING:
    from rich.console import Console


STYLES = ("colours.css", "chart.css", "report.css")
OPEN_CAUTIONS = 4
"""Number of cautions shown unfolded; the gravest come first."""


# ---------------------------------------------------------------------------------------------- pieces


def page(
    title: str,
    header: Child,
    body: Child,
    *,
    menu: Child = None,
    data: Child = None,
    styles: Iterable[str] = (),
    scripts: Iterable[str] = (),
) -> str:
    """A whole page that loads nothing.

    Args:
        title: of the window.
        header: what stands before the first section.
        body: the sections.
        menu: what leads to the sections, and stays in sight.
        data: what the scripts read.
        styles: assets beside those of every page.
        scripts: assets beside the switch of the theme, in order.
    """
    return Template(asset("page.html")).substitute(
        title=join(title),
        style="\n".join(map(asset, (*STYLES, *styles))),
        header=join(header),
        menu=join(menu),
        body=join(body),
        data=join(data),
        script="\n".join(map(asset, ("theme.js", "tables.js", *scripts))),
    )


def section(anchor: str, title: str, *content: Child) -> Markup:
    """A titled part of the page."""
    return el(
        "section", el("h2", title, id=f"{anchor}-title"), content, id=anchor, aria_labelledby=f"{anchor}-title"
    )


def drawn_section(anchor: str, title: str, *content: Child, menu: str = "") -> doc.Section:
    """A section of a document whose content is drawn for a page."""
    return doc.Section(anchor, title, [join(*content)], menu)


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


def figure(chart: Chart, caption: Child, alternative: Child = None) -> Markup:
    """A chart, what it shows, and the same numbers as a table, folded."""
    folded = (
        el("details", el("summary", "The same as a table"), alternative, class_="numbers") if alternative else None
    )
    return el("figure", el("figcaption", caption), inline(chart), folded)


def folded(title: Child, *content: Child, class_: str | None = None) -> Markup:
    """Something to open."""
    return el("details", el("summary", title), content, class_=class_)


# -------------------------------------------------------------------------------------------- documents


def render_page(document: doc.Document) -> str:
    """The whole page; pure."""
    parts = [part for part in doc.shown_on(document.sections, On.PAGE) if isinstance(part, doc.Section)]
    links = (el("a", part.menu or part.title, href=f"#{part.anchor}") for part in parts)
    title, *of = document.about
    header = [
        el("p", f"Truegrade {document.kind}", class_="kicker"),
        el("h1", title, (join(el("span", " · ", class_="dim"), name) for name in of)),
        draw(document.lines),
    ]
    window = (
        document.about
        if document.kind in ("report", "evolution")
        else (document.kind.capitalize(), document.about[-1])
    )
    return page(
        " · ".join(window),
        header,
        draw(parts),
        menu=el("nav", links, class_="menu", aria_label="Sections"),
        data=document.data,
        styles=document.styles,
        scripts=document.scripts,
    )


def draw(parts: Iterable[doc.Part]) -> Markup:
    """Parts of a document as elements of a page."""
    return join(*map(_part, doc.shown_on(parts, On.PAGE)))


def _part(part: doc.Part) -> Child:
    match part:
        case Table():
            made: Child = draw_table(part) if part.rows else None
        case doc.Facts(pairs):
            made = facts(*((name, _cell(value)) for name, value in pairs))
        case Prose():
            heading = part.tone == "heading"
            made = el("h3" if heading else "p", _words(part), class_=None if heading else part.tone or None)
        case doc.Bullets(items, tone):
            made = el("ul", (el("li", _words(item)) for item in items), class_=tone) if items else None
        case doc.Cautions():
            made = _cautions(part)
        case doc.Code(text, name):
            made = el("pre", el("code", text), tabindex=0, role="group", aria_label=name)
        case doc.Figure(chart, caption, numbers, plain):
            below = draw_table(numbers) if numbers else None
            made = figure(chart, caption if plain else el("b", caption), below)
        case doc.Beside(left, right):
            made = el("div", el("div", draw(left)), draw(right), class_="first")
        case doc.Folded(title, inner):
            made = folded(title, draw(inner))
        case doc.Section(anchor, title, inner):
            made = section(anchor, title, draw(inner))
        case _:
            made = part if isinstance(part, Markup) else None
    return made


def _words(said: str | Prose) -> Child:
    if isinstance(said, str):
        return said
    linked = el("a", said.link[0], href=said.link[1]) if said.link else None
    return join(el("b", said.lead) if said.lead else None, said.text, linked)


def _cautions(found: doc.Cautions) -> Child:
    if not found.items and not found.none:
        return None
    items = [el("li", _words(item)) for item in found.items]
    name = found.title.lower()
    shown, rest = items[:OPEN_CAUTIONS], items[OPEN_CAUTIONS:]
    return el(
        "aside",
        el("h3", found.title, id=f"{name}-title"),
        el("ul", shown) if shown else el("p", found.none),
        folded(f"{len(rest)} more", el("ul", rest)) if rest else None,
        id=name,
        class_="warnings" if items else "warnings none",
        aria_labelledby=f"{name}-title",
    )


def draw_table(found: Table) -> Markup:
    """A table of a document as an element."""
    plotted = "metrics" in found.look.split()
    rows = [[_cell(cell, read(row[0]) if plotted else "") for cell in row] for row in found.rows]
    return table(found.caption, [_cell(title) for title in found.head], rows, class_=found.look)


def _cell(cell: doc.Cell, plotted: str = "") -> Child:
    """A cell; an estimate of a row with a name is plotted, too."""
    match cell:
        case doc.Passes(_, _, reasons):
            made: Child = [read(cell), [[" ", _badge(reason)] for reason in reasons]]
        case doc.Linked(inner, href, data):
            made = _linked(inner, href, data)
        case doc.Noted(inner, notes):
            made = join(_cell(inner, plotted), (el("small", _cell(note)) for note in notes))
        case doc.Several(cells):
            made = el("ul", (el("li", _cell(each)) for each in cells))
        case doc.GroupName(by, value):
            made = join(value, el("small", by))
        case doc.Badge(reason, colours):
            made = _badge(reason, colours)
        case doc.Code(text):
            made = el("code", text)
        case doc.PartOf():
            made = _bar(cell)
        case Estimate() if plotted:
            number = el("span", el("b", fmt.percent(cell.value)), " ", fmt.bounds(cell.low, cell.high))
            left_out = el("small", fmt.part(cell).strip()) if cell.left_out else None
            made = join(number, interval_plot(cell, plotted), left_out)
        case _:
            made = read(cell)
    return made


def _linked(inner: doc.Cell, href: str, data: object) -> Markup:
    """A link; of an estimate its number, by which tables sort, with the interval below."""
    more = dict(data) if isinstance(data, dict) else {}
    if not isinstance(inner, Estimate):
        return el("a", _cell(inner), href=href, **more)
    number = el("a", fmt.percent(inner.value), href=href, data_value=f"{inner.value:.6f}", **more)
    return join(number, el("small", fmt.bounds(inner.low, inner.high)))


def _badge(reason: str, colours: str = "") -> Markup:
    return el("span", reason, class_=f"badge {colours or family(reason)}")


def _bar(found: doc.PartOf) -> Markup:
    share = found.number / max(1, found.total)
    inner = el("span", class_=found.family, style=f"width:{100 * share:.2f}%")
    return join(el("span", read(found), class_="num"), el("span", inner, class_="bar", aria_hidden="true"))


def show(document: Document, form: str, *, console: Console | None = None) -> Mapping[str, str]:
    """Show a document: print it, or make the text of its files.

    Args:
        document: what is shown.
        form: ``terminal``, ``html``, ``csv``, ``latex`` or ``markdown``.
        console: where ``terminal`` prints; None for standard output.

    Returns:
        Name of each file and its text; nothing for ``terminal``.

    Raises:
        UnknownName: no such form.
    """
    if form == "terminal":
        print_parts(*document.sections, console=console)
        return {}
    if form == "html":
        return {f"{document.kind}.html": render_page(document)}
    if form not in TEXTS:
        raise UnknownName("form of a document", form, ("terminal", "html", *TEXTS))
    return dict(write_texts(document, form))
