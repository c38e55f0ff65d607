"""Parallel coordinates: every genome a line through all its objectives.

Inselberg 1985, The Visual Computer 1:69.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart, Key, Margin, path_segments, pc
from truegrade.report.markup import Markup, el

HEIGHT_PX = 220
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
            (_left(place, len(axes)), _down(profile.values[axis], bounds[axis])) for place, axis in enumerate(axes)
        ]
        named = profile.role == "named"
        lines = path_segments(places, f"{'line' if named else 'thread'} {profile.colour}", profile.dash)
        title = el("title", f"{profile.name}: {_said(profile, axes)}")
        dots = [el("circle", class_=f"point {profile.colour}", cx=pc(x), cy=y, r=4.5) for x, y in places]
        body.append(el("g", title, lines, dots if named else None))
    shown = [profile for profile in profiles if profile.role == "named"]
    return Chart(
        name=name,
        description="; ".join(f"{profile.name}: {_said(profile, axes)}" for profile in shown),
        body=Markup("".join(body)),
        height=HEIGHT_PX,
        margin=Margin(top=26, right=4, bottom=58 if len(axes) > FEW else 42, left=4),
        legend=tuple(Key(profile.name, profile.colour, profile.dash) for profile in shown),
    )


def _axis(name: str, bounds: tuple[float, float], left: float, lowered: bool) -> list[Markup]:
    """A rule with its greatest value above, its least and its name below."""
    x, low, high = pc(left), fmt.quantity(bounds[0]), fmt.quantity(bounds[1])
    return [
        el("line", class_="axis", x1=x, x2=x, y1=0, y2=HEIGHT_PX),
        el("text", high, class_="x", x=x, y=-9),
        el("text", low, class_="x", x=x, y=HEIGHT_PX + 17),
        el("text", name, class_="x name", x=x, y=HEIGHT_PX + (51 if lowered else 35)),
    ]


def _left(place: int, axes: int) -> float:
    return INSET + (1 - 2 * INSET) * (place / (axes - 1) if axes > 1 else 0.5)


def _down(value: float, bounds: tuple[float, float]) -> float:
    low, high = bounds
    return round(HEIGHT_PX * (1 - (value - low) / (high - low)), 2) if high > low else HEIGHT_PX / 2


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _said(profile: ParallelLine, axes: Sequence[str]) -> str:
    return ", ".join(f"{axis} {fmt.quantity(profile.values[axis])}" for axis in axes)
