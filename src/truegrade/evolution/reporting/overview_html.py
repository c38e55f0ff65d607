"""The first section: the conclusion, the size of the effect, and the warnings."""

from __future__ import annotations

from truegrade.evolution.reporting.budgets import total_cpu_s
from truegrade.evolution.reporting.front_html import search_names
from truegrade.evolution.reporting.lineage import described, focus
from truegrade.evolution.reporting.search_material import SearchMaterial
from truegrade.evolution.reporting.verdict import SearchVerdict, confidence_of, verdict
from truegrade.report import format as fmt
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import facts, folded, section

MAX_DOUBTS = 5
BEST = "best"
"""Folder of the selected adapter."""


def overview(material: SearchMaterial) -> Markup:
    """The section of the page."""
    judged = verdict(material)
    sentences = el("ul", (el("li", sentence) for sentence in judged.sentences), class_="said")
    card = el(
        "article",
        el("h3", judged.title, class_="judged"),
        _number(material),
        sentences,
        class_=f"card {judged.kind}",
    )
    return section(
        "result", "Result", el("div", card, _doubts(judged), class_="first"), _tiles(material), _adapter(material)
    )


def _number(material: SearchMaterial) -> Child:
    chosen, final = material.chosen, material.final
    if chosen is None or final is None:
        return None
    gain = chosen.against_base
    interval = f"{confidence_of(final)} % CI {fmt.bounds(gain.low, gain.high)}"
    return [
        el("p", fmt.points(gain.value), " ", el("small", "points relative to the base"), class_="value"),
        el("p", f"{interval}, {gain.method}", class_="interval-text"),
    ]


def _doubts(judged: SearchVerdict) -> Markup:
    items = [el("li", line) for line in judged.doubts]
    said = el("ul", items[:MAX_DOUBTS]) if items else el("p", "No warnings.")
    rest = folded(f"{len(items) - MAX_DOUBTS} more", el("ul", items[MAX_DOUBTS:])) if items[MAX_DOUBTS:] else None
    kind = "warnings" if items else "warnings none"
    title = el("h3", "Warnings", id="warnings-title")
    return el("aside", title, said, rest, id="warnings", class_=kind, aria_labelledby="warnings-title")


def _tiles(material: SearchMaterial) -> Markup:
    searches = search_names(material)
    tiles = [
        ("evaluations", fmt.count(len(material.events)), "genomes scored"),
        (
            "searches × replicates",
            f"{len(searches)} × {material.evolution.replicates}",
            ", ".join(searches),
        ),
        ("on the front", fmt.count(len(material.front)), "not dominated by another genome"),
        ("hypervolume", fmt.quantity(material.volume), "of that front"),
    ]
    if material.clocks:
        tiles.append(("CPU", fmt.seconds(total_cpu_s(material)), "training and grading"))
    drawn = (
        el("div", el("dt", name), el("dd", number), el("dd", what, class_="what")) for name, number, what in tiles
    )
    return el("dl", drawn, class_="tiles")


def _adapter(material: SearchMaterial) -> Child:
    followed = focus(material)
    if followed is None:
        return None
    _, event = followed
    stored = (("in PEFT's format", f"{BEST}/"),) if (material.folder / BEST).is_dir() else ()
    seen = ((name.replace("_", " "), fmt.quantity(v)) for name, v in event.evaluated.scores.facts.items())
    name = "Selected adapter" if material.chosen is not None else f"Best {material.headline} so far"
    return folded(
        f"{name}: genome {event.evaluated.genome.id}",
        facts(
            *described(event.evaluated.genome).items(),
            ("origin", event.evaluated.genome.origin),
            ("adapter SHA-256", f"{event.adapter_sha256[:16]}…"),
            *stored,
            *seen,
        ),
    )
