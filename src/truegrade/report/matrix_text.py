"""Terminal table of a run's profiles: one row per profile, and the spread between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truegrade.report import format as fmt
from truegrade.report.terminal import open_console, plain_table, row
from truegrade.report.wording import spread_note

if TYPE_CHECKING:
    from rich.console import Console

    from truegrade.analysis.standings import Matrix, MatrixRow
    from truegrade.records import Estimate


def print_matrix(matrix: Matrix, *, console: Console | None = None) -> None:
    """Print the results of each profile and the spread between profiles."""
    from rich.text import Text

    out = open_console(console)
    ks = sorted({k for line in matrix.rows for k in line.pass_at if k > 1})
    titles = ("pass@1", *(f"pass@{k}" for k in ks), "any of N", "all solutions", "first sample")
    table = plain_table("profile", *titles)
    for line in matrix.rows:
        row(table, line.profile, *_cells(line, ks))
    out.print(table)
    ends = f"{matrix.lowest} to {matrix.highest}{spread_note(matrix.warnings)}"
    differing = f"{fmt.count(matrix.disagreeing)} of {fmt.plural(matrix.compared, 'sample')}"
    out.print(Text(f"spread {100 * matrix.spread:.1f} points, {ends}; the profiles disagree on {differing}"))


def _cells(line: MatrixRow, ks: list[int]) -> list[str]:
    first = _cell(line.pass_at.get(1), interval=True)
    rest = [line.any_of_n, line.all_solutions, line.first_sample]
    return [first, *(_cell(line.pass_at.get(k)) for k in ks), *map(_cell, rest)]


def _cell(value: Estimate | None, *, interval: bool = False) -> str:
    if value is None:
        return "–"
    return fmt.estimate(value) if interval else f"{fmt.percent(value.value)}{fmt.part(value)}"
