"""Two values a row, joined: what something was before and after."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart, Key, Margin, across, bottom_axis, share_axis
from truegrade.report.markup import Markup, el

ROW_HEIGHT_PX = 38


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
    height = ROW_HEIGHT_PX * len(rows)
    ends = [end for row in rows for end in (row.before, row.after)]
    axis = share_axis(min(ends), max(ends))
    body = [*bottom_axis(axis, height)]
    for place, row in enumerate(rows):
        top = place * ROW_HEIGHT_PX + 27
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
