"""Hypervolume over budget, for every search."""

from __future__ import annotations

from collections.abc import Sequence

from truegrade.evolution.reporting.budgets import Budgeted, by_cpu_s, by_evaluations, cached, total_cpu_s, untimed
from truegrade.evolution.reporting.search_material import SearchMaterial
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart, number_axis
from truegrade.report.charts.svg_steps import Steps, step_lines
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import figure, section, table


def budget_section(material: SearchMaterial) -> Markup:
    """The section of the page; empty before the first evaluation."""
    found = by_evaluations(material)
    if not found:
        return Markup()
    timed = by_cpu_s(material)
    figures = [figure(budget_chart(found, "evaluations"), el("b", "By evaluations"), _table(found, "evaluations"))]
    if timed:
        caption = [el("b", "By CPU seconds."), f" {_timing(material)}"]
        figures.append(figure(budget_chart(timed, "CPU seconds"), caption, _table(timed, "CPU seconds")))
    point = ", ".join(f"{name} {fmt.quantity(v)}" for name, v in material.evolution.reference_point.items())
    words = (
        "Hypervolume is the volume of objective space that the front dominates, above the reference point"
        f" ({point}), which was fixed before the search. Only full evaluations count."
    )
    return section(
        "budget", "Hypervolume by budget", el("p", words, class_="note"), el("div", figures, class_="pair")
    )


def budget_chart(found: Sequence[Budgeted], unit: str) -> Chart:
    """A step line for every search; shaded: from the least to the greatest of its replicates."""
    drawn = [Steps(name=one.search, x=one.budget, y=one.mean, low=one.low, high=one.high) for one in found]
    x = number_axis(0.0, max(one.budget[-1] for one in found), unit)
    y = number_axis(0.0, max(max(one.high) for one in found), "hypervolume")
    banded = max(one.replicates for one in found) > 1
    words = "; shaded: all replicates" if banded else ""
    return step_lines(drawn, x, y, f"Hypervolume over {unit}{words}")


def _timing(material: SearchMaterial) -> str:
    reused, unknown = cached(material), len(untimed(material))
    words = [f"{fmt.seconds(total_cpu_s(material))} of CPU time in total."]
    if reused:
        found = fmt.plural(reused, "evaluation")
        words.append(f"{found} reused a trained adapter, and are charged the cost of its training.")
    if unknown:
        words.append(
            f"{fmt.plural(unknown, 'evaluation')} without a recorded time (interrupted) are charged the mean."
        )
    return " ".join(words)


def _table(found: Sequence[Budgeted], unit: str) -> Markup:
    rows: list[list[Child]] = [
        [
            one.search,
            fmt.count(one.replicates),
            fmt.quantity(one.budget[-1]),
            el("data", f"{one.mean[-1]:.6g}", value=repr(one.mean[-1])),
            f"{one.low[-1]:.6g} to {one.high[-1]:.6g}",
        ]
        for one in found
    ]
    head = ["search", "replicates", unit, "hypervolume, mean", "range over replicates"]
    return table("At the largest budget that all replicates have spent", head, rows, class_="numeric")
