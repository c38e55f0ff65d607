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
    Key,
    Margin,
    across,
    bottom_axis,
    down,
    left_axis,
    left_room,
    pc,
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
