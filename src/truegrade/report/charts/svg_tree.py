"""A family tree: generations downwards, parents joined with their children."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from truegrade.report.charts.svg import Chart, Key, Margin, pc
from truegrade.report.markup import Markup, el

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
