"""Tables as text that other programs read: CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report.exhibits import Cell, Exhibit, PointsInterval, PValue


def as_csv(exhibit: Exhibit) -> str:
    """RFC 4180. An estimate takes three columns: value, low, high; fractions, or points for a difference."""
    wide = {
        place
        for row in exhibit.rows
        for place, cell in enumerate(row)
        if isinstance(cell, Estimate | PointsInterval)
    }
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_spread([_heads(name, place in wide) for place, name in enumerate(exhibit.head)]))
    for row in exhibit.rows:
        writer.writerow(_spread([_numbers(cell, place in wide) for place, cell in enumerate(row)]))
    return file.getvalue()


def as_markdown(exhibit: Exhibit) -> str:
    """A pipe table under its caption."""
    lines = [
        _pipes(exhibit.head),
        "|" + "|".join([" --- ", *(" ---: " for _ in exhibit.head[1:])]) + "|",
        *(_pipes([read(cell) for cell in row]) for row in exhibit.rows),
    ]
    return f"{exhibit.caption}\n\n" + "\n".join(lines) + "\n"


LONG_ROWS = 40
"""Rows from which on a table does not fit a page."""


def as_latex(exhibit: Exhibit) -> str:
    """A ``table`` environment, or a ``longtable`` over several pages; needs booktabs, and longtable for that."""
    columns = f"l{'r' * (len(exhibit.head) - 1)}"
    titles = [" & ".join(map(latex, exhibit.head)) + r" \\", r"\midrule"]
    body = [" & ".join(latex(read(cell)) for cell in row) + r" \\" for row in exhibit.rows]
    caption = rf"\caption{{{latex(exhibit.caption)}}}"
    label = rf"\label{{tab:{exhibit.slug}}}"
    if len(exhibit.rows) >= LONG_ROWS:
        top = [rf"  {caption} {label} \\", r"  \toprule", *_indented(titles, 2), r"  \endfirsthead", r"  \toprule"]
        rest = [*_indented(titles, 2), r"  \endhead", *_indented(body, 2), r"  \bottomrule"]
        return "\n".join([rf"\begin{{longtable}}{{{columns}}}", *top, *rest, r"\end{longtable}", ""])
    inner = [r"\toprule", *titles, *body, r"\bottomrule"]
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            f"  {caption}",
            f"  {label}",
            rf"  \begin{{tabular}}{{{columns}}}",
            *_indented(inner, 4),
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


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
        "–": "--",
        "·": r"\textperiodcentered{}",
        "…": r"\ldots{}",
        "−": "$-$",
    }
)


def latex(text: str) -> str:
    """Text that LaTeX sets as it stands, on one line."""
    return " ".join(text.split()).translate(_LATEX)


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _heads(name: str, wide: bool) -> list[str]:
    return [name, f"{name} low", f"{name} high"] if wide else [name]


def _numbers(cell: Cell, wide: bool) -> list[object]:
    if isinstance(cell, Estimate | PointsInterval):
        return [cell.value, cell.low, cell.high]
    if isinstance(cell, PValue):
        return [cell.value]
    return [cell, None, None] if wide else [cell]


def _spread(cells: Sequence[Sequence[object]]) -> list[object]:
    return [value for part in cells for value in part]
