"""The final report: the search, its baselines and the base on problems not used for selection."""

from __future__ import annotations

from collections.abc import Sequence

from truegrade.evolution.events import Final, PassRateDifference, SelectedGenome
from truegrade.evolution.reporting.front_html import search_names
from truegrade.evolution.reporting.search_comparison import (
    SearchReplicates,
    base_on_selection,
    contenders,
    flattery,
)
from truegrade.evolution.reporting.search_material import SearchMaterial
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart, inline
from truegrade.report.charts.svg_dots import DotRow, difference_rows, dot_range
from truegrade.report.charts.svg_dumbbells import Dumbbell, dumbbells
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import figure, section, table

COSTS = ("k tokens", "CPU s", "problems seen")


def final_section(material: SearchMaterial) -> Markup:
    """The section of the page; empty before the final report."""
    final, found = material.final, contenders(material)
    if final is None or not found:
        return Markup()
    look = "once" if final.look == 1 else f"{final.look} times; this is evaluation {final.look}"
    corrected = "" if final.look == 1 else f", corrected for {final.look} evaluations by Bonferroni's rule"
    words = (
        f"{fmt.plural(final.base.tasks, 'problem')}, evaluated {look}. {final.rule.rstrip('.')}."
        f" {100 * final.base.confidence:.4g} % confidence intervals ({final.base.method}){corrected}."
    )
    return section(
        "final",
        "Final comparison",
        el("p", words, class_="note"),
        el("figure", el("figcaption", el("b", "Pass rate on the final problems")), inline(rates_chart(material))),
        _comparison(final, found),
        _fresh(material, final, found),
        _forgetting(found),
    )


def rates_chart(material: SearchMaterial) -> Chart:
    """The base and every replicate of every search, with intervals."""
    final, names = material.final, search_names(material)
    assert final is not None
    rows = [DotRow("base", final.base, 5)]
    for one in contenders(material):
        rows += [DotRow(label(s, one), s.final, names.index(s.search)) for s in one.selected]
    return dot_range(rows, "Pass rate on the final problems", zoomed=True)


def label(selected: SelectedGenome, among: SearchReplicates) -> str:
    """A search's name, and which replicate where there are several."""
    return selected.search if len(among.selected) == 1 else f"{selected.search} #{selected.replicate + 1}"


def _comparison(final: Final, found: Sequence[SearchReplicates]) -> Markup:
    """A row for the base and for every search and replicate; a search's first row compares it with ours."""
    rows: list[list[Child]] = [["base", fmt.estimate(final.base), *["–"] * 8]]
    for one in found:
        for place, selected in enumerate(one.selected):
            gains = change(selected.against_base), change(selected.forgetting)
            rows.append(
                [
                    label(selected, one),
                    fmt.estimate(selected.final),
                    *gains,
                    *_contest(one, first=place == 0),
                    *costs(one, first=place == 0),
                ]
            )
    ours = found[0].search
    head = [
        "",
        "final",
        "minus base",
        "forgetting",
        f"{ours} minus this",
        "problems better : worse",
        "replicates better : worse",
        *COSTS,
    ]
    note = (
        f"Differences in percentage points. Three columns compare {ours} with each search, on means over"
        " replicates; p is from the sign test over replicates. Tokens are those learned and generated, CPU seconds"
        " those of training and generation, both means over replicates; problems seen are those learned from,"
        " asked or selected by."
    )
    return join(el("p", note, class_="note"), table("Final comparison", head, rows, class_="lasting"))


def costs(one: SearchReplicates, *, first: bool) -> list[str]:
    """What a search took, in its first row."""
    if not first:
        return ["–"] * len(COSTS)
    cpu_s = "–" if one.cost.cpu_s is None else fmt.quantity(one.cost.cpu_s)
    return [f"{one.cost.tokens / 1000:.0f}", cpu_s, fmt.count(one.cost.seen)]


def _contest(one: SearchReplicates, *, first: bool) -> list[str]:
    if one.contest is None or not first:
        return ["–"] * 3
    replicates = f"{one.contest.wins} : {one.contest.losses}, p = {one.contest.sign_p:.2g}"
    return [change(one.contest.difference), f"{one.won} : {one.lost}", replicates]


def _fresh(material: SearchMaterial, final: Final, found: Sequence[SearchReplicates]) -> Markup:
    """Pass rates on selection and on final problems: the selection bias."""
    rate = base_on_selection(material)
    drawn = [] if rate is None else [Dumbbell(name="base, not selected", before=rate, after=final.base.value)]
    flattered: list[PassRateDifference | None] = [None] * len(drawn)
    for one in found:
        for selected in one.selected:
            drawn.append(
                Dumbbell(name=label(selected, one), before=selected.selection, after=selected.final.value)
            )
            flattered.append(flattery(selected, material))
    rows: list[list[Child]] = [
        [
            row.name,
            fmt.percent(row.before),
            fmt.percent(row.after),
            fmt.points(row.after - row.before),
            "–" if bias is None else change(bias),
        ]
        for row, bias in zip(drawn, flattered, strict=True)
    ]
    head = ["", "selection problems", "final problems", "difference, points", "selection flatters by, points"]
    caption = [
        el("b", "Selection and final problems."),
        " The score by which a genome was selected is biased upwards (winner's curse). ",
        "The base was not selected: its difference is that of the problems, and is taken off what selection adds;",
        " the interval is that of the final problems.",
    ]
    chart = dumbbells(drawn, "Selection and final problems", "selection problems", "final problems")
    return figure(chart, caption, table("Pass rates", head, rows, class_="numeric"))


def _forgetting(found: Sequence[SearchReplicates]) -> Child:
    rows = [
        (label(selected, one), lost.value, lost.low, lost.high)
        for one in found
        for selected in one.selected
        if (lost := selected.forgetting) is not None
    ]
    if not rows:
        return el("p", "Forgetting was not measured.", class_="note")
    caption = [
        el("b", "Forgetting."),
        " Difference from the base on problems of the kinds that it was trained on; negative values are losses.",
    ]
    return el("figure", el("figcaption", caption), inline(difference_rows(rows, "Forgetting, in points")))


def change(difference: PassRateDifference | None) -> str:
    """Points with their interval; a dash where nothing was measured."""
    if difference is None:
        return "–"
    return f"{fmt.points(difference.value)} {fmt.bounds(difference.low, difference.high)}"
