"""The front: pairs of objectives, and every genome that no other dominates as a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from truegrade.evolution.events import Event
from truegrade.evolution.genomes import Scores
from truegrade.evolution.reporting import phrases
from truegrade.evolution.reporting.lineage import described, focus
from truegrade.evolution.reporting.search_material import SearchMaterial
from truegrade.evolution.survival import shortfall
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Axis, Chart, inline, number_axis, series
from truegrade.report.charts.svg_front import Kind, Mark, front_plot, shape
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import folded, section, table

PAIRS = 4
"""Charts shown; those of further pairs are folded."""
MOST_DOMINATED = 800
"""Dominated genomes drawn in each chart; of more, every n-th."""
FAR = 1.5
"""Spans of what was evaluated within which an anchor stretches the axes; farther ones are drawn at the edge."""


def front_section(material: SearchMaterial) -> Markup:
    """The section of the page; empty before the first full evaluation."""
    if not material.front:
        return Markup()
    charts = [inline(chart) for chart in pair_charts(material)]
    counted = (
        f"{fmt.plural(len(material.front), 'genome')} of {fmt.count(len(material.events))} evaluations are not"
        " dominated in all objectives together; in a chart of two objectives such a point may lie inside the"
        " front."
        " Higher values are better. A dashed mark is outside the axes. Scores are on the selection problems."
    )
    more = folded(f"{len(charts) - PAIRS} more pairs", el("div", charts[PAIRS:], class_="pair"))
    return section(
        "front",
        "The front",
        el("p", counted, class_="note"),
        _legend(material),
        el("div", charts[:PAIRS], class_="pair"),
        more if charts[PAIRS:] else None,
        _table(material),
    )


def pair_charts(material: SearchMaterial) -> list[Chart]:
    """A chart for every pair of objectives that vary, those with the first objective first."""
    names = [name for name in material.evolution.objectives if name not in material.constant]
    pairs = [(other, names[0]) for other in names[1:]] + list(combinations(names[1:], 2))
    return [_pair(material, x, y) for x, y in pairs]


def search_names(material: SearchMaterial) -> list[str]:
    """The searches in the order of their colours: the one in question first."""
    return list(dict.fromkeys(track.plan.name for track in material.tracks))


def _pair(material: SearchMaterial, x: str, y: str) -> Chart:
    marks = [
        *(_mark(event, x, y, material, "dominated") for event in _dominated(material)),
        *(_mark(event, x, y, material, "front") for event in material.front),
    ]
    bounded = [marks, _anchors(material, x, y)]
    across, up = (_axis(name, place, *bounded) for name, place in ((x, 0), (y, 1)))
    followed = focus(material)
    if followed is not None:
        marks.append(_mark(followed[1], x, y, material, "selected"))
    return front_plot([*marks, *bounded[1]], across, up, f"{y} against {x}")


def _mark(event: Event, x: str, y: str, material: SearchMaterial, kind: Kind) -> Mark:
    scores, colour = event.evaluated.scores.objectives, search_names(material).index(event.search)
    name = f"{event.evaluated.genome.id[:6]} of {event.search}"
    name = f"selected: {name}" if kind == "selected" else name
    return Mark(x=scores[x], y=scores[y], name=name, kind=kind, series=colour)


def _anchors(material: SearchMaterial, x: str, y: str) -> list[Mark]:
    return [
        Mark(
            x=anchor.scores.objectives[x],
            y=anchor.scores.objectives[y],
            name=anchor.name,
            kind="anchor",
            shape=anchor.name,
        )
        for anchor in material.anchors
    ]


def _dominated(material: SearchMaterial) -> list[Event]:
    """Full evaluations that are not on the front, thinned evenly where there are very many."""
    front = {event.evaluated.genome.id for event in material.front}
    found = [e for e in material.events if e.evaluated.genome.id not in front and shortfall(e.evaluated) <= 0.0]
    return found[:: max(1, -(-len(found) // MOST_DOMINATED))]


def _axis(name: str, place: int, marks: Sequence[Mark], anchors: Sequence[Mark]) -> Axis:
    """An axis that holds all genomes, and the anchors that are not very far from them."""
    own = [(mark.x, mark.y)[place] for mark in marks]
    reach = FAR * (max(own) - min(own))
    near = [value for a in anchors if min(own) - reach <= (value := (a.x, a.y)[place]) <= max(own) + reach]
    return number_axis(min([*own, *near]), max([*own, *near]), name)


def _legend(material: SearchMaterial) -> Markup:
    """Colours are searches, shapes anchors."""

    def sample(*drawn: Child) -> Markup:
        return el("svg", drawn, width=22, height=22, aria_hidden="true")

    def dot(class_: str, radius: float) -> Markup:
        return el("circle", class_=class_, cx=11, cy=11, r=radius)

    items = [
        el("li", sample(dot(f"point {series(place)}", 5.5)), name)
        for place, name in enumerate(search_names(material))
    ]
    items.append(el("li", sample(dot("faint s0", 3.5)), "dominated"))
    if focus(material) is not None:
        words = "selected" if material.chosen is not None else f"best {material.headline} so far"
        items.append(el("li", sample(dot("ring", 9), dot("point s0", 5)), words))
    for anchor in material.anchors:
        words = f"{anchor.name}: {phrases.ANCHORS[anchor.name]}"
        items.append(el("li", sample(shape(anchor.name, "anchor", x=11, y=11)), words))
    return el("ul", items, class_="marks")


def _table(material: SearchMaterial) -> Markup:
    """The front with its exact scores, then the anchors."""
    objectives = material.evolution.objectives
    rows: list[list[Child]] = []
    for event in material.front:
        genome = event.evaluated.genome
        genes = ", ".join(f"{name} {value}" for name, value in described(genome).items() if name in _SHOWN)
        name = el("code", genome.id, class_="genome")
        rows.append([name, event.search, *_scores(event.evaluated.scores, objectives), genes])
    anchors = [[anchor.name, "anchor", *_scores(anchor.scores, objectives), ""] for anchor in material.anchors]
    head = [
        "genome",
        "search",
        *(join(name, el("small", phrases.objective(name))) for name in objectives),
        "genes",
    ]
    shown = table("Non-dominated genomes, and the anchors", head, [*rows, *anchors], class_="lasting")
    return folded("The front as a table", shown)


def _scores(scores: Scores, objectives: Sequence[str]) -> list[Child]:
    """Read to three places; the element carries the exact number."""
    return [
        el("data", fmt.quantity(scores.objectives[name]), value=repr(scores.objectives[name]))
        for name in objectives
    ]


_SHOWN = frozenset({"kind", "rank", "alpha / rank", "modules", "learning rate", "epochs", "sum of"})
