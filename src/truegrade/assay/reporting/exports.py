"""The tables of an assay as Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from truegrade.assay.folder import open_assay
from truegrade.assay.measures import AcceptedShare, AssaySummary, GraderMeasure, MeasuredValue
from truegrade.assay.reporting import words
from truegrade.errors import UnknownName
from truegrade.records import Estimate
from truegrade.report.exhibit_text import TEXTS
from truegrade.report.exhibits import Cell, Exhibit, LongText
from truegrade.report.export import make_folder
from truegrade.store.manifest import write_atomically


def export_assay(folder: str | Path, file_format: str = "markdown", out: str | Path | None = None) -> list[Path]:
    """Write the tables of a finished assay, a file each, and return their paths.

    Args:
        folder: of the assay.
        file_format: ``markdown``, ``latex`` or ``csv``.
        out: the folder of the files; None for ``tables`` in that of the assay.

    Raises:
        UnknownName: no such format.
        UserError: ``folder`` holds no finished assay, or ``out`` cannot be made.
    """
    return write_tables(open_assay(Path(folder)).summary(), file_format, Path(out or Path(folder) / "tables"))


def write_tables(summary: AssaySummary, file_format: str, place: Path) -> list[Path]:
    """Write the tables of a summary into a folder; otherwise as `export_assay`."""
    if file_format not in TEXTS:
        raise UnknownName("format of a table", file_format, TEXTS)
    ending, write = TEXTS[file_format]
    make_folder(place)
    paths = []
    for exhibit in assay_exhibits(summary):
        paths.append(place / f"{exhibit.slug}{ending}")
        write_atomically(paths[-1], write(exhibit).encode())
    return paths


def assay_exhibits(summary: AssaySummary) -> list[Exhibit]:
    """Graders, classes, channels, shortest programs, operators and problems, as far as there are any."""
    made = (_graders, _classes, _channels, _shortest, _operators, _problems)
    return [exhibit for make in made if (exhibit := make(summary)).rows]


def _graders(summary: AssaySummary) -> Exhibit:
    bases = dict.fromkeys(base for measure in summary.measures for base in measure.ppv)
    head = ("grader", "benchmark", "problems", "TPR", "FPR", "J", "J interval", "forgeable", "open channels")
    rows: list[list[Cell]] = [
        [
            measure.grader,
            measure.benchmark,
            measure.problems,
            _share(words.share_of(measure, "right"), summary),
            _value("FPR", measure.fpr, summary, measure),
            words.unit(measure.j.value),
            "" if measure.j.value is None else words.unit_interval(measure.j).partition(" ")[2],
            words.paid_cell(measure),
            ", ".join(measure.open_channels) or "none",
            *(
                _value("PPV", value, summary, measure) if (value := measure.ppv.get(base)) else None
                for base in bases
            ),
        ]
        for measure in summary.measures
    ]
    caption = f"Error rates of graders, with {100 * summary.confidence:g} % intervals by problem"
    return Exhibit(slug="graders", caption=caption, head=(*head, *(f"PPV at {base}" for base in bases)), rows=rows)


def _classes(summary: AssaySummary) -> Exhibit:
    head = ("grader", "benchmark", "class", "accepted", "of", "rate", "rate, undecided wrong", "problems hit")
    rows: list[list[Cell]] = [
        [
            *(measure.grader, measure.benchmark, words.NAMES[share.kind], share.accepted, share.probes),
            _share(share, summary),
            None if share.upper is None else words.rate(share.upper),
            share.problems_hit,
        ]
        for measure, share in _shares(summary)
    ]
    return Exhibit(slug="classes", caption="Programs accepted by class", head=head, rows=rows)


def _shares(summary: AssaySummary) -> Iterator[tuple[GraderMeasure, AcceptedShare]]:
    return ((measure, share) for measure in summary.measures for share in measure.shares)


def _channels(summary: AssaySummary) -> Exhibit:
    head = ("grader", "benchmark", "channel", "danger", "state", "accepted", "of", "twins accepted", "stays")
    rows: list[list[Cell]] = [
        [
            *(measure.grader, measure.benchmark, one.channel, one.danger),
            "open" if one.open else "closed" if one.probes else "not sent",
            *(one.accepted, one.probes, one.inert_accepted, one.stays),
        ]
        for measure in summary.measures
        for one in measure.channels
    ]
    return Exhibit(slug="channels", caption="Cheats accepted by channel", head=head, rows=rows)


def _shortest(summary: AssaySummary) -> Exhibit:
    head = ("grader", "benchmark", "finding", "how it works", "problem", "paid", "program", "what closes it")
    rows: list[list[Cell]] = [
        [
            *(measure.grader, measure.benchmark, one.finding, one.how or None, one.problem_id, one.pay),
            *(LongText(f"{one.origin} ({one.probe})", one.code), one.closes),
        ]
        for measure in summary.measures
        for one in measure.shortest
    ]
    return Exhibit(slug="shortest", caption="Shortest programs paid wrongly", head=head, rows=rows)


def _operators(summary: AssaySummary) -> Exhibit:
    head = ("grader", "benchmark", "operator", "accepted", "proven wrong")
    rows: list[list[Cell]] = [
        [measure.grader, measure.benchmark, name, *counted]
        for measure in summary.measures
        for name, counted in measure.operators.items()
    ]
    return Exhibit(slug="operators", caption="Wrong programs accepted by operator", head=head, rows=rows)


def _problems(summary: AssaySummary) -> Exhibit:
    counts = ("right accepted", "right", "wrong accepted", "wrong", "undecided")
    head = ("grader", "benchmark", "problem", "J", *counts, "FPR shrunken", "doubtful")
    rows: list[list[Cell]] = [
        [
            *(measure.grader, measure.benchmark, one.problem_id, words.unit(one.j)),
            *(one.right_accepted, one.right, one.wrong_accepted, one.wrong, one.undecided),
            one.fpr_shrunken,
            "yes" if one.doubtful else "no",
        ]
        for measure in summary.measures
        for one in measure.per_problem
    ]
    return Exhibit(slug="problems", caption="J by problem", head=head, rows=rows)


def _share(share: AcceptedShare | None, summary: AssaySummary) -> Estimate | None:
    if share is None or share.value is None:
        return None
    return Estimate(
        metric=share.kind,
        value=share.value,
        low=share.low,
        high=share.high,
        confidence=summary.confidence,
        method=share.method,
        samples=share.probes,
        tasks=share.problems,
        clusters=share.problems,
    )


def _value(name: str, value: MeasuredValue, summary: AssaySummary, measure: GraderMeasure) -> Estimate | None:
    if value.value is None:
        return None
    return Estimate(
        metric=name,
        value=value.value,
        low=value.low,
        high=value.high,
        confidence=summary.confidence,
        method=value.method,
        samples=measure.probes,
        tasks=measure.problems,
        clusters=measure.problems,
    )
