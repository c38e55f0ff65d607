"""Lines with bands."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report.charts.svg import (
    Axis,
    Chart,
    Key,
    Margin,
    across,
    bottom_axis,
    dash,
    down,
    left_axis,
    left_room,
    path_segments,
    series,
    share_axis,
    stretched,
    value_axis,
)
from truegrade.report.markup import Markup, el

HEIGHT_PX = 240
MAX_BANDS = 3
"""With more lines only the first keeps its band: more would hide each other."""


class Point(msgspec.Struct, frozen=True):
    """A place on a line, and its interval where there is one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    title: str = ""


class Line(msgspec.Struct, frozen=True):
    """A named line; its points from left to right."""

    name: str
    points: Sequence[Point]


def lines(drawn: Sequence[Line], x: Axis, y: Axis, name: str) -> Chart:
    """Lines, each shaded by its interval where it has one."""
    banded = len(drawn) if len(drawn) <= MAX_BANDS else 1
    body = [*left_axis(y, HEIGHT_PX), *bottom_axis(x, HEIGHT_PX)]
    body.append(stretched(HEIGHT_PX, (_band(line, x, y, place) for place, line in enumerate(drawn[:banded]))))
    for place, line in enumerate(drawn):
        places = [(x.place(point.x), down(y, point.y, HEIGHT_PX)) for point in line.points]
        body += path_segments(places, f"line {series(place)}", dash(place))
        body += [_dot(line.name, point, x, y, place) for point in line.points]
    return Chart(
        name=name,
        description="; ".join(f"{line.name}: {', '.join(map(_said, line.points))}" for line in drawn),
        body=Markup("".join(body)),
        height=HEIGHT_PX,
        margin=_margin(x, y),
        legend=tuple(Key(line.name, series(place), dash(place)) for place, line in enumerate(drawn)),
    )


def pass_curve(drawn: Sequence[tuple[str, Sequence[tuple[int, Estimate]]]]) -> Chart:
    """pass@k against k on a logarithmic axis, one line a profile.

    Args:
        drawn: name and points (k, estimate) of each line; at least two different k in all.
    """
    ks = [float(k) for _, points in drawn for k, _ in points]
    named = [Line(name, [_estimate_point(float(k), e) for k, e in points]) for name, points in drawn]
    axis = value_axis(ks, "k samples", log=True)
    return lines(named, axis, share_axis(), "pass@k against k; shaded: the interval")


def _estimate_point(x: float, estimate: Estimate) -> Point:
    title = f"{estimate.metric} {fmt.estimate(estimate)}"
    return Point(x, estimate.value, estimate.low, estimate.high, title)


def _band(line: Line, x: Axis, y: Axis, place: int) -> Markup | None:
    bounded = [
        (100 * x.place(p.x), p.low, p.high) for p in line.points if p.low is not None and p.high is not None
    ]
    if len(bounded) < 2:
        return None
    upper = [f"{at:.2f},{down(y, high, HEIGHT_PX)}" for at, _, high in bounded]
    lower = [f"{at:.2f},{down(y, low, HEIGHT_PX)}" for at, low, _ in reversed(bounded)]
    return el("polygon", class_=f"area {series(place)}", points=" ".join([*upper, *lower]))


def _dot(name: str, point: Point, x: Axis, y: Axis, place: int) -> Markup:
    title = el("title", f"{name}, {_said(point)}")
    at = {"cx": across(x, point.x), "cy": down(y, point.y, HEIGHT_PX)}
    return el("circle", title, class_=f"point {series(place)}", r=4.5, **at)


def _said(point: Point) -> str:
    return point.title or f"{fmt.quantity(point.x)}: {fmt.quantity(point.y)}"


def _margin(x: Axis, y: Axis) -> Margin:
    return Margin(top=30 if y.title else 8, bottom=46 if x.title else 30, left=left_room(y))
