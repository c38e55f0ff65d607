"""Charts of rows: bars, stacked bars, histograms, heat maps, estimates with intervals, values before and after."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report.charts.svg import (
    CHAR_PX,
    Axis,
    Chart,
    Key,
    Margin,
    across,
    bottom_axis,
    down,
    interval_marks,
    left_axis,
    left_room,
    number_axis,
    pc,
    round_ticks,
    share_axis,
)
from truegrade.report.markup import Markup, el

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
