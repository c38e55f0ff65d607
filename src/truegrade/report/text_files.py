"""Tables as text that other programs read: CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any

from truegrade.records import Estimate
from truegrade.report.document import (
    Badge,
    Cell,
    Document,
    GroupName,
    LongText,
    PartOf,
    Passes,
    PointsInterval,
    SampleName,
    Table,
    Worded,
    bare,
    read,
    tables,
)


def write_texts(document: Document, form: str) -> Iterator[tuple[str, str]]:
    """Name and text of a file for each table of a document, and of one for its paragraph on methods.

    Args:
        document: of which files are made.
        form: one of `TEXTS`.
    """
    ending, write = TEXTS[form]
    for table in tables(document.sections):
        yield f"{table.slug}{ending}", write(table)
    if document.methods and form == "latex":
        yield "methods.tex", f"{latex(document.methods)}\n"
    elif document.methods and form == "markdown":
        yield "methods.md", f"{document.methods}\n"


# -------------------------------------------------------------------------------------------------- CSV


def split_cells(table: Table) -> tuple[list[str], list[list[Cell]]]:
    """Titles and rows without remarks and links; a group, a sample, and passes of a problem take two columns."""
    titles: list[str] = []
    columns: list[Sequence[Cell]] = []
    for place, title in enumerate(table.titles):
        column = [_plain(row[place]) for row in table.rows]
        kind = next((type(cell) for cell in column if type(cell) in _SPLIT), None)
        if kind is None:
            titles.append(title)
            columns.append(column)
        else:
            names, values = _SPLIT[kind]
            titles += [name.format(title) for name in names]
            parts = (values(cell) if isinstance(cell, kind) else (None, None) for cell in column)
            columns += zip(*parts, strict=True)
    return titles, [list(row) for row in zip(*columns, strict=True)]


_SPLIT: Mapping[type, tuple[tuple[str, str], Callable[[Any], tuple[Cell, Cell]]]] = MappingProxyType(
    {
        GroupName: (("by", "{}"), lambda group: (group.by, group.value)),
        SampleName: (("problem", "{}"), lambda name: (name.problem_id, name.sample)),
        Passes: (("{} passes", "{} samples"), lambda found: (found.passes, found.samples)),
    }
)
"""Kind of cell -> titles of its columns, and what stands in them."""


def _plain(cell: Cell) -> Cell:
    """What a program reads of a cell."""
    found = bare(cell)
    if isinstance(found, PartOf):
        return found.number
    return found.reason if isinstance(found, Badge) else found


def as_csv(table: Table) -> str:
    """RFC 4180. An estimate takes four columns: value, low, high, as fractions, and the problems behind them; a
    difference in points the first three."""
    titles, rows = split_cells(table)
    widths = [max((len(_numbers(row[place])) for row in rows), default=1) for place in range(len(titles))]
    named = zip(titles, widths, strict=True)
    lines: list[Sequence[object]] = [[f"{name}{part}" for name, width in named for part in _PARTS[:width]]]
    for row in rows:
        cells = zip(map(_numbers, row), widths, strict=True)
        lines.append([value for numbers, width in cells for value in [*numbers, *[None] * width][:width]])
    return csv_text(lines)


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV, a line feed behind each; cells that hold a carriage return are quoted as well."""
    return "".join(csv_lines(rows))


def csv_lines(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The same, a row at a time."""
    written: list[str] = []
    # csv quotes the characters of its own line end alone
    writer = csv.writer(SimpleNamespace(write=written.append), lineterminator="\r\n")
    for row in rows:
        writer.writerow(row)
        yield "".join(written).removesuffix("\r\n") + "\n"
        written.clear()


_PARTS = ("", " low", " high", " problems")
"""What the columns of one cell are called."""


def _numbers(cell: Cell) -> list[object]:
    match cell:
        case Estimate():
            found: list[object] = [cell.value, cell.low, cell.high, cell.tasks]
        case PointsInterval():
            found = [cell.value, cell.low, cell.high]
        case Worded(low=None, high=None):
            found = [cell.value]
        case Worded():
            found = [cell.value, cell.low, cell.high]
        case LongText():
            found = [cell.text]
        case None | float() | int():
            found = [cell]
        case _:
            found = [read(cell)]
    return found


# --------------------------------------------------------------------------------------------- Markdown


def as_markdown(table: Table) -> str:
    """A pipe table under its caption."""
    lines = [
        _pipes(table.titles),
        "|" + "|".join([" --- ", *(" ---: " for _ in table.head[1:])]) + "|",
        *(_pipes([read(cell) for cell in row]) for row in table.rows),
    ]
    behind = [f"\n{each.name}\n\n{_fenced(each.text)}\n" for each in _listings(table)]
    return f"{table.caption}{table.alone}\n\n" + "\n".join(lines) + "\n" + "".join(behind)


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _fenced(text: str) -> str:
    """Text between fences that are longer than any in it."""
    fence = "`" * max([3, *(1 + len(run) for run in re.findall("`+", text))])
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _listings(table: Table) -> list[LongText]:
    """Texts behind a table, each once."""
    cells = (cell for row in table.rows for cell in row)
    return list(dict.fromkeys(cell for cell in cells if isinstance(cell, LongText)))


# ------------------------------------------------------------------------------------------------ LaTeX


LONG_ROWS = 40
"""Rows from which on a table does not fit a page."""
_CHARACTER, _GAP, _LINE = 4.8, 12, 345
"""Points of a character and between two columns in the article class at 10 points, and of its line."""
SENTENCE = 60
"""Characters from which on a cell is set as a paragraph."""


def as_latex(table: Table) -> str:
    """A ``table`` environment, scaled to the text if wider, or ``longtable``s over several pages.

    Needs booktabs; graphicx for wide tables, longtable for long ones.
    """
    cells = [table.titles, *([read(cell) for cell in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    caption, label = rf"\caption{{{latex(table.caption + table.alone)}}}", rf"\label{{tab:{table.slug}}}"
    if len(table.rows) >= LONG_ROWS:
        again = rf"\caption[]{{{latex(table.caption + table.alone)} (continued)}}"
        parts = (
            _long(
                [[row[place] for place in part] for row in cells],
                [widths[place] for place in part],
                again if number else f"{caption} {label}",
            )
            for number, part in enumerate(_fitting(widths))
        )
        # A part of a table has the number of the first.
        return "\\addtocounter{table}{-1}\n".join(parts) + _verbatim(table)
    inner = [r"\toprule", _row(cells[0]), r"\midrule", *map(_row, cells[1:]), r"\bottomrule"]
    tabular = [rf"\begin{{tabular}}{{{_columns(widths)}}}", *_indented(inner, 2), r"\end{tabular}"]
    short = [width for width in widths if width <= SENTENCE]
    if len(widths) - len(short) > 1 or _points(short) > _LINE:
        tabular = [rf"\resizebox{{\linewidth}}{{!}}{{{tabular[0]}", *tabular[1:-1], rf"{tabular[-1]}}}"]
    lines = [r"\centering", caption, label, *tabular]
    return "\n".join([r"\begin{table}", *_indented(lines, 2), r"\end{table}", ""]) + _verbatim(table)


def _verbatim(table: Table) -> str:
    return "".join(
        f"\n\\noindent {latex(each.name)}\n\\begin{{verbatim}}\n{each.text.rstrip()}\n\\end{{verbatim}}\n"
        for each in _listings(table)
    )


def _fitting(widths: Sequence[int]) -> list[list[int]]:
    """Columns that fit side by side, each time with the first."""
    parts = [[0]]
    for place in range(1, len(widths)):
        if len(parts[-1]) > 1 and _points([min(widths[each], SENTENCE) for each in (*parts[-1], place)]) > _LINE:
            parts.append([0])
        parts[-1].append(place)
    return parts


def _points(widths: Sequence[int]) -> float:
    """Width of columns of so many characters."""
    return _CHARACTER * sum(widths) + _GAP * len(widths)


def _long(cells: Sequence[Sequence[str]], widths: Sequence[int], caption: str) -> str:
    titles = [_row(cells[0]), r"\midrule"]
    top = [rf"{caption} \\", r"\toprule", *titles, r"\endfirsthead", r"\toprule", *titles, r"\endhead"]
    lines = _indented([*top, *map(_row, cells[1:]), r"\bottomrule"], 2)
    return "\n".join([rf"\begin{{longtable}}{{{_columns(widths)}}}", *lines, r"\end{longtable}", ""])


def _columns(widths: Sequence[int]) -> str:
    return "l" + "".join("r" if width <= SENTENCE else r"p{0.6\linewidth}" for width in widths[1:])


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(latex, cells)) + r" \\"


def _indented(lines: Sequence[str], by: int) -> list[str]:
    return [" " * by + line for line in lines]


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "%": r"\%",
        "&": r"\&",
        "#": r"\#",
        "$": r"\$",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": "$<$",
        ">": "$>$",
        "`": r"\textasciigrave{}",
        "–": r"\textendash{}",
        "→": r"$\to$",
        "·": r"\textperiodcentered{}",
        "…": r"\ldots{}",
        "−": "$-$",
    }
)


def latex(text: str) -> str:
    """Text that LaTeX sets as it stands, on one line."""
    text = re.sub("-(?=-)", "-{}", " ".join(text.split()).translate(_LATEX))  # two hyphens would be a dash
    return re.sub(r"(?<![^\s\[(])-(?=\d)", "$-$", text)


TEXTS: Mapping[str, tuple[str, Callable[[Table], str]]] = MappingProxyType(
    {"csv": (".csv", as_csv), "markdown": (".md", as_markdown), "latex": (".tex", as_latex)}
)
"""Format -> ending of its files and writer."""
