"""Charts of rows, and what every chart is made of: pure functions to inline SVG.

No library: one that is kept up weighs 1 to 5 MB a page.

Horizontal places are percentages of whatever width the page gives, vertical ones pixels: so a chart fits a phone
and a projector while its strokes and words keep their size. Charts of rows are here, those of lines and points in
``svg_lines.py``; each is a `Chart`, which `inline` puts into a page and `standalone` and `png` into a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Literal

import msgspec

from truegrade.files.extras import require
from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report.markup import Child, Markup, el, join

SERIES = 6
"""Colours of series, ``s0`` to ``s5``; a seventh series repeats the first, told apart by its name."""
_DASHES = ("none", "7 4", "2 5", "9 4 2 4", "12 4", "4 3 1 3")
KEY_WIDTH_PX = 28
CHAR_PX = 7.5
"""Width of a character of a label, on the generous side."""
LABEL_SHARE = 0.08
"""Labels of an axis that are closer, as a share of its length, would cover each other."""


class Margin(msgspec.Struct, frozen=True):
    """Room around the plot for labels, in pixels."""

    top: int = 8
    right: int = 18
    bottom: int = 30
    left: int = 8


class Key(msgspec.Struct, frozen=True):
    """An entry of a legend."""

    name: str
    colour: str
    """Class of its colour: ``s0``, ``passed``, ..."""
    dash: str | None = None
    """``stroke-dasharray`` of a line; None for an area."""


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """A drawing without a width."""

    name: str
    """What it shows, in a few words: its accessible name."""
    description: str
    """What it says, for those who cannot see it."""
    body: Markup
    height: int
    """Of the plot, in pixels, without its margin."""
    margin: Margin = Margin()
    legend: tuple[Key, ...] = ()


def inline(chart: Chart) -> Markup:
    """A chart inside a page, its legend below."""
    room = chart.margin
    padding = f"padding:{room.top}px {room.right}px {room.bottom}px {room.left}px"
    drawn = el(
        "svg",
        el("title", chart.name),
        el("desc", chart.description),
        chart.body,
        class_="chart",
        role="img",
        aria_label=f"{chart.name}. {chart.description}",
        height=chart.height,
    )
    return el("div", el("div", drawn, class_="plot", style=padding), legend(chart.legend))


def legend(keys: Sequence[Key]) -> Child:
    """The colours and dashes of a chart, by name; nothing for a single one."""
    if len(keys) < 2:
        return None
    return el("ul", (el("li", _sample(key), key.name) for key in keys), class_="legend")


def _sample(key: Key) -> Markup:
    return el("svg", key_mark(key), class_="key", width=KEY_WIDTH_PX, height=14, aria_hidden="true")


def key_mark(key: Key, left: int = 0) -> Markup:
    """The colour, or the stroke, of a key in a line 14 pixels high."""
    if key.dash is None:
        return el("rect", class_=f"mark {key.colour}", x=left + 8, y=1, width=12, height=12, rx=3)
    stroke = {"x1": left, "x2": left + KEY_WIDTH_PX - 2, "y1": 7, "y2": 7, "stroke_dasharray": key.dash}
    return el("line", class_=f"line {key.colour}", **stroke)


def series(place: int) -> str:
    """Class that carries the colour of a series."""
    return f"s{place % SERIES}"


# ------------------------------------------------------------------------------------------------- axes


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """From values to places in [0, 1]."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    """Values and their labels."""
    log: bool = False
    title: str = ""

    def place(self, value: float) -> float:
        """Where a value lies; those outside are put on the edge."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if high <= low:
            return 0.5
        if self.log:
            from math import log

            return log(at / low) / log(high / low)
        return (at - low) / (high - low)


def share_axis(low: float = 0.0, high: float = 1.0, title: str = "") -> Axis:
    """Fractions in percent: all of 0 to 100, or a round part of it that holds ``low`` to ``high``."""
    ticks = round_ticks(100 * low, 100 * high, 5)
    bottom, top = max(0.0, ticks[0]), min(100.0, ticks[-1])
    shown = [tick for tick in ticks if bottom <= tick <= top]
    return Axis(low=bottom / 100, high=top / 100, ticks=tuple((t / 100, f"{t:g} %") for t in shown), title=title)


def number_axis(low: float, high: float, title: str = "", *, log: bool = False) -> Axis:
    """Any numbers. A logarithmic axis has its ticks at 1, 2 and 5 times powers of ten; its ``low`` is positive."""
    if not log:
        ticks = round_ticks(low, high, 5)
        return Axis(low=ticks[0], high=ticks[-1], ticks=tuple((t, fmt.quantity(t)) for t in ticks), title=title)
    from math import floor, log10

    exponents = range(floor(log10(low)), floor(log10(high)) + 1)
    steps = (1, 2, 5) if len(exponents) <= 2 else (1,)
    ticks = [s * 10.0**e for e in exponents for s in steps if low <= s * 10.0**e <= high]
    return Axis(low=low, high=high, ticks=tuple((t, fmt.quantity(t)) for t in ticks), log=True, title=title)


def value_axis(values: Sequence[float], title: str = "", *, log: bool = False) -> Axis:
    """An axis with a tick at each of a few values, such as the k of pass@k; of two too close one is named."""
    known = sorted(set(values))
    axis = Axis(low=known[0], high=known[-1], ticks=(), log=log, title=title)
    ticks: list[tuple[float, str]] = []
    named = -LABEL_SHARE
    for value in known:
        apart = axis.place(value) - named >= LABEL_SHARE
        named = axis.place(value) if apart else named
        ticks.append((value, f"{value:g}" if apart else ""))
    return msgspec.structs.replace(axis, ticks=tuple(ticks))


def round_ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers from ``low`` or less to ``high`` or more, 1, 2, 2.5 or 5 times a power of ten apart."""
    from math import ceil, floor, log10

    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** floor(log10(span / about))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10, 20) if span / (power * factor) <= about)
    return [round(number * step, 12) for number in range(floor(low / step + 1e-9), ceil(high / step - 1e-9) + 1)]


def bottom_axis(axis: Axis, height: int) -> list[Markup]:
    """Vertical rules and their labels under the plot."""
    rules = [
        el("line", class_="tick", x1=pc(axis.place(v)), x2=pc(axis.place(v)), y1=0, y2=height)
        for v, _ in axis.ticks
    ]
    labels = [el("text", words, class_="x", x=pc(axis.place(v)), y=height + 16) for v, words in axis.ticks]
    if axis.title:
        labels.append(el("text", axis.title, class_="x name", x="50%", y=height + 34))
    return [*rules, *labels]


def left_axis(axis: Axis, height: int) -> list[Markup]:
    """Horizontal rules, labelled at their left; the title stands above."""
    drawn = []
    for value, words in axis.ticks:
        y = down(axis, value, height)
        drawn.append(el("line", class_="tick", x1="0%", x2="100%", y1=y, y2=y))
        drawn.append(el("text", words, class_="y", x=0, dx=-8, y=y + 4))
    if axis.title:
        drawn.append(el("text", axis.title, class_="name", x=0, dx=-left_room(axis) + 4, y=-12))
    return drawn


def left_room(axis: Axis) -> int:
    """Pixels that the labels of `left_axis` take."""
    return 14 + round(CHAR_PX * max((len(words) for _, words in axis.ticks), default=0))


def across(axis: Axis, value: float) -> str:
    """Horizontal place of a value."""
    return pc(axis.place(value))


def down(axis: Axis, value: float, height: int) -> float:
    """Vertical place of a value, in pixels."""
    return round(height * (1 - axis.place(value)), 2)


def stretched(height: int, *shapes: Child) -> Markup:
    """Shapes in a frame 100 wide that is stretched to the plot: for polygons, which know no percentages."""
    box = f"0 0 100 {height}"
    return el("svg", shapes, viewBox=box, preserveAspectRatio="none", width="100%", height=height)


def dash(place: int) -> str:
    """Dashes of a line; no two of the first thirty share colour and dashes."""
    return _DASHES[(place + place // SERIES) % len(_DASHES)]


def path_segments(places: Sequence[tuple[float, float]], class_: str, dash: str | None = None) -> list[Markup]:
    """A line through places (fraction across, pixels down)."""
    return [
        el("line", class_=class_, x1=pc(x1), y1=y1, x2=pc(x2), y2=y2, stroke_dasharray=dash)
        for (x1, y1), (x2, y2) in pairwise(places)
    ]


def pc(fraction: float) -> str:
    """A fraction of the width."""
    return f"{100 * fraction:.2f}%"


# ---------------------------------------------------------------------------------------- the smallest chart


def interval_plot(estimate: Estimate, label: str) -> Markup:
    """A value and its interval on the axis from 0 to 100 %, for a card or a cell of a table."""
    ticks = [el("line", class_="tick", x1=f"{x}%", x2=f"{x}%", y1=4, y2=20) for x in (0, 25, 50, 75, 100)]
    axis = el("line", class_="axis", x1="0%", x2="100%", y1=12, y2=12)
    name = f"{label}: {fmt.estimate(estimate)}"
    marks = interval_marks(estimate, share_axis(), 12, 0)
    return el(
        "svg", el("title", name), axis, ticks, marks, class_="interval", role="img", aria_label=name, height=24
    )


def interval_marks(estimate: Estimate, axis: Axis, middle: float, place: int, title: str = "") -> list[Markup]:
    """Band and dot of an estimate on a horizontal axis."""
    marks = []
    if estimate.low is not None and estimate.high is not None:
        low, high = axis.place(estimate.low), axis.place(estimate.high)
        band = {"x": pc(low), "width": pc(high - low), "y": middle - 4, "height": 8, "rx": 4}
        marks.append(el("rect", class_=f"band {series(place)}", **band))
    name = el("title", title) if title else None
    marks.append(
        el("circle", name, class_=f"dot {series(place)}", cx=across(axis, estimate.value), cy=middle, r=5.5)
    )
    return marks


# ---------- The colours of the page, read from its own style sheet, so that files and tests use the very same.


Scheme = Literal["light", "dark"]


def asset(name: str) -> str:
    """The text of a file of ``assets/``."""
    return files("truegrade.report").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def colours(scheme: Scheme) -> dict[str, str]:
    """``#rrggbb`` by name."""
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", asset("colours.css"))
    return {name: light if scheme == "light" else dark for name, light, dark in pairs}


def resolved(css: str, scheme: Scheme) -> str:
    """A style sheet with its colours put in, for readers that know no variables."""
    known = colours(scheme)
    return re.sub(r"var\(--([\w-]+)\)", lambda found: known[found[1]], css)


# -------------------------------------------- Charts as files: SVG that any reader draws alike, and PNG of it.


WIDTH_PX = 640
FONT = "system-ui, 'Noto Sans', 'DejaVu Sans', Arial, sans-serif"
PNG_SCALE = 2
"""Pixels of a PNG for each of the SVG: sharp in print at the width of a column."""


def standalone(chart: Chart, *, scheme: Scheme = "light") -> str:
    """The whole SVG document of a chart.

    Args:
        chart: what to draw.
        scheme: light or dark colours.
    """
    room, width = chart.margin, WIDTH_PX
    key_rows = _legend(chart.legend, width - room.left - room.right)
    height = room.top + chart.height + room.bottom + 20 * len(key_rows)
    style = resolved(asset("chart.css"), scheme) + f"text {{ font-family: {FONT}; }}"
    plot = {"x": room.left, "y": room.top, "width": width - room.left - room.right, "height": chart.height}
    keys = (
        el("g", row, transform=f"translate({room.left} {room.top + chart.height + room.bottom + 20 * place})")
        for place, row in enumerate(key_rows)
    )
    return el(
        "svg",
        el("title", chart.name),
        el("desc", chart.description),
        el("style", Markup(style)),
        el("rect", width=width, height=height, fill=_paper(scheme)),
        el("svg", chart.body, overflow="visible", **plot),
        keys,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
    )


def png(svg: str) -> bytes:
    """A picture of an SVG document, `PNG_SCALE` times its size.

    resvg draws it: a wheel of 3 MB without dependencies. A browser would be 414 MB; cairosvg needs the system's
    cairo.

    Raises:
        UserError: resvg is not installed.
    """
    require("png", "PNG", instead="use `file_format` svg")
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=PNG_SCALE))


def _legend(keys: tuple[Key, ...], width: int) -> list[Markup]:
    """The keys of the series, as many in a line as fit."""
    if len(keys) < 2:
        return []
    rows: list[list[Markup]] = [[]]
    left = 0
    for key in keys:
        needed = KEY_WIDTH_PX + 24 + round(CHAR_PX * len(key.name))
        if rows[-1] and left + needed > width:
            rows.append([])
            left = 0
        rows[-1].append(key_mark(key, left))
        rows[-1].append(el("text", key.name, class_="name", x=left + KEY_WIDTH_PX + 6, y=11))
        left += needed
    return [join(row) for row in rows]


def _paper(scheme: Scheme) -> str:
    return resolved("var(--card)", scheme)


# --- Bars, stacked bars, histograms and heat maps.


BAR_ROW_PX = 40
HISTOGRAM_HEIGHT_PX = 150
CELL_HEIGHT_PX = 26


class Stack(msgspec.Struct, frozen=True):
    """A bar made of parts: (name, share, class of its colour)."""

    name: str
    parts: Sequence[tuple[str, float, str]]


class HistogramLayer(msgspec.Struct, frozen=True):
    """What one kind of item adds to each bin of a histogram."""

    name: str
    counts: Sequence[int]
    colour: str
    """Class of its colour: ``s0``, ``passed``, ..."""


def stacked(drawn: Sequence[Stack], name: str, legend: tuple[Key, ...] = ()) -> Chart:
    """Horizontal bars of one length, divided into shares that add up to 1 at most."""
    body, said = [], []
    for place, stack in enumerate(drawn):
        top, left = place * BAR_ROW_PX, 0.0
        body.append(el("text", stack.name, class_="name", x=0, y=top + 14))
        body.append(el("rect", class_="blank", x=0, width="100%", y=top + 20, height=14))
        for part, share, colour in stack.parts:
            title = el("title", f"{stack.name}, {part}: {fmt.percent(share)}")
            at = {"x": pc(left), "width": pc(share), "y": top + 20, "height": 14}
            body.append(el("rect", title, class_=f"mark part {colour}", **at))
            left += share
        said.append(
            f"{stack.name}: " + ", ".join(f"{part} {fmt.percent(share)}" for part, share, _ in stack.parts)
        )
    return _chart(name, "; ".join(said), body, BAR_ROW_PX * len(drawn), Margin(bottom=6), legend)


def histogram(
    edges: Sequence[float], layers: Sequence[HistogramLayer], x: Axis, name: str, count: str = "samples"
) -> Chart:
    """How many items fall between each two edges, layers on top of each other.

    Args:
        edges: one more than there are bins; ``x`` holds them all.
        layers: from the bottom to the top.
        x: the axis of the values.
        name: what the chart shows.
        count: what is counted.
    """
    totals = [sum(layer.counts[place] for layer in layers) for place in range(len(edges) - 1)]
    y = number_axis(0, max([1, *totals]), count)
    body = [*left_axis(y, HISTOGRAM_HEIGHT_PX), *bottom_axis(x, HISTOGRAM_HEIGHT_PX)]
    for place, (low, high) in enumerate(pairwise(edges)):
        left, width, below = x.place(low), x.place(high) - x.place(low), 0
        for layer in layers:
            number = layer.counts[place]
            top, bottom = (down(y, v, HISTOGRAM_HEIGHT_PX) for v in (below + number, below))
            below += number
            if number:
                title = f"{fmt.quantity(low)} to {fmt.quantity(high)}, {layer.name}: {fmt.count(number)}"
                at = {"x": pc(left), "width": pc(width), "y": top, "height": max(2, round(bottom - top, 2))}
                body.append(el("rect", el("title", title), class_=f"mark part {layer.colour}", **at))
    said = ", ".join(f"{sum(layer.counts)} {layer.name}" for layer in layers)
    margin = Margin(top=30, bottom=46 if x.title else 30, left=left_room(y))
    legend = tuple(Key(layer.name, layer.colour) for layer in layers)
    return _chart(name, said, body, HISTOGRAM_HEIGHT_PX, margin, legend)


def heat_map(
    rows: Sequence[str], columns: Sequence[str], shares: Sequence[Sequence[float | None]], name: str
) -> Chart:
    """Fractions as shades, the number in each cell; None is hatched.

    Args:
        rows: names down.
        columns: names across.
        shares: one row of fractions in [0, 1] for each name down.
        name: what the chart shows.
    """
    height, width = CELL_HEIGHT_PX * len(rows), 1 / max(1, len(columns))
    body = [
        el("text", column, class_="x", x=pc((place + 0.5) * width), y=-8) for place, column in enumerate(columns)
    ]
    for down_, (row, cells) in enumerate(zip(rows, shares, strict=True)):
        top = down_ * CELL_HEIGHT_PX
        body.append(el("text", row, class_="y", x=0, dx=-8, y=top + 17))
        for place, share in enumerate(cells):
            body += _cell(f"{row}, {columns[place]}", share, place * width, width, top)
    said = "; ".join(
        f"{row}: " + ", ".join("none" if s is None else fmt.percent(s) for s in cells)
        for row, cells in zip(rows, shares, strict=True)
    )
    left = 14 + min(240, round(CHAR_PX * max(map(len, rows), default=0)))
    return _chart(name, said, body, height, Margin(top=26, bottom=4, left=left))


def _cell(name: str, share: float | None, left: float, width: float, top: int) -> list[Markup]:
    at = {"x": pc(left), "width": pc(width), "y": top, "height": CELL_HEIGHT_PX - 2}
    words = "–" if share is None else f"{100 * share:.0f}"
    title = el("title", f"{name}: {'none' if share is None else fmt.percent(share)}")
    cells = [el("rect", class_="blank part", **at)]
    if share:
        cells.append(el("rect", class_="heat part", fill_opacity=f"{share:.2f}", **at))
    ink = "x on-heat" if share is not None and share > 0.55 else "x name"
    cells.append(el("text", words, title, class_=ink, x=pc(left + width / 2), y=top + 16))
    return cells


def _chart(
    name: str, said: str, body: Sequence[Markup], height: int, margin: Margin, legend: tuple[Key, ...] = ()
) -> Chart:
    drawn = Markup("".join(body))
    return Chart(name=name, description=said, body=drawn, height=height, margin=margin, legend=legend)


# --- Dot-range charts: estimates with their intervals one below the other on one axis.


DOT_ROW_PX = 42
LINE_PX = 17
PHONE_LETTERS = 44
"""Letters of a label that fit beside each other on a phone, 320 pixels."""


class DotRow(msgspec.Struct, frozen=True):
    """One line of the chart."""

    name: str
    estimate: Estimate
    series: int = 0
    """Its colour."""
    words: str = ""
    """What it means; a page hides this where it is narrow."""


def dot_range(rows: Sequence[DotRow], name: str, *, zoomed: bool = False, spread: bool = False) -> Chart:
    """Draw estimates and intervals.

    Args:
        rows: from top to bottom; at least one.
        name: what the chart shows.
        zoomed: show only the part of 0 to 100 % that holds every interval, so that small differences are seen.
        spread: shade the range from the smallest to the largest value.
    """
    height = DOT_ROW_PX * len(rows)
    values = [row.estimate.value for row in rows]
    ends = [end for row in rows for end in (row.estimate.low, row.estimate.high) if end is not None]
    axis = share_axis(min(values + ends), max(values + ends)) if zoomed else share_axis()
    body = [*bottom_axis(axis, height)]
    if spread and len(rows) > 1:
        left, right = axis.place(min(values)), axis.place(max(values))
        shade = {"x": f"{100 * left:.2f}%", "width": f"{100 * (right - left):.2f}%", "y": 0, "height": height}
        body.insert(0, el("rect", class_="spread", **shade))
    for place, row in enumerate(rows):
        middle = place * DOT_ROW_PX + 30
        title = f"{row.name}: {fmt.estimate(row.estimate)}"
        body.append(el("line", class_="axis", x1="0%", x2="100%", y1=middle, y2=middle))
        body.append(_label(row, middle - 13))
        body += interval_marks(row.estimate, axis, middle, row.series, title)
    said = "; ".join(f"{row.name} {fmt.estimate(row.estimate)}" for row in rows)
    return Chart(name=name, description=said, body=Markup("".join(body)), height=height, margin=Margin(left=18))


def _label(row: DotRow, y: int) -> Markup:
    value = el("tspan", fmt.percent(row.estimate.value), class_="strong", dx=7)
    words = el("tspan", row.words, class_="words", dx=7) if row.words else None
    return el("text", row.name, value, words, class_="name", x=0, dx=2, y=y)


def difference_rows(rows: Sequence[tuple[str, float, float | None, float | None]], name: str) -> Chart:
    """Differences of fractions, in points, around a line at zero.

    Args:
        rows: name, difference, and the ends of its interval, from top to bottom; at least one.
        name: what the chart shows.
    """
    told = [f"{fmt.points(value)} {fmt.bounds(low, high)}" for _, value, low, high in rows]
    lines = (
        2 if any(len(row[0]) + len(words) > PHONE_LETTERS for row, words in zip(rows, told, strict=True)) else 1
    )
    row_height = DOT_ROW_PX + LINE_PX * (lines - 1)
    height = row_height * len(rows)
    known = [value for _, *numbers in rows for value in numbers if value is not None]
    reach = max(0.01, *(abs(value) for value in known))
    axis = _points_axis(reach)
    body = [*bottom_axis(axis, height)]
    for place, (label, value, low, high) in enumerate(rows):
        middle, words = (place + 1) * row_height - 12, told[place]
        body.append(_difference_label(label, words, middle - 13, lines))
        # Not from top to bottom: it would strike through the labels.
        body.append(el("line", class_="zero", x1="50%", x2="50%", y1=middle - 8, y2=middle + 8))
        if low is not None and high is not None:
            left, right = axis.place(low), axis.place(high)
            band = {"x": f"{100 * left:.2f}%", "width": f"{100 * (right - left):.2f}%", "y": middle - 4}
            body.append(el("rect", class_="band s0", height=8, rx=4, **band))
        title = el("title", f"{label}: {words}")
        body.append(el("circle", title, class_="dot s0", cx=across(axis, value), cy=middle, r=5.5))
    said = "; ".join(f"{label} {fmt.points(v)} points {fmt.bounds(a, b)}" for label, v, a, b in rows)
    return Chart(name=name, description=said, body=Markup("".join(body)), height=height, margin=Margin(left=18))


def _difference_label(label: str, words: str, y: int, lines: int) -> Markup:
    """Name and numbers in one line or in two; a name too long for its line is told whole elsewhere."""
    if lines == 1:
        return el("text", label, el("tspan", words, class_="strong", dx=7), class_="name", x=0, y=y)
    half = PHONE_LETTERS // 2
    short = label if len(label) <= PHONE_LETTERS else f"{label[: half - 1]}…{label[-half:]}"
    numbers = el("tspan", words, class_="strong", x=0, dy=LINE_PX)
    return el("text", short, numbers, class_="name", x=0, y=y - LINE_PX)


def _points_axis(reach: float) -> Axis:
    ticks = [tick for tick in round_ticks(0, 100 * reach, 2) if tick > 0]
    whole = [*(-tick for tick in reversed(ticks)), 0.0, *ticks]
    return Axis(
        low=whole[0] / 100, high=whole[-1] / 100, ticks=tuple((t / 100, f"{t:+g}" if t else "0") for t in whole)
    )


# --- Two values a row, joined: what something was before and after.


PAIR_ROW_PX = 38


class Dumbbell(msgspec.Struct, frozen=True, kw_only=True):
    """One row; fractions."""

    name: str
    before: float
    after: float


def dumbbells(rows: Sequence[Dumbbell], name: str, before: str, after: str) -> Chart:
    """Draw the rows on the part of 0 to 100 % that holds them.

    Args:
        rows: from top to bottom; at least one.
        name: what the chart shows.
        before: what the first value is.
        after: what the second one is.
    """
    height = PAIR_ROW_PX * len(rows)
    ends = [end for row in rows for end in (row.before, row.after)]
    axis = share_axis(min(ends), max(ends))
    body = [*bottom_axis(axis, height)]
    for place, row in enumerate(rows):
        top = place * PAIR_ROW_PX + 27
        words = f"{fmt.percent(row.before)} → {fmt.percent(row.after)} ({fmt.points(row.after - row.before)})"
        body.append(
            el("text", row.name, el("tspan", words, class_="strong", dx=7), class_="name", x=0, dx=2, y=top - 11)
        )
        left, right = across(axis, row.before), across(axis, row.after)
        body.append(el("line", class_="kin", x1=left, x2=right, y1=top, y2=top))
        body.append(el("circle", class_="dot s1", cx=left, cy=top, r=5.5))
        body.append(el("circle", class_="dot s0", cx=right, cy=top, r=5.5))
    said = "; ".join(f"{row.name} {fmt.percent(row.before)} and {fmt.percent(row.after)}" for row in rows)
    return Chart(
        name=name,
        description=f"{before} and {after}: {said}",
        body=Markup("".join(body)),
        height=height,
        margin=Margin(left=18),
        legend=(Key(before, "s1"), Key(after, "s0")),
    )
