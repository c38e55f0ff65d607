"""Dots in columns with a line through their medians: how values move from generation to generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from truegrade.report import format as fmt
from truegrade.report.charts.svg import (
    Axis,
    Chart,
    Margin,
    bottom_axis,
    down,
    left_axis,
    left_room,
    path_segments,
    pc,
)
from truegrade.report.markup import Markup, el

HEIGHT_PX = 170
SPREAD = 0.6
"""Share of a column's width over which its dots are spread, in their order."""


def strips(columns: Mapping[int, Sequence[float]], y: Axis, name: str, count: str) -> Chart:
    """Draw every value of every column, and the medians.

    Args:
        columns: values by the number of the column, at least one of each.
        y: the axis of the values.
        name: what the chart shows.
        count: what the columns are.
    """
    numbers = sorted(columns)
    wide = 1 / len(numbers)
    step = max(1, -(-len(numbers) // 12))
    ticks = tuple((place, str(number)) for place, number in enumerate(numbers) if place % step == 0)
    x = Axis(low=-0.5, high=len(numbers) - 0.5, ticks=ticks, title=count)
    body = [*left_axis(y, HEIGHT_PX), *bottom_axis(x, HEIGHT_PX)]
    middles = []
    for place, number in enumerate(numbers):
        values = columns[number]
        middles.append(((place + 0.5) * wide, down(y, median(values), HEIGHT_PX)))
        for order, value in enumerate(values):
            left = (place + 0.5 + SPREAD * ((order + 0.5) / len(values) - 0.5)) * wide
            body.append(el("circle", class_="faint s0", cx=pc(left), cy=down(y, value, HEIGHT_PX), r=3.5))
    body += path_segments(middles, "line s5")
    body += [el("circle", class_="point s5", cx=pc(left), cy=top, r=4) for left, top in middles]
    said = "; ".join(f"{count} {number}: median {fmt.quantity(median(columns[number]))}" for number in numbers)
    return Chart(
        name=name,
        description=said,
        body=Markup("".join(body)),
        height=HEIGHT_PX,
        margin=Margin(top=30 if y.title else 10, bottom=46, left=left_room(y)),
    )
