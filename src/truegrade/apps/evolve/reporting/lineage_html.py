"""The tree of the selected genome's ancestors."""

from __future__ import annotations

from truegrade.apps.evolve.reporting import verdict as phrases
from truegrade.apps.evolve.reporting.search_html import Ancestor, ancestry, focus, origins
from truegrade.apps.evolve.reporting.search_material import SearchMaterial, Track
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart, Key
from truegrade.report.charts.svg_front import Node, tree
from truegrade.report.document import Section
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import drawn_section, figure, table

LABEL_CHARS = 4
"""Of a genome's id, under its dot: what fits beside seven others on a phone."""


def lineage_section(material: SearchMaterial) -> Section | None:
    """The section of the page; empty before the first full evaluation."""
    followed = focus(material)
    if followed is None:
        return None
    track, event = followed
    family = ancestry(track, event.evaluated.genome.id, material.headline)
    which = (
        "the selected genome"
        if material.chosen is not None
        else f"the genome with the best {material.headline} so far"
    )
    size = fmt.plural(len(family), "genome")
    caption = [el("b", f"Ancestors of {which}."), f" {track.plan.name}, replicate {track.replicate + 1}: {size}."]
    drawn = figure(
        lineage_chart(family, event.evaluated.genome.id), caption, _family_table(family, material.headline)
    )
    return drawn_section("lineage", "Lineage", drawn, _origins_table(track))


def lineage_chart(family: list[Ancestor], genome: str) -> Chart:
    """The family as a tree; the genome that it is about is ringed."""
    nodes = [
        Node(
            id=one.id,
            row=one.generation,
            parents=one.parents,
            label=one.id[:LABEL_CHARS],
            title=f"{one.id}, {one.origin}: {'; '.join(one.changes)}",
            colour=phrases.origin_colour(one.origin),
            ringed=one.id == genome,
        )
        for one in family
    ]
    used = dict.fromkeys(one.origin for one in family)
    legend = tuple(Key(name, phrases.origin_colour(name)) for name in used)
    return tree(nodes, "Ancestors by generation", legend)


def _family_table(family: list[Ancestor], objective: str) -> Markup:
    rows: list[list[Child]] = [
        [
            el("code", one.id[:LABEL_CHARS]),
            fmt.count(one.generation),
            one.origin,
            ", ".join(parent[:LABEL_CHARS] for parent in one.parents) or "–",
            fmt.quantity(one.score),
            "; ".join(one.changes) or "nothing",
        ]
        for one in family
    ]
    head = ["genome", "generation", "origin", "parents", objective, "changes from its parents"]
    return table("Ancestors, and their changes from their parents", head, rows)


def _origins_table(track: Track) -> Markup:
    rows: list[list[Child]] = [
        [
            join(origin.name, el("small", phrases.ORIGINS.get(origin.name, ""))),
            fmt.count(origin.genomes),
            fmt.count(origin.on_front),
            fmt.percent(origin.on_front / origin.genomes),
        ]
        for origin in origins(track)
    ]
    head = ["origin", "genomes", "on its front", "share"]
    caption = f"Operators by result, in {track.plan.name}, replicate {track.replicate + 1}"
    return table(caption, head, rows, class_="numeric")
