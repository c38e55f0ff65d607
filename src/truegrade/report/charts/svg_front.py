"""Scatter plots of objectives: everything evaluated, the front, the anchors and the one that was selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import msgspec

from truegrade.report import format as fmt
from truegrade.report.charts.svg import (
    Axis,
    Chart,
    Margin,
    across,
    bottom_axis,
    down,
    left_axis,
    left_room,
    series,
)
from truegrade.report.markup import Markup, el

HEIGHT_PX = 250

Kind = Literal["dominated", "front", "anchor", "selected"]

SHAPES: Mapping[str, str] = MappingProxyType(
    {
        "base": "M0-7.5L7.5 0L0 7.5L-7.5 0Z",
        "identity": "M-5.5-5.5H5.5V5.5H-5.5Z",
        "stub": "M0-6.5L6.5 5.5H-6.5Z",
        "reference": "M-2-7H2V-2H7V2H2V7H-2V2H-7V-2H-2Z",
    }
)
"""Outlines of the anchors around the origin: diamond, square, triangle, cross."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One point of the plot."""

    x: float
    y: float
    name: str
    kind: Kind
    series: int = 0
    """Its colour."""
    shape: str = ""
    """Of an anchor."""


def front_plot(marks: Sequence[Mark], x: Axis, y: Axis, name: str) -> Chart:
    """Draw the marks, the important ones on top; anchors beyond the axes are dashed, on their edge."""
    order = ("dominated", "front", "anchor", "selected")
    body = [*left_axis(y, HEIGHT_PX), *bottom_axis(x, HEIGHT_PX)]
    body += [_drawn(mark, x, y) for mark in sorted(marks, key=lambda mark: order.index(mark.kind))]
    front = sum(mark.kind in {"front", "selected"} for mark in marks)
    named = (mark for mark in marks if mark.kind in {"anchor", "selected"})
    said = "; ".join(f"{mark.name}: {fmt.quantity(mark.x)}, {fmt.quantity(mark.y)}" for mark in named)
    return Chart(
        name=name,
        description=f"{len(marks)} points, {front} of them emphasised; {said}",
        body=Markup("".join(body)),
        height=HEIGHT_PX,
        margin=Margin(top=30, bottom=46, left=left_room(y)),
    )


def shape(outline: str, class_: str, **place: object) -> Markup:
    """An outline around a place."""
    return el("svg", el("path", d=SHAPES[outline], class_=class_), overflow="visible", **place)


def _drawn(mark: Mark, x: Axis, y: Axis) -> Markup:
    title = el("title", f"{mark.name}: {fmt.quantity(mark.x)}, {fmt.quantity(mark.y)}")
    left, top = across(x, mark.x), down(y, mark.y, HEIGHT_PX)
    if mark.kind == "anchor":
        beyond = not (x.low <= mark.x <= x.high and y.low <= mark.y <= y.high)
        return el("g", title, shape(mark.shape, "anchor beyond" if beyond else "anchor", x=left, y=top))
    colour = series(mark.series)
    if mark.kind == "selected":
        ring = el("circle", class_="ring", cx=left, cy=top, r=10)
        return el("g", title, ring, el("circle", class_=f"point {colour}", cx=left, cy=top, r=5.5))
    class_, radius = ("point", 5.5) if mark.kind == "front" else ("faint", 3.5)
    return el("circle", title, class_=f"{class_} {colour}", cx=left, cy=top, r=radius)
