"""An assay on the terminal: a block for each grader and benchmark, and what was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import indent
from typing import TYPE_CHECKING

from truegrade.assay.measures import AcceptedShare, AssaySummary, GraderMeasure
from truegrade.assay.records import AssayFinding
from truegrade.assay.reporting import words
from truegrade.report import format as fmt
from truegrade.report.tables import open_console, plain_table, row

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SHORT_LINES = 4
"""Of a program that the terminal shows in full."""


def print_assay(
    summary: AssaySummary,
    findings: Iterable[AssayFinding] = (),
    *,
    folder: str,
    page: str = "",
    console: Console | None = None,
) -> None:
    """Print what an assay concludes.

    Args:
        summary: of the assay; with several graders or benchmarks a table of all comes first.
        findings: of each code the first is told.
        folder: of the assay.
        page: its page; empty where none was written.
        console: where to print; None for standard output.
    """
    from rich.text import Text

    out = open_console(console)
    for measure in summary.measures:
        out.print(Text(f"{measure.grader} on {measure.benchmark}: {words.headline(measure)}", "bold"))
    if len(summary.measures) > 1:
        out.print(_compared(summary.measures))
    for measure in summary.measures:
        out.print(Text(f"\n{words.title(measure)}" if len(summary.measures) > 1 else words.title(measure), "bold"))
        if words.silent(measure):
            out.print(Text(words.silent(measure)))
            continue
        out.print(_classes(measure, summary.confidence))
        for line in _lines(measure):
            out.print(Text(line))
        for one in measure.shortest:
            code = indent(one.code.strip(), "    ")
            long = code.count("\n") >= SHORT_LINES
            out.print(Text(words.shortest(one) + (" (in full on the page and in summary.json)" if long else "")))
            if code and not long:
                out.print(Text(code))
    first: dict[str, str] = {}
    for finding in findings:
        grader = f"{finding.grader}: " if finding.grader and len(summary.measures) > 1 else ""
        first.setdefault(finding.code, f"{grader}{finding.sentence}")
    for code, number in summary.findings.items():
        told = f": {first[code]}" if code in first else ""
        out.print(Text(f"! {code} × {fmt.count(number)}{told}", "yellow"))
    read = f"worst problems, witnesses: {page} · " if page else ""
    out.print(Text(f"{read}everything: {folder}"))


def _classes(measure: GraderMeasure, confidence: float) -> Table:
    titles = ("", "accepted", "of", "rate", f"{100 * confidence:g} % interval", "problems", "hit means")
    table = plain_table(*titles)
    table.padding = (0, 1, 0, 0)  # so that a row fits 80 columns
    for column in table.columns[1:6]:
        column.justify, column.no_wrap = "right", True
    for share in measure.shares:
        row(table, *class_cells(share), words.acceptance(share, measure))
    return table


def class_cells(share: AcceptedShare) -> tuple[str, str, str, str, str, str]:
    """Name, accepted, of how many, rate, interval and problems hit of one class."""
    return (
        words.NAMES[share.kind],
        fmt.count(share.accepted),
        fmt.count(share.probes),
        words.rate(share.value),
        words.interval(share),
        fmt.count(share.problems_hit),
    )


def _lines(measure: GraderMeasure) -> list[str]:
    """What stands under the table of one grader."""
    j = " · ".join(filter(None, (f"J = {words.unit_interval(measure.j)}", words.right_passes(measure))))
    return [j, f"forgeable: {words.forgeable(measure)}", *words.notes(measure)]


def _compared(measures: Sequence[GraderMeasure]) -> Table:
    several = len({measure.benchmark for measure in measures}) > 1
    table = plain_table("grader", *(["benchmark"] if several else []), "TPR, %", "FPR, %", "J", "forgeable")
    table.padding = (0, 1, 0, 0)  # as for the classes; names of graders are broken rather than numbers
    table.columns[0].no_wrap = False
    for column in table.columns[-4:]:
        column.no_wrap = True
    for measure in measures:
        place = [measure.benchmark] if several else []
        tpr, *rest = (cell.replace(" %", "") for cell in compared_cells(measure))
        row(
            table, measure.grader, *place, tpr.partition(" [")[0], *rest
        )  # its interval stands in the grader's block
    return table


def compared_cells(measure: GraderMeasure) -> tuple[str, str, str, str]:
    """TPR, FPR, J with their intervals, and whether one grader is forgeable."""
    right, fpr = measure.right, measure.fpr
    return (
        "–"
        if right is None or right.value is None
        else f"{words.rate(right.value)} {fmt.bounds(right.low, right.high)}",
        "–" if fpr.value is None else f"{words.rate(fpr.value)} {fmt.bounds(fpr.low, fpr.high)}",
        words.unit_interval(measure.j),
        words.paid_cell(measure),
    )
