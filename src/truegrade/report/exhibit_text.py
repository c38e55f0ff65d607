"""Tables as text that other programs read: CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report.exhibits import Cell, Exhibit, LongText, PointsInterval, PValue


def as_csv(exhibit: Exhibit) -> str:
    """RFC 4180. An estimate takes four columns: value, low, high, as fractions, and the problems behind them; a
    difference in points the first three."""
    widths = [
        max((len(_numbers(row[place])) for row in exhibit.rows), default=1) for place in range(len(exhibit.head))
    ]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    titles = zip(exhibit.head, widths, strict=True)
    writer.writerow([f"{name}{part}" for name, width in titles for part in _PARTS[:width]])
    for row in exhibit.rows:
        cells = zip(map(_numbers, row), widths, strict=True)
        writer.writerow([value for numbers, width in cells for value in [*numbers, *[None] * width][:width]])
    return file.getvalue()


def as_markdown(exhibit: Exhibit) -> str:
    """A pipe table under its caption."""
    lines = [
        _pipes(exhibit.head),
        "|" + "|".join([" --- ", *(" ---: " for _ in exhibit.head[1:])]) + "|",
        *(_pipes([read(cell) for cell in row]) for row in exhibit.rows),
    ]
    behind = [f"\n{each.name}\n\n{_fenced(each.text)}\n" for each in _listings(exhibit)]
    return f"{exhibit.caption}\n\n" + "\n".join(lines) + "\n" + "".join(behind)


def _fenced(text: str) -> str:
    """Text between fences that are longer than any in it."""
    fence = "`" * max([3, *(1 + len(run) for run in re.findall("`+", text))])
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _listings(exhibit: Exhibit) -> list[LongText]:
    """Texts behind a table, each once."""
    cells = (cell for row in exhibit.rows for cell in row)
    return list(dict.fromkeys(cell for cell in cells if isinstance(cell, LongText)))


LONG_ROWS = 40
"""Rows from which on a table does not fit a page."""
WIDE = 100
"""Characters from which on the columns of a table do not fit between the margins."""
SENTENCE = 60
"""Characters from which on a cell is set as a paragraph."""


def as_latex(exhibit: Exhibit) -> str:
    """A ``table`` environment, scaled to the text if wider, or ``longtable``s over several pages.

    Needs booktabs; graphicx for wide tables, longtable for long ones.
    """
    cells = [list(exhibit.head), *([read(cell) for cell in row] for row in exhibit.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    caption, label = rf"\caption{{{latex(exhibit.caption)}}}", rf"\label{{tab:{exhibit.slug}}}"
    if len(exhibit.rows) >= LONG_ROWS:
        again = rf"\caption[]{{{latex(exhibit.caption)} (continued)}}"
        parts = (
            _long(
                [[row[place] for place in part] for row in cells],
                [widths[place] for place in part],
                again if number else f"{caption} {label}",
            )
            for number, part in enumerate(_fitting(widths))
        )
        # A part of a table has the number of the first.
        return "\\addtocounter{table}{-1}\n".join(parts) + _verbatim(exhibit)
    inner = [r"\toprule", _row(cells[0]), r"\midrule", *map(_row, cells[1:]), r"\bottomrule"]
    tabular = [rf"\begin{{tabular}}{{{_columns(widths)}}}", *_indented(inner, 2), r"\end{tabular}"]
    paragraphs = [width for width in widths if width > SENTENCE]
    if len(paragraphs) > 1 or sum(widths) - sum(paragraphs) > WIDE:
        tabular = [rf"\resizebox{{\linewidth}}{{!}}{{{tabular[0]}", *tabular[1:-1], rf"{tabular[-1]}}}"]
    lines = [r"\centering", caption, label, *tabular]
    return "\n".join([r"\begin{table}", *_indented(lines, 2), r"\end{table}", ""]) + _verbatim(exhibit)


def _verbatim(exhibit: Exhibit) -> str:
    return "".join(
        f"\n\\noindent {latex(each.name)}\n\\begin{{verbatim}}\n{each.text.rstrip()}\n\\end{{verbatim}}\n"
        for each in _listings(exhibit)
    )


def _fitting(widths: Sequence[int]) -> list[list[int]]:
    """Columns that fit side by side, each time with the first."""
    parts, width = [[0]], widths[0]
    for place in range(1, len(widths)):
        if width + widths[place] > WIDE and len(parts[-1]) > 1:
            parts.append([0])
            width = widths[0]
        parts[-1].append(place)
        width += min(widths[place], SENTENCE)
    return parts


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


TEXTS: Mapping[str, tuple[str, Callable[[Exhibit], str]]] = MappingProxyType(
    {"csv": (".csv", as_csv), "markdown": (".md", as_markdown), "latex": (".tex", as_latex)}
)
"""Format -> ending of its files and writer."""


def read(cell: Cell) -> str:
    """A cell as a person reads it."""
    match cell:
        case None:
            said = "–"
        case Estimate():
            said = fmt.estimate(cell)
        case PointsInterval():
            low, high = (None if end is None else end / 100 for end in (cell.low, cell.high))
            said = f"{fmt.points(cell.value / 100)} {fmt.bounds(low, high)}"
        case PValue():
            said = cell.shown
        case LongText():
            said = cell.name
        case float():
            said = fmt.quantity(cell)
        case int():
            said = fmt.count(cell)
        case _:
            said = str(cell)
    return said


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
    return re.sub("-(?=-)", "-{}", " ".join(text.split()).translate(_LATEX))  # two hyphens would be a dash


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


_PARTS = ("", " low", " high", " problems")
"""What the columns of one cell are called."""


def _numbers(cell: Cell) -> list[object]:
    if isinstance(cell, Estimate):
        return [cell.value, cell.low, cell.high, cell.tasks]
    if isinstance(cell, PointsInterval):
        return [cell.value, cell.low, cell.high]
    if isinstance(cell, LongText):
        return [cell.text]
    return [cell.value] if isinstance(cell, PValue) else [cell]
