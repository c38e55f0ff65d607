"""The splits: the role of each problem, and overlap between training and test problems."""

from __future__ import annotations

from truegrade.evolution.contamination import CONTAINED, Overlap
from truegrade.evolution.reporting import phrases
from truegrade.evolution.reporting.search_material import SearchMaterial
from truegrade.report import format as fmt
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import folded, section, table

MAX_NEAR = 100
"""Near duplicates listed."""


def apart_section(material: SearchMaterial) -> Markup:
    """The section of the page."""
    report = material.evolution.contamination
    refused, near = (fmt.count(len(pairs)) if pairs else "none" for pairs in (report.refused, report.near))
    words = [
        f"{fmt.plural(report.pairs, 'pair')} of a training and a test problem were compared.",
        f"Pairs that share a name or a program: {refused}.",
        f"Near duplicates (at least {100 * CONTAINED:.0f} % of n-grams shared, names normalised): {near}.",
    ]
    if report.closest is not None:
        most = report.closest
        alike = f"{most.trained} and {most.tested}, Jaccard similarity {most.jaccard:.2f} of their 6-grams"
        words.append(f"The most similar pair: {alike}.")
    compared = el("p", " ".join(words), class_="prose")
    return section(
        "apart", "Splits", _roles(material), _notes(material), compared, _near(material), _looks(material)
    )


def _roles(material: SearchMaterial) -> Markup:
    rows: list[list[Child]] = [
        [join(role, el("small", phrases.ROLES.get(role, ""))), fmt.count(len(problems)), _ids(problems)]
        for role, problems in material.evolution.roles.items()
    ]
    return table("Roles of the problems", ["role", "problems", "which"], rows)


def _notes(material: SearchMaterial) -> Child:
    notes = material.evolution.notes
    return el("ul", (el("li", note) for note in notes), class_="note") if notes else None


def _ids(problems: tuple[str, ...]) -> Child:
    if not problems:
        return "none"
    return folded(f"{problems[0]} …", el("p", ", ".join(problems), class_="note"))


def _near(material: SearchMaterial) -> Child:
    report = material.evolution.contamination
    pairs = (*report.refused, *report.near)
    if not pairs:
        return None
    more = f" The first {MAX_NEAR} of {fmt.count(len(pairs))}." if len(pairs) > MAX_NEAR else ""
    caption = f"Pairs that share a name, a program or n-grams.{more}"
    rows = list(map(_pair, pairs[:MAX_NEAR]))
    head = ["training", "test", "shared", "share of the test problem", "Jaccard"]
    return folded(f"{fmt.plural(len(pairs), 'pair')} in detail", table(caption, head, rows))


def _pair(pair: Overlap) -> list[Child]:
    return [pair.trained, pair.tested, pair.kind, fmt.percent(pair.share), f"{pair.jaccard:.2f}"]


def _looks(material: SearchMaterial) -> Markup:
    if not material.looks:
        return el("p", "The final problems have not been evaluated.", class_="note")
    listed = ", ".join(f"number {look.number} on {look.created[:10]}" for look in material.looks)
    return el("p", f"Evaluations of the final problems from this folder: {listed}.", class_="note")
