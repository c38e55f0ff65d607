"""Problem by problem: base, selected and best baseline, one column of cells each."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from truegrade.apps.evolve.reporting import verdict as phrases
from truegrade.apps.evolve.reporting.search_html import focus
from truegrade.apps.evolve.reporting.search_material import SearchMaterial
from truegrade.apps.evolve.reporting.verdict import Shares, best_baseline, contenders, differences
from truegrade.apps.evolve.roles import CONTAINED, Overlap
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart, dash
from truegrade.report.charts.svg_lines import ParallelLine, parallel
from truegrade.report.document import Section
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import drawn_section, figure, folded, table


class Contestant(msgspec.Struct, frozen=True):
    """One row of cells."""

    name: str
    shares: Shares


class Group(msgspec.Struct, frozen=True):
    """Problems of a kind."""

    name: str
    problems: tuple[str, ...]


def problems_section(material: SearchMaterial) -> Section | None:
    """The section of the page; empty before the first full evaluation."""
    final = material.final
    if final is None or material.chosen is None:
        return _while_searching(material)
    rows = _contestants(material)
    roles = material.evolution.roles
    return drawn_section(
        "problems",
        "Results by problem",
        el(
            "p",
            f"One column per problem, from the top: {_said(rows)}. Cells show the share of samples that pass.",
            class_="note",
        ),
        _map("Final problems", rows, roles.get("final", ())),
        _map("Forgetting: problems of the kinds that the base was trained on", rows, roles.get("forgetting", ())),
        _scale(),
        menu="Problems",
    )


def grouped(base: Shares, selected: Shares, problems: Sequence[str]) -> list[Group]:
    """Problems by what the adapter did to them, those without an answer of both left out."""
    gains = differences(base, selected, problems)
    return [
        Group("gained", tuple(name for name, gain in gains.items() if gain > 0)),
        Group("lost", tuple(name for name, gain in gains.items() if gain < 0)),
        Group(
            "unchanged, solved at least once",
            tuple(name for name, gain in gains.items() if gain == 0 < base[name]),
        ),
        Group("unchanged, never solved", tuple(name for name, gain in gains.items() if gain == 0 == base[name])),
    ]


def _contestants(material: SearchMaterial) -> list[Contestant]:
    final, chosen = material.final, material.chosen
    assert final is not None and chosen is not None
    rows = [Contestant("base", final.base_passed), Contestant(f"selected ({chosen.search})", chosen.passed)]
    best = best_baseline(contenders(material))
    if best is not None:
        rows.append(Contestant(f"best baseline ({best.search})", best.passed))
    return rows


def _while_searching(material: SearchMaterial) -> Section | None:
    """The selection problems, by which choices are made: the only ones seen so far."""
    followed, base, name = focus(material), material.anchor("base"), material.headline
    if followed is None or base is None:
        return None
    rows = [
        Contestant(words, {problem: scores[name] for problem, scores in of.problems.items() if name in scores})
        for words, of in (("base", base.scores), (f"best {name} so far", followed[1].evaluated.scores))
    ]
    said = (
        f"One column per selection problem, from the top: {_said(rows)}. Genomes are selected by these problems,"
        f" so gains are optimistic. Cells show the objective {name}."
    )
    drawn = _map("Selection problems", rows, material.evolution.roles.get("selection", ()))
    return drawn_section(
        "problems", "Results by problem", el("p", said, class_="note"), drawn, _scale(), menu="Problems"
    )


def _map(title: str, rows: Sequence[Contestant], problems: Sequence[str]) -> Child:
    groups = [group for group in grouped(rows[0].shares, rows[1].shares, problems) if group.problems]
    if not groups:
        return None
    counted = ", ".join(f"{group.name} {len(group.problems)}" for group in groups)
    drawn = (
        el(
            "div",
            el("h3", f"{group.name}: {fmt.count(len(group.problems))}"),
            el("div", (_column(name, rows) for name in group.problems), class_="columns"),
        )
        for group in groups
    )
    numbers = [
        [name, *("–" if name not in row.shares else f"{row.shares[name]:.2f}" for row in rows)]
        for group in groups
        for name in group.problems
    ]
    head: list[Child] = ["problem", *(row.name for row in rows)]
    return el(
        "figure",
        el("figcaption", el("b", title)),
        el("div", drawn, class_="groups", role="img", aria_label=f"{title}: {counted}"),
        folded("The same as a table", table(title, head, numbers, class_="numeric")),
    )


def _column(name: str, rows: Sequence[Contestant]) -> Markup:
    shares = [row.shares.get(name) for row in rows]
    words = ", ".join(
        f"{row.name} {'not known' if share is None else fmt.percent(share)}"
        for row, share in zip(rows, shares, strict=True)
    )
    cells = (
        el("i", class_="none") if share is None else el("i", style=f"--p:{100 * min(1.0, max(0.0, share)):.0f}")
        for share in shares
    )
    return el("span", cells, title=f"{name}: {words}")


def _scale() -> Markup:
    return el("p", "never passes ", el("span", class_="ramp", aria_hidden="true"), " always passes", class_="note")


def _said(rows: Sequence[Contestant]) -> str:
    return ", ".join(row.name for row in rows)


# ----------------------- The splits: the role of each problem, and overlap between training and test problems.


MAX_NEAR = 100
"""Near duplicates listed."""


def apart_section(material: SearchMaterial) -> Section | None:
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
    return drawn_section(
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


# ------------------------------------- Profiles of objectives: what a genome gains in one and pays in another.


_COLOURS = {"base": "s5", "identity": "s4", "stub": "s3", "reference": "s2"}


def objectives_section(material: SearchMaterial) -> Section | None:
    """The section of the page; empty before the first full evaluation."""
    chart = profiles_chart(material)
    if chart is None:
        return None
    caption = [
        el("b", "Objectives side by side."),
        " Each axis runs from the worst to the best value shown; higher is better. Thin lines are the front.",
    ]
    same = f"Omitted, because all genomes are equal: {', '.join(material.constant)}."
    note = el("p", same, class_="note") if material.constant else None
    return drawn_section("objectives", "Objectives", figure(chart, caption, _table(material)), note)


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
