"""Curves with bands, steps, parallel coordinates, strips of values, and scatter plots of objectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from types import MappingProxyType
from typing import Literal

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
    pc,
    series,
    share_axis,
    stretched,
    value_axis,
)
from truegrade.report.markup import Markup, el

# --- Lines with bands.


LINES_HEIGHT_PX = 240
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
    body = [*left_axis(y, LINES_HEIGHT_PX), *bottom_axis(x, LINES_HEIGHT_PX)]
    body.append(
        stretched(LINES_HEIGHT_PX, (_band(line, x, y, place) for place, line in enumerate(drawn[:banded])))
    )
    for place, line in enumerate(drawn):
        places = [(x.place(point.x), down(y, point.y, LINES_HEIGHT_PX)) for point in line.points]
        body += path_segments(places, f"line {series(place)}", dash(place))
        body += [_dot(line.name, point, x, y, place) for point in line.points]
    return Chart(
        name=name,
        description="; ".join(f"{line.name}: {', '.join(map(_said_point, line.points))}" for line in drawn),
        body=Markup("".join(body)),
        height=LINES_HEIGHT_PX,
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
    upper = [f"{at:.2f},{down(y, high, LINES_HEIGHT_PX)}" for at, _, high in bounded]
    lower = [f"{at:.2f},{down(y, low, LINES_HEIGHT_PX)}" for at, low, _ in reversed(bounded)]
    return el("polygon", class_=f"area {series(place)}", points=" ".join([*upper, *lower]))


def _dot(name: str, point: Point, x: Axis, y: Axis, place: int) -> Markup:
    title = el("title", f"{name}, {_said_point(point)}")
    at = {"cx": across(x, point.x), "cy": down(y, point.y, LINES_HEIGHT_PX)}
    return el("circle", title, class_=f"point {series(place)}", r=4.5, **at)


def _said_point(point: Point) -> str:
    return point.title or f"{fmt.quantity(point.x)}: {fmt.quantity(point.y)}"


def _margin(x: Axis, y: Axis) -> Margin:
    return Margin(top=30 if y.title else 8, bottom=46 if x.title else 30, left=left_room(y))


# --- Step lines with a band: what a search had, from one evaluation to the next.


STEPS_HEIGHT_PX = 260


class Steps(msgspec.Struct, frozen=True, kw_only=True):
    """A line that keeps its height until its next point."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def step_lines(drawn: Sequence[Steps], x: Axis, y: Axis, name: str) -> Chart:
    """Lines in the order of their importance: the first is drawn last, over the others."""
    body = [*left_axis(y, STEPS_HEIGHT_PX), *bottom_axis(x, STEPS_HEIGHT_PX)]
    body.append(stretched(STEPS_HEIGHT_PX, (_steps_band(line, x, y, place) for place, line in enumerate(drawn))))
    for place, line in reversed(list(enumerate(drawn))):
        places = [(x.place(at), down(y, value, STEPS_HEIGHT_PX)) for at, value in _corners(line.x, line.y)]
        body += path_segments(places, f"line {series(place)}", dash(place))
        title = el("title", f"{line.name}: {fmt.quantity(line.y[-1])} at {fmt.quantity(line.x[-1])}")
        end = {"cx": across(x, line.x[-1]), "cy": down(y, line.y[-1], STEPS_HEIGHT_PX)}
        body.append(el("circle", title, class_=f"point {series(place)}", r=4.5, **end))
    return Chart(
        name=name,
        description="; ".join(
            f"{line.name} ends with {fmt.quantity(line.y[-1])} at {fmt.quantity(line.x[-1])}" for line in drawn
        ),
        body=Markup("".join(body)),
        height=STEPS_HEIGHT_PX,
        margin=Margin(top=30, bottom=46, left=left_room(y)),
        legend=tuple(Key(line.name, series(place), dash(place)) for place, line in enumerate(drawn)),
    )


def _corners(x: Sequence[float], y: Sequence[float]) -> list[tuple[float, float]]:
    """The line's corners; a place where nothing changes is none."""
    found = [(x[0], y[0])]
    for at, value in zip(x[1:], y[1:], strict=True):
        if value != found[-1][1]:
            found += [(at, found[-1][1]), (at, value)]
    return [*found, (x[-1], y[-1])] if x[-1] > found[-1][0] else found


def _steps_band(line: Steps, x: Axis, y: Axis, place: int) -> Markup | None:
    if list(line.low) == list(line.high):
        return None
    upper, lower = _corners(line.x, line.high), _corners(line.x, line.low)
    points = [
        f"{100 * x.place(at):.2f},{down(y, value, STEPS_HEIGHT_PX)}" for at, value in [*upper, *reversed(lower)]
    ]
    return el("polygon", class_=f"area {series(place)}", points=" ".join(points))


# --- Parallel coordinates: every genome a line through all its objectives (Inselberg 1985, Visual Computer 1:69).


PARALLEL_HEIGHT_PX = 220
INSET = 0.08
"""Of the width, left and right of the outer axes, for the names under them."""


FEW = 4
"""Axes whose names fit beside each other on a phone; of more, every second name stands lower."""


class ParallelLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line."""

    name: str
    values: Mapping[str, float]
    """By axis."""
    role: Literal["background", "named"] = "named"
    colour: str = "s5"
    dash: str = "none"


def parallel(profiles: Sequence[ParallelLine], axes: Sequence[str], name: str) -> Chart:
    """Draw lines from axis to axis, each axis from the least to the greatest value of all lines, more upwards."""
    bounds = {axis: _bounds([profile.values[axis] for profile in profiles]) for axis in axes}
    body: list[Markup] = []
    for place, axis in enumerate(axes):
        body += _axis(axis, bounds[axis], _left(place, len(axes)), len(axes) > FEW and place % 2 == 1)
    for profile in sorted(profiles, key=lambda one: one.role == "named"):
        places = [
            (_left(place, len(axes)), _down_between(profile.values[axis], bounds[axis]))
            for place, axis in enumerate(axes)
        ]
        named = profile.role == "named"
        lines = path_segments(places, f"{'line' if named else 'thread'} {profile.colour}", profile.dash)
        title = el("title", f"{profile.name}: {_said_values(profile, axes)}")
        dots = [el("circle", class_=f"point {profile.colour}", cx=pc(x), cy=y, r=4.5) for x, y in places]
        body.append(el("g", title, lines, dots if named else None))
    shown = [profile for profile in profiles if profile.role == "named"]
    return Chart(
        name=name,
        description="; ".join(f"{profile.name}: {_said_values(profile, axes)}" for profile in shown),
        body=Markup("".join(body)),
        height=PARALLEL_HEIGHT_PX,
        margin=Margin(top=26, right=4, bottom=58 if len(axes) > FEW else 42, left=4),
        legend=tuple(Key(profile.name, profile.colour, profile.dash) for profile in shown),
    )


def _axis(name: str, bounds: tuple[float, float], left: float, lowered: bool) -> list[Markup]:
    """A rule with its greatest value above, its least and its name below."""
    x, low, high = pc(left), fmt.quantity(bounds[0]), fmt.quantity(bounds[1])
    return [
        el("line", class_="axis", x1=x, x2=x, y1=0, y2=PARALLEL_HEIGHT_PX),
        el("text", high, class_="x", x=x, y=-9),
        el("text", low, class_="x", x=x, y=PARALLEL_HEIGHT_PX + 17),
        el("text", name, class_="x name", x=x, y=PARALLEL_HEIGHT_PX + (51 if lowered else 35)),
    ]


def _left(place: int, axes: int) -> float:
    return INSET + (1 - 2 * INSET) * (place / (axes - 1) if axes > 1 else 0.5)


def _down_between(value: float, bounds: tuple[float, float]) -> float:
    low, high = bounds
    return (
        round(PARALLEL_HEIGHT_PX * (1 - (value - low) / (high - low)), 2) if high > low else PARALLEL_HEIGHT_PX / 2
    )


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _said_values(profile: ParallelLine, axes: Sequence[str]) -> str:
    return ", ".join(f"{axis} {fmt.quantity(profile.values[axis])}" for axis in axes)


# --- Dots in columns with a line through their medians: how values move from generation to generation.


STRIPS_HEIGHT_PX = 170
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
    body = [*left_axis(y, STRIPS_HEIGHT_PX), *bottom_axis(x, STRIPS_HEIGHT_PX)]
    middles = []
    for place, number in enumerate(numbers):
        values = columns[number]
        middles.append(((place + 0.5) * wide, down(y, median(values), STRIPS_HEIGHT_PX)))
        for order, value in enumerate(values):
            left = (place + 0.5 + SPREAD * ((order + 0.5) / len(values) - 0.5)) * wide
            body.append(el("circle", class_="faint s0", cx=pc(left), cy=down(y, value, STRIPS_HEIGHT_PX), r=3.5))
    body += path_segments(middles, "line s5")
    body += [el("circle", class_="point s5", cx=pc(left), cy=top, r=4) for left, top in middles]
    said = "; ".join(f"{count} {number}: median {fmt.quantity(median(columns[number]))}" for number in numbers)
    return Chart(
        name=name,
        description=said,
        body=Markup("".join(body)),
        height=STRIPS_HEIGHT_PX,
        margin=Margin(top=30 if y.title else 10, bottom=46, left=left_room(y)),
    )


# ----------------- Scatter plots of objectives: everything evaluated, the front, the anchors and the selected one.


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


# ----------------------------------- A family tree: generations downwards, parents joined with their children.


ROW_HEIGHT_PX = 58
RADIUS_PX = 8


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A member of the family."""

    id: str
    row: int
    """Its generation."""
    parents: tuple[str, ...]
    """Ids of nodes in rows before."""
    label: str
    title: str
    colour: str
    """Class of its colour."""
    ringed: bool = False


def tree(nodes: Sequence[Node], name: str, legend: tuple[Key, ...] = ()) -> Chart:
    """Draw the nodes row by row; rows without a node are left out."""
    rows = sorted({node.row for node in nodes})
    height = ROW_HEIGHT_PX * len(rows)
    tops = {row: place * ROW_HEIGHT_PX + 20 for place, row in enumerate(rows)}
    lefts = _lefts(nodes, rows)
    known = {node.id: node for node in nodes}
    body = [el("text", f"gen {row}", class_="y", x=0, dx=-8, y=top + 4) for row, top in tops.items()]
    body += [el("line", class_="tick", x1="0%", x2="100%", y1=top, y2=top) for top in tops.values()]
    for node in nodes:
        for parent in node.parents:
            start, end = (lefts[parent], tops[known[parent].row]), (lefts[node.id], tops[node.row])
            body.append(el("line", class_="kin", x1=pc(start[0]), y1=start[1], x2=pc(end[0]), y2=end[1]))
    for node in nodes:
        body.append(_node(node, lefts[node.id], tops[node.row]))
    return Chart(
        name=name,
        description="; ".join(f"{node.label} in generation {node.row}" for node in nodes),
        body=Markup("".join(body)),
        height=height,
        margin=Margin(top=4, bottom=4, left=60),
        legend=legend,
    )


def _node(node: Node, left: float, top: float) -> Markup:
    ring = el("circle", class_="ring", cx=pc(left), cy=top, r=RADIUS_PX + 4.5) if node.ringed else None
    dot = el("circle", class_=f"point {node.colour}", cx=pc(left), cy=top, r=RADIUS_PX)
    label = el("text", node.label, class_="x name haloed", x=pc(left), y=top + RADIUS_PX + 17)
    return el("g", el("title", node.title), ring, dot, label)


def _lefts(nodes: Sequence[Node], rows: Sequence[int]) -> dict[str, float]:
    """Fractions of the width: from the last row up, each row in the order of where its children stand."""
    children: Mapping[str, list[str]] = {
        node.id: [child.id for child in nodes if node.id in child.parents] for node in nodes
    }
    lefts: dict[str, float] = {}
    for row in reversed(rows):
        members = [node.id for node in nodes if node.row == row]
        members.sort(key=lambda member: _middle(children[member], lefts))
        lefts |= {member: (place + 0.5) / len(members) for place, member in enumerate(members)}
    return lefts


def _middle(children: Sequence[str], lefts: Mapping[str, float]) -> float:
    placed = [lefts[child] for child in children if child in lefts]
    return sum(placed) / len(placed) if placed else 0.5
