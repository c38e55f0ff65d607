"""Dot-range charts: estimates with their intervals one below the other on one axis."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report.charts.svg import (
    Axis,
    Chart,
    Margin,
    across,
    bottom_axis,
    interval_marks,
    round_ticks,
    share_axis,
)
from truegrade.report.markup import Markup, el

ROW_HEIGHT_PX = 42
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
    height = ROW_HEIGHT_PX * len(rows)
    values = [row.estimate.value for row in rows]
    ends = [end for row in rows for end in (row.estimate.low, row.estimate.high) if end is not None]
    axis = share_axis(min(values + ends), max(values + ends)) if zoomed else share_axis()
    body = [*bottom_axis(axis, height)]
    if spread and len(rows) > 1:
        left, right = axis.place(min(values)), axis.place(max(values))
        shade = {"x": f"{100 * left:.2f}%", "width": f"{100 * (right - left):.2f}%", "y": 0, "height": height}
        body.insert(0, el("rect", class_="spread", **shade))
    for place, row in enumerate(rows):
        middle = place * ROW_HEIGHT_PX + 30
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
    row_height = ROW_HEIGHT_PX + LINE_PX * (lines - 1)
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
