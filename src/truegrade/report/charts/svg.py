"""What every chart is made of: pure functions to inline SVG, no library (a kept one weighs 1 to 5 MB a page).

Horizontal places are percentages of whatever width the page gives, vertical ones pixels: so a chart fits a phone
and a projector while its strokes and words keep their size. The charts themselves are in ``svg_*.py``; each is a
`Chart`, which `inline` puts into a page and `standalone` and `png` into a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Literal

import msgspec

from truegrade.errors import UserError
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
    try:
        import resvg_py
    except ImportError:
        message = "PNG needs resvg-py: pip install 'truegrade[png]', or use `file_format` svg"
        raise UserError(message) from None
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
