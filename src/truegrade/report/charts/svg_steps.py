"""Step lines with a band: what a search had, from one evaluation to the next."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

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
    stretched,
)
from truegrade.report.markup import Markup, el

HEIGHT_PX = 260


class Steps(msgspec.Struct, frozen=True, kw_only=True):
    """A line that keeps its height until its next point."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def step_lines(drawn: Sequence[Steps], x: Axis, y: Axis, name: str) -> Chart:
    """Lines in the order of their importance: the first is drawn last, over the others."""
    body = [*left_axis(y, HEIGHT_PX), *bottom_axis(x, HEIGHT_PX)]
    body.append(stretched(HEIGHT_PX, (_band(line, x, y, place) for place, line in enumerate(drawn))))
    for place, line in reversed(list(enumerate(drawn))):
        places = [(x.place(at), down(y, value, HEIGHT_PX)) for at, value in _corners(line.x, line.y)]
        body += path_segments(places, f"line {series(place)}", dash(place))
        title = el("title", f"{line.name}: {fmt.quantity(line.y[-1])} at {fmt.quantity(line.x[-1])}")
        end = {"cx": across(x, line.x[-1]), "cy": down(y, line.y[-1], HEIGHT_PX)}
        body.append(el("circle", title, class_=f"point {series(place)}", r=4.5, **end))
    return Chart(
        name=name,
        description="; ".join(
            f"{line.name} ends with {fmt.quantity(line.y[-1])} at {fmt.quantity(line.x[-1])}" for line in drawn
        ),
        body=Markup("".join(body)),
        height=HEIGHT_PX,
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


def _band(line: Steps, x: Axis, y: Axis, place: int) -> Markup | None:
    if list(line.low) == list(line.high):
        return None
    upper, lower = _corners(line.x, line.high), _corners(line.x, line.low)
    points = [f"{100 * x.place(at):.2f},{down(y, value, HEIGHT_PX)}" for at, value in [*upper, *reversed(lower)]]
    return el("polygon", class_=f"area {series(place)}", points=" ".join(points))
