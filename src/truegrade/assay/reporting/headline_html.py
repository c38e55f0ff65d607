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
    """TPR, FPR, J and open channels; of several graders as a table."""
    measures = material.summary.measures
    if len(measures) == 1:
        return section("result", "Result", _strip(measures[0]), _notes(measures[0]))
    rows: list[list[Child]] = [
        [measure.grader, measure.benchmark, *(el("span", cell, class_="num") for cell in compared_cells(measure))]
        for measure in measures
    ]
    head: list[Child] = [
        "grader",
        "benchmark",
        *(explained(name, TERMS) for name in ("TPR", "FPR", "J")),
        "channels open",
    ]
    return section("result", "Result", table("Graders compared", head, rows), _left_out(measures))


def _strip(measure: GraderMeasure) -> Markup:
    right, fpr = words.share_of(measure, "right"), measure.fpr
    sent = sum(channel.probes > 0 for channel in measure.channels)
    star = " *" if words.star(measure) else ""
    tiles: list[tuple[str, str, str]] = [
        ("TPR: right programs accepted", words.rate(right.value if right else None), _ends(right)),
        ("FPR: wrong programs accepted", words.rate(fpr.value), _ends(fpr) + star),
        ("J = TPR - FPR", words.unit(measure.j.value), words.unit_interval(measure.j).partition(" ")[2]),
        ("channels open to cheats", f"{len(measure.forgeable)} of {sent}" if sent else "–", _through(measure)),
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
    if not measure.forgeable:
        return "no cheat that was sent was accepted through one" if measure.channels else "no cheat was sent"
    return ", ".join(measure.forgeable)


def _notes(measure: GraderMeasure) -> Child:
    said = (words.star, words.references_refused, words.no_verdict, words.mean_scores, words.partial_credit)
    lines = (words.title(measure), *(sentence(measure) for sentence in (*said, words.by_form)))
    return [el("p", line, class_="note") for line in lines if line]


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
