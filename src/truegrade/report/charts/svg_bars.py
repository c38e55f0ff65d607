"""Bars, stacked bars, histograms and heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from truegrade.report import format as fmt
from truegrade.report.charts.svg import (
    CHAR_PX,
    Axis,
    Chart,
    Key,
    Margin,
    bottom_axis,
    down,
    left_axis,
    left_room,
    number_axis,
    pc,
    series,
)
from truegrade.report.markup import Markup, el

ROW_HEIGHT_PX = 40
HISTOGRAM_HEIGHT_PX = 150
CELL_HEIGHT_PX = 26


class Bar(msgspec.Struct, frozen=True):
    """A bar and what stands above it."""

    name: str
    value: float
    """At least 0."""
    words: str = ""
    """The value as it is to be read; empty for three places."""
    series: int = 0


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


def bars(drawn: Sequence[Bar], name: str) -> Chart:
    """Horizontal bars from zero, the longest as wide as the plot, each labelled above."""
    longest = max((bar.value for bar in drawn), default=0) or 1.0
    body = []
    for place, bar in enumerate(drawn):
        top, words = place * ROW_HEIGHT_PX, bar.words or fmt.quantity(bar.value)
        body.append(
            el("text", bar.name, el("tspan", words, class_="strong", dx=7), class_="name", x=0, y=top + 14)
        )
        body.append(el("rect", class_="blank", x=0, width="100%", y=top + 20, height=10, rx=3))
        filled = {"width": pc(bar.value / longest), "y": top + 20, "height": 10, "rx": 3}
        body.append(
            el("rect", el("title", f"{bar.name}: {words}"), class_=f"mark {series(bar.series)}", x=0, **filled)
        )
    said = "; ".join(f"{bar.name} {bar.words or fmt.quantity(bar.value)}" for bar in drawn)
    return _chart(name, said, body, ROW_HEIGHT_PX * len(drawn), Margin(bottom=4))


def stacked(drawn: Sequence[Stack], name: str, legend: tuple[Key, ...] = ()) -> Chart:
    """Horizontal bars of one length, divided into shares that add up to 1 at most."""
    body, said = [], []
    for place, stack in enumerate(drawn):
        top, left = place * ROW_HEIGHT_PX, 0.0
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
    return _chart(name, "; ".join(said), body, ROW_HEIGHT_PX * len(drawn), Margin(bottom=6), legend)


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
