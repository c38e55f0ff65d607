"""An assay on the terminal, and its tables as Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

from truegrade.apps.assay.folder import PAGE, open_assay
from truegrade.apps.assay.measures import AcceptedShare, AssaySummary, GraderMeasure, MeasuredValue
from truegrade.apps.assay.records import AssayFinding
from truegrade.apps.assay.reporting import words
from truegrade.errors import UnknownName, UserError
from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report.document import Cell, LongText, Table
from truegrade.report.export import make_folder
from truegrade.report.terminal import open_console, plain_table, row
from truegrade.report.text_files import TEXTS
from truegrade.store.manifest import write_atomically

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

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
    """Print what an assay concludes: with several graders or benchmarks first a table of all.

    Of the findings of each code the first is told. ``page`` is empty where none was written; without a console the
    text goes to standard output.
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
        j = " · ".join(filter(None, (f"J = {words.unit_interval(measure.j)}", words.right_passes(measure))))
        for line in (j, f"forgeable: {words.forgeable(measure)}", *words.notes(measure)):
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


def _classes(measure: GraderMeasure, confidence: float) -> RichTable:
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


def _compared(measures: Sequence[GraderMeasure]) -> RichTable:
    several = len({measure.benchmark for measure in measures}) > 1
    table = plain_table("grader", *(["benchmark"] if several else []), "TPR, %", "FPR, %", "J", "forgeable")
    table.padding = (0, 1, 0, 0)  # as for the classes; names of graders are broken rather than numbers
    table.columns[0].no_wrap = False
    for column in table.columns[-4:]:
        column.no_wrap = True
    for measure in measures:
        place = [measure.benchmark] if several else []
        tpr, *rest = (cell.replace(" %", "") for cell in compared_cells(measure))
        # The interval of TPR stands in the grader's block.
        row(table, measure.grader, *place, tpr.partition(" [")[0], *rest)
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


_Columns = Mapping[str, str | Callable[[Any], Cell]]
"""Title of a column to the field that stands in it, or what makes it of a row."""
_CLASSES: _Columns = {
    "class": lambda one: words.NAMES[one.kind],
    "accepted": "accepted",
    "of": "probes",
    "rate": "value",
    "rate, undecided wrong": lambda one: None if one.upper is None else words.rate(one.upper),
    "problems hit": "problems_hit",
}
_CHANNELS: _Columns = {
    "channel": "channel",
    "danger": "danger",
    "state": lambda one: "open" if one.open else "closed" if one.probes else "not sent",
    "accepted": "accepted",
    "of": "probes",
    "twins accepted": "inert_accepted",
    "stays": "stays",
}
_SHORTEST: _Columns = {
    "finding": "finding",
    "how it works": lambda one: one.how or None,
    "problem": "problem_id",
    "paid": "pay",
    "program": lambda one: LongText(f"{one.origin} ({one.probe})", one.code),
    "what closes it": "closes",
}
_OPERATORS: _Columns = {
    "operator": lambda one: one[0],
    "accepted": lambda one: one[1][0],
    "proven wrong": lambda one: one[1][1],
}
_PROBLEMS: _Columns = {
    "problem": "problem_id",
    "J": lambda one: words.unit(one.j),
    "right accepted": "right_accepted",
    "right": "right",
    "wrong accepted": "wrong_accepted",
    "wrong": "wrong",
    "undecided": "undecided",
    "FPR shrunken": "fpr_shrunken",
    "doubtful": lambda one: "yes" if one.doubtful else "no",
}


def report_files(folder: Path, file_format: str, out: Path | None) -> list[Path]:
    """`truegrade report` of an assay: its page, or its tables, a file each.

    Args:
        folder: of the assay.
        file_format: ``html``, ``markdown``, ``latex`` or ``csv``.
        out: the page, or the folder of the tables; None for ``report.html`` or ``tables`` in that of the assay.

    Raises:
        UnknownName: no such format.
        UserError: ``folder`` holds no finished assay, or ``out`` cannot be written.
    """
    assayed = open_assay(folder)
    if file_format != "html":
        return write_tables(assayed.summary(), file_format, out or folder / "tables")
    page = folder / PAGE
    if not page.is_file():
        raise UserError(f"{folder}: this assay is not finished; its command goes on and then writes {PAGE}")
    if out is not None:
        write_atomically(out, page.read_bytes())
    return [out or page]


def write_tables(summary: AssaySummary, file_format: str, place: Path) -> list[Path]:
    """Write the tables of a summary into a folder; otherwise as `report_files`."""
    if file_format not in TEXTS:
        raise UnknownName("format of a table", file_format, TEXTS)
    ending, write = TEXTS[file_format]
    make_folder(place)
    paths = []
    for exhibit in assay_exhibits(summary):
        paths.append(place / f"{exhibit.slug}{ending}")
        write_atomically(paths[-1], write(exhibit).encode())
    return paths


def assay_exhibits(summary: AssaySummary) -> list[Table]:
    """Graders, classes, channels, shortest programs, operators and problems, as far as there are any."""

    def ppv(base: str) -> Callable[[GraderMeasure], Estimate | None]:
        return lambda one: estimate("PPV", one.ppv.get(base), one)

    estimate = partial(_estimate, summary.confidence)
    bases = dict.fromkeys(base for measure in summary.measures for base in measure.ppv)
    graders: _Columns = {
        "problems": "problems",
        "TPR": lambda one: estimate("right", one.right, one.right),
        "FPR": lambda one: estimate("FPR", one.fpr, one),
        "J": lambda one: words.unit(one.j.value),
        "J interval": lambda one: "" if one.j.value is None else words.unit_interval(one.j).partition(" ")[2],
        "forgeable": words.paid_cell,
        "open channels": lambda one: ", ".join(one.open_channels) or "none",
        **{f"PPV at {base}": ppv(base) for base in bases},
    }
    classes = {**_CLASSES, "rate": lambda one: estimate(one.kind, one, one)}
    caption = f"Error rates of graders, with {100 * summary.confidence:g} % intervals by problem"
    made: tuple[tuple[str, str, Callable[[GraderMeasure], Iterable[Any]], _Columns], ...] = (
        ("graders", caption, lambda measure: [measure], graders),
        ("classes", "Programs accepted by class", lambda measure: measure.shares, classes),
        ("channels", "Cheats accepted by channel", lambda measure: measure.channels, _CHANNELS),
        ("shortest", "Shortest programs paid wrongly", lambda measure: measure.shortest, _SHORTEST),
        ("operators", "Wrong programs accepted by operator", lambda one: one.operators.items(), _OPERATORS),
        ("problems", "J by problem", lambda measure: measure.per_problem, _PROBLEMS),
    )
    tables = (
        Table(
            slug=slug,
            caption=title,
            head=("grader", "benchmark", *columns),
            rows=[
                [measure.grader, measure.benchmark, *(_cell(one, of) for of in columns.values())]
                for measure in summary.measures
                for one in rows_of(measure)
            ],
        )
        for slug, title, rows_of, columns in made
    )
    return [exhibit for exhibit in tables if exhibit.rows]


def _cell(one: Any, of: str | Callable[[Any], Cell]) -> Cell:
    cell: Cell = getattr(one, of) if isinstance(of, str) else of(one)
    return cell


def _estimate(level: float, metric: str, value: AcceptedShare | MeasuredValue | None, of: Any) -> Estimate | None:
    """A value of so many programs and problems, at a level of confidence."""
    if value is None or value.value is None:
        return None
    return Estimate(
        metric=metric,
        value=value.value,
        low=value.low,
        high=value.high,
        confidence=level,
        method=value.method,
        samples=of.probes,
        tasks=of.problems,
        clusters=of.problems,
    )
