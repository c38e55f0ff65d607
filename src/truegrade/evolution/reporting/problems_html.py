"""Problem by problem: base, selected and best baseline, one column of cells each."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from truegrade.evolution.reporting.lineage import focus
from truegrade.evolution.reporting.search_comparison import Shares, best_baseline, contenders, differences
from truegrade.evolution.reporting.search_material import SearchMaterial
from truegrade.report import format as fmt
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import folded, section, table


class Contestant(msgspec.Struct, frozen=True):
    """One row of cells."""

    name: str
    shares: Shares


class Group(msgspec.Struct, frozen=True):
    """Problems of a kind."""

    name: str
    problems: tuple[str, ...]


def problems_section(material: SearchMaterial) -> Markup:
    """The section of the page; empty before the first full evaluation."""
    final = material.final
    if final is None or material.chosen is None:
        return _while_searching(material)
    rows = _contestants(material)
    roles = material.evolution.roles
    return section(
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


def _while_searching(material: SearchMaterial) -> Markup:
    """The selection problems, by which choices are made: the only ones seen so far."""
    followed, base, name = focus(material), material.anchor("base"), material.headline
    if followed is None or base is None:
        return Markup()
    rows = [
        Contestant(words, {problem: scores[name] for problem, scores in of.problems.items() if name in scores})
        for words, of in (("base", base.scores), (f"best {name} so far", followed[1].evaluated.scores))
    ]
    said = (
        f"One column per selection problem, from the top: {_said(rows)}. Genomes are selected by these problems,"
        f" so gains are optimistic. Cells show the objective {name}."
    )
    drawn = _map("Selection problems", rows, material.evolution.roles.get("selection", ()))
    return section("problems", "Results by problem", el("p", said, class_="note"), drawn, _scale())


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
