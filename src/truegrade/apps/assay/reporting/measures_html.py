"""The numbers of the page: the first lines, what they mean to a newcomer, classes of probes, J by problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from truegrade.apps.assay.measures import AcceptedShare, GraderMeasure, MeasuredValue, ProblemMeasure
from truegrade.apps.assay.reporting import words
from truegrade.apps.assay.reporting.material import AssayMaterial
from truegrade.apps.assay.reporting.text import class_cells, compared_cells
from truegrade.apps.assay.reporting.words import TERMS
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Axis, Chart, Margin, bottom_axis, pc
from truegrade.report.charts.svg_rows import DOT_ROW_PX, PHONE_LETTERS
from truegrade.report.glossary import explained
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import figure, folded, table

MAX_MEASURES = 12
"""Graders and benchmarks that the page shows in detail; the table of all names the others."""


def by_grader(material: AssayMaterial, make: Callable[[GraderMeasure], Child]) -> Child:
    """One part for each of the first graders: the first as it stands, the others folded under their names."""
    shown = material.summary.measures[:MAX_MEASURES]
    rest = [folded(words.title(measure), made) for measure in shown[1:] if (made := make(measure))]
    return [*map(make, shown[:1]), *rest]


def note(text: str) -> Markup:
    """A remark whose terms are explained."""
    return el("p", explained(text, TERMS), class_="note")


def headline_content(material: AssayMaterial) -> Child:
    """The most important sentence, TPR, FPR, J and forgeability; of several graders as a table."""
    measures = material.summary.measures
    first = [
        el("p", el("strong", f"{one.grader} on {one.benchmark}: {words.headline(one)}."), class_="prose")
        for one in measures[:MAX_MEASURES]
    ]
    if len(measures) == 1:
        notes = [el("p", line, class_="note") for line in (words.title(*measures), *words.notes(*measures))]
        return [first, _strip(*measures), notes]
    rows: list[list[Child]] = [
        [measure.grader, measure.benchmark, *(el("span", cell, class_="num") for cell in compared_cells(measure))]
        for measure in measures
    ]
    rates = [explained(name, TERMS) for name in ("TPR", "FPR", "J")]
    head: list[Child] = ["grader", "benchmark", *rates, "paid without solving"]
    more = len(measures) - MAX_MEASURES
    said = f"The sections below show the first {MAX_MEASURES}; {more} more are in summary.json."
    left_out = el("p", said, class_="note") if more > 0 else None
    return [first, table("Graders compared", head, rows), left_out]


def _strip(measure: GraderMeasure) -> Markup:
    right, fpr = measure.right, measure.fpr
    star = " *" if words.star(measure) else ""
    channels = words.listed("channels open", measure.open_channels)
    tried = f"{fmt.plural(measure.unearned.kinds, 'kind')} tried"
    tiles: list[tuple[str, str, str]] = [
        ("TPR: right programs accepted", words.rate(right.value if right else None), _ends(right)),
        ("FPR: wrong programs accepted", words.rate(fpr.value), _ends(fpr) + star),
        ("J = TPR - FPR", words.unit(measure.j.value), words.unit_interval(measure.j).partition(" ")[2]),
        ("paid without solving", words.paid_cell(measure), channels or tried),
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


def meaning_content(material: AssayMaterial) -> Child:
    """TPR, FPR, J and PPV in words, with this grader's numbers."""
    cure = "To correct the pass rate of a run, with an interval and with what the correction assumes: "
    return [
        by_grader(material, _meaning),
        el("p", words.CAVEAT, class_="prose"),
        el("p", cure, el("code", "truegrade assay verdicts RUN --corrected"), class_="prose"),
    ]


def _meaning(measure: GraderMeasure) -> Child:
    forgeable = words.forgeable(measure)
    said = (
        words.errors_in_words(measure),
        words.stands_for(measure, 0.6),
        words.passes_in_words(measure),
        f"Can a program be paid without solving anything? {forgeable[:1].upper()}{forgeable[1:]}.",
    )
    return [
        *(el("p", explained(sentence, TERMS), class_="prose") for sentence in said if sentence),
        _quoted(measure),
    ]


def _quoted(measure: GraderMeasure) -> Child:
    """Measured pass rates and what they stand for."""
    rates = words.correctable(measure)
    if rates is None:
        return None
    tpr, fpr = rates
    rows = []
    for rate in words.QUOTED:
        beyond = " (less than it accepts of wrong programs)" if rate < fpr else ""
        beyond = " (more than it accepts of right programs)" if rate > tpr else beyond
        rows.append([f"{100 * rate:.0f} %", f"{fmt.percent(words.corrected(rate, tpr, fpr))}{beyond}"])
    caption = f"If {measure.grader} errs on a model's answers as often as on these programs"
    return table(caption, ["pass@1 measured", "right programs"], rows, class_="numeric")


DRAWN = 25
"""Problems in a chart."""
LISTED = 200
"""Problems in the table under a chart."""


def classes_content(material: AssayMaterial) -> Child:
    """The share accepted of each class."""
    level = f"{100 * material.summary.confidence:g} % interval"
    said = (
        "Classes are not added up: mutants say how weak the tests are, cheats whether a verdict can be forged."
        " Intervals treat the probes of one problem as a cluster."
    )
    return [note(said), by_grader(material, lambda measure: _classes(measure, level))]


def _classes(measure: GraderMeasure, level: str) -> Child:
    rows = [_class_row(share, measure) for share in measure.shares]
    head: list[Child] = ["class", "accepted", "of", "rate", level, "problems hit", "undecided", "an error means"]
    return [
        table(words.title(measure), head, rows, class_="assay-classes"),
        *(el("p", line, class_="note") for line in (words.star(measure), words.no_verdict(measure)) if line),
        _operators(measure),
    ]


def _class_row(share: AcceptedShare, measure: GraderMeasure) -> list[Child]:
    name, *numbers, hit = class_cells(share)
    undecided = (
        f"{fmt.count(share.undecided)}, {fmt.count(share.undecided_accepted)} accepted" if share.undecided else "–"
    )
    return [
        [explained(name, TERMS), el("small", words.MADE[share.kind])],
        *(el("span", number, class_="num") for number in numbers),
        f"{hit} of {fmt.count(share.problems)}",
        undecided,
        words.acceptance(share, measure),
    ]


def _operators(measure: GraderMeasure) -> Child:
    """Which errors get through."""
    if not measure.operators:
        return None
    worst = sorted(measure.operators.items(), key=lambda entry: -entry[1][0] / max(1, entry[1][1]))
    rows = [
        [name, fmt.count(accepted), fmt.count(wrong), fmt.percent(accepted / wrong) if wrong else "–"]
        for name, (accepted, wrong) in worst
    ]
    whole = table(
        "Wrong programs by operator", ["operator", "accepted", "proven wrong", "rate"], rows, class_="numeric"
    )
    return folded("Wrong programs by operator", whole)


def problems_content(material: AssayMaterial) -> Child:
    """J of each problem with its interval, the worst first."""
    said = (
        "The intervals are those of the problem's FPR (Clopper and Pearson) at its measured TPR. They are wide,"
        " since a problem has few probes: the order is a place to start reading, not a finding. Doubtful are"
        " problems whose FPR lies above 0.2 after Holm's correction for their number."
    )
    ranked = any(_ranked(measure) for measure in material.summary.measures)
    return [note(said), by_grader(material, _problems)] if ranked else None


def _ranked(measure: GraderMeasure) -> list[ProblemMeasure]:
    """The lowest J first; of equal ones the highest shrunken FPR."""
    known = [one for one in measure.per_problem if one.j is not None]
    return sorted(known, key=lambda one: (one.j or 0.0, -(one.fpr_shrunken or 0.0)))


def _problems(measure: GraderMeasure) -> Child:
    ranked = _ranked(measure)
    if not ranked:
        return None
    errs = sum((one.j or 0.0) < 1 for one in ranked)
    doubtful = sum(one.doubtful for one in ranked)
    said = (
        f" errs on {fmt.count(errs)} of {fmt.plural(len(ranked), 'problem')}; doubtful: {fmt.count(doubtful)}."
        f" Drawn: the {fmt.count(min(DRAWN, len(ranked)))} with the lowest J."
    )
    chart = j_chart(ranked[:DRAWN], f"J by problem, {measure.grader}")
    return figure(chart, [el("b", measure.grader), said], _numbers(ranked))


def _numbers(ranked: Sequence[ProblemMeasure]) -> Markup:
    rows = [
        [
            one.problem_id,
            words.unit(one.j),
            f"{one.right_accepted} of {one.right}",
            f"{one.wrong_accepted} of {one.wrong}",
            f"{one.undecided_accepted} of {one.undecided}",
            fmt.bounds(one.fpr_low, one.fpr_high),
            words.rate(one.fpr_shrunken),
            "yes" if one.doubtful else "",
        ]
        for one in ranked[:LISTED]
    ]
    accepted: list[Child] = ["right accepted", "wrong accepted", "undecided accepted"]
    head: list[Child] = ["problem", "J", *accepted, "interval of FPR, %", "FPR, shrunken", "doubtful"]
    more = (
        f", the worst {LISTED} of {fmt.count(len(ranked))}; all are in summary.json"
        if len(ranked) > LISTED
        else ""
    )
    return table(f"Problems{more}", head, rows, class_="numeric")


def j_chart(rows: Sequence[ProblemMeasure], name: str) -> Chart:
    """J and interval of problems, at least one and each with J, one below the other, on an axis that ends at 1."""
    ends = [(one, one.j or 0.0, *_j_interval(one)) for one in rows]
    low = min(0.0, *(low for _, _, low, _ in ends))
    bottom = 0.0 if low >= 0 else -0.5 if low >= -0.5 else -1.0
    shown = (0.0, 0.25, 0.5, 0.75, 1.0) if bottom == 0 else (-1.0, -0.5, 0.0, 0.5, 1.0)
    ticks = tuple((tick, f"{tick:g}") for tick in shown if tick >= bottom)
    axis, height = Axis(low=bottom, high=1.0, ticks=ticks), DOT_ROW_PX * len(rows)
    body = [*bottom_axis(axis, height)]
    told = []
    for place, (one, j, left, right) in enumerate(ends):
        middle = place * DOT_ROW_PX + DOT_ROW_PX - 12
        told.append(f"{one.problem_id} {words.unit(j)} [{left:.2f}, {right:.2f}]")
        band = {"x": pc(axis.place(left)), "width": pc(axis.place(right) - axis.place(left)), "y": middle - 4}
        colour = "s1" if one.doubtful else "s0"
        body += [
            el("line", class_="axis", x1="0%", x2="100%", y1=middle, y2=middle),
            _label(one, middle - 13),
            el("rect", class_=f"band {colour}", height=8, rx=4, **band),
            el("circle", el("title", told[-1]), class_=f"dot {colour}", cx=pc(axis.place(j)), cy=middle, r=5.5),
        ]
    return Chart(
        name=name, description="; ".join(told), body=Markup("".join(body)), height=height, margin=Margin(left=18)
    )


def _j_interval(one: ProblemMeasure) -> tuple[float, float]:
    """J at the ends of the interval of FPR."""
    j = one.j or 0.0
    if one.fpr_low is None or one.fpr_high is None or not one.wrong:
        return j, j
    tpr = j + one.wrong_accepted / one.wrong
    return tpr - one.fpr_high, tpr - one.fpr_low


def _label(one: ProblemMeasure, y: int) -> Markup:
    room = PHONE_LETTERS - 16
    name = one.problem_id if len(one.problem_id) <= room else f"{one.problem_id[: room - 9]}…{one.problem_id[-8:]}"
    doubtful = " doubtful" if one.doubtful else ""
    value = el("tspan", f"{words.unit(one.j)}{doubtful}", class_="strong", dx=7)
    return el("text", name, value, class_="name", x=0, dx=2, y=y)
