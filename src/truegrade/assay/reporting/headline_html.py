"""The first two sections: the numbers, and what they mean to someone who meets them for the first time."""

from __future__ import annotations

from collections.abc import Sequence

from truegrade.assay.measures import AcceptedShare, GraderMeasure, MeasuredValue
from truegrade.assay.reporting import words
from truegrade.assay.reporting.by_grader import MAX_MEASURES, by_grader
from truegrade.assay.reporting.material import AssayMaterial
from truegrade.assay.reporting.terms import TERMS
from truegrade.assay.reporting.text import compared_cells
from truegrade.report import format as fmt
from truegrade.report.glossary import explained
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import section, table


def headline_section(material: AssayMaterial) -> Markup:
    """The most important sentence, TPR, FPR, J and forgeability; of several graders as a table."""
    measures = material.summary.measures
    first = [
        el("p", el("strong", f"{one.grader} on {one.benchmark}: {words.headline(one)}."), class_="prose")
        for one in measures[:MAX_MEASURES]
    ]
    if len(measures) == 1:
        return section("result", "Result", first, _strip(measures[0]), _notes(measures[0]))
    rows: list[list[Child]] = [
        [measure.grader, measure.benchmark, *(el("span", cell, class_="num") for cell in compared_cells(measure))]
        for measure in measures
    ]
    head: list[Child] = [
        "grader",
        "benchmark",
        *(explained(name, TERMS) for name in ("TPR", "FPR", "J")),
        "paid without solving",
    ]
    return section("result", "Result", first, table("Graders compared", head, rows), _left_out(measures))


def _strip(measure: GraderMeasure) -> Markup:
    right, fpr = measure.right, measure.fpr
    star = " *" if words.star(measure) else ""
    tiles: list[tuple[str, str, str]] = [
        ("TPR: right programs accepted", words.rate(right.value if right else None), _ends(right)),
        ("FPR: wrong programs accepted", words.rate(fpr.value), _ends(fpr) + star),
        ("J = TPR - FPR", words.unit(measure.j.value), words.unit_interval(measure.j).partition(" ")[2]),
        ("paid without solving", words.paid_cell(measure), _through(measure)),
    ]
    tiles += [
        (f"PPV at base rate {base}", words.rate(value.value), _ends(value))
        for base, value in measure.ppv.items()
        if value.value is not None
    ]
    return el(
        "dl",
        (
            el("div", el("dt", explained(name, TERMS)), el("dd", value), el("dd", what, class_="what"))
            for name, value, what in tiles
        ),
        class_="tiles",
    )


def _ends(value: AcceptedShare | MeasuredValue | None) -> str:
    return "not measured" if value is None or value.value is None else fmt.bounds(value.low, value.high)


def _through(measure: GraderMeasure) -> str:
    through = f"channels open: {', '.join(measure.open_channels)}" if measure.open_channels else ""
    return through or f"{fmt.plural(measure.unearned.kinds, 'kind')} tried"


def _notes(measure: GraderMeasure) -> Child:
    return [el("p", line, class_="note") for line in (words.title(measure), *words.notes(measure))]


def _left_out(measures: Sequence[GraderMeasure]) -> Child:
    if len(measures) <= MAX_MEASURES:
        return None
    more = len(measures) - MAX_MEASURES
    return el(
        "p", f"The sections below show the first {MAX_MEASURES}; {more} more are in summary.json.", class_="note"
    )


def meaning_section(material: AssayMaterial) -> Markup:
    """TPR, FPR, J and PPV in words, with this grader's numbers."""
    return section(
        "meaning",
        "What the numbers mean",
        by_grader(material, _meaning),
        el("p", words.CAVEAT, class_="prose"),
        el(
            "p",
            "To correct the pass rate of a run, with an interval and with what the correction assumes: ",
            el("code", "truegrade assay verdicts RUN --corrected"),
            class_="prose",
        ),
    )


def _meaning(measure: GraderMeasure) -> Child:
    said = (
        words.errors_in_words(measure),
        words.stands_for(measure, 0.6),
        words.passes_in_words(measure),
        f"Can a program be paid without solving anything? {_begin(words.forgeable(measure))}.",
    )
    return [
        *(el("p", explained(sentence, TERMS), class_="prose") for sentence in said if sentence),
        _quoted(measure),
    ]


def _begin(text: str) -> str:
    return text[:1].upper() + text[1:]


def _quoted(measure: GraderMeasure) -> Child:
    """Measured pass rates and what they stand for."""
    rates = words.correctable(measure)
    if rates is None:
        return None
    tpr, fpr = rates
    rows = [[f"{100 * rate:.0f} %", _true(rate, tpr, fpr)] for rate in words.QUOTED]
    caption = f"If {measure.grader} errs on a model's answers as often as on these programs"
    return table(caption, ["pass@1 measured", "right programs"], rows, class_="numeric")


def _true(measured: float, tpr: float, fpr: float) -> str:
    true = fmt.percent(words.corrected(measured, tpr, fpr))
    if measured < fpr:
        return f"{true} (less than it accepts of wrong programs)"
    return f"{true} (more than it accepts of right programs)" if measured > tpr else true
