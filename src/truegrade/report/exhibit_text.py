"""Tables as text that other programs read: CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report.exhibits import Cell, Exhibit, PValue


def as_csv(exhibit: Exhibit) -> str:
    """RFC 4180. An estimate takes three columns: value, low, high, as fractions."""
    wide = {place for row in exhibit.rows for place, cell in enumerate(row) if isinstance(cell, Estimate)}
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


def as_latex(exhibit: Exhibit) -> str:
    """A ``table`` environment; needs the package booktabs."""
    body = [" & ".join(latex(read(cell)) for cell in row) + r" \\" for row in exhibit.rows]
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{latex(exhibit.caption)}}}",
            rf"  \label{{tab:{exhibit.slug}}}",
            rf"  \begin{{tabular}}{{l{'r' * (len(exhibit.head) - 1)}}}",
            r"    \toprule",
            "    " + " & ".join(map(latex, exhibit.head)) + r" \\",
            r"    \midrule",
            *(f"    {line}" for line in body),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


TEXTS: Mapping[str, tuple[str, Callable[[Exhibit], str]]] = MappingProxyType(
    {"csv": (".csv", as_csv), "markdown": (".md", as_markdown), "latex": (".tex", as_latex)}
)
"""Format -> ending of its files and writer."""


def read(cell: Cell) -> str:
    """A cell as a person reads it."""
    match cell:
        case None:
            return "–"
        case Estimate():
            return fmt.estimate(cell)
        case PValue():
            return cell.shown
        case float():
            return fmt.quantity(cell)
        case int():
            return fmt.count(cell)
        case _:
            return str(cell)


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
    if isinstance(cell, Estimate):
        return [cell.value, cell.low, cell.high]
    if isinstance(cell, PValue):
        return [cell.value]
    return [cell, None, None] if wide else [cell]


def _spread(cells: Sequence[Sequence[object]]) -> list[object]:
    return [value for part in cells for value in part]
