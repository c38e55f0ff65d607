"""Profiles of objectives: what a genome gains in one and pays in another."""

from __future__ import annotations

from truegrade.evolution.reporting.lineage import focus
from truegrade.evolution.reporting.search_material import SearchMaterial
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart, dash
from truegrade.report.charts.svg_parallel import ParallelLine, parallel
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import figure, section, table

_COLOURS = {"base": "s5", "identity": "s4", "stub": "s3", "reference": "s2"}


def objectives_section(material: SearchMaterial) -> Markup:
    """The section of the page; empty before the first full evaluation."""
    chart = profiles_chart(material)
    if chart is None:
        return Markup()
    caption = [
        el("b", "Objectives side by side."),
        " Each axis runs from the worst to the best value shown; higher is better. Thin lines are the front.",
    ]
    same = f"Omitted, because all genomes are equal: {', '.join(material.constant)}."
    note = el("p", same, class_="note") if material.constant else None
    return section("objectives", "Objectives", figure(chart, caption, _table(material)), note)


def profiles_chart(material: SearchMaterial) -> Chart | None:
    """Front, anchors and the selected genome through all objectives that vary."""
    axes = [name for name in material.evolution.objectives if name not in material.constant]
    if not material.front or len(axes) < 2:
        return None
    background = [
        ParallelLine(
            name=event.evaluated.genome.id[:6],
            values=event.evaluated.scores.objectives,
            role="background",
            colour="s0",
        )
        for event in material.front
    ]
    return parallel([*background, *_named(material)], axes, "Profiles of objectives")


def _named(material: SearchMaterial) -> list[ParallelLine]:
    named = [
        ParallelLine(
            name=anchor.name, values=anchor.scores.objectives, colour=_COLOURS[anchor.name], dash=dash(place + 1)
        )
        for place, anchor in enumerate(material.anchors)
    ]
    followed = focus(material)
    if followed is None:
        return named
    words = "selected" if material.chosen is not None else f"best {material.headline} so far"
    return [*named, ParallelLine(name=words, values=followed[1].evaluated.scores.objectives, colour="s0")]


def _table(material: SearchMaterial) -> Markup:
    named = _named(material)
    rows: list[list[Child]] = [
        [name, *(fmt.quantity(profile.values[name]) for profile in named)]
        for name in material.evolution.objectives
    ]
    return table("Objectives", ["objective", *(profile.name for profile in named)], rows, class_="numeric")
