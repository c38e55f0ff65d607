"""The plain tables of the terminal. Cells are text, never rich's markup: ``[34.8, 49.7]`` stays as it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from truegrade.report.terminal import open_terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def open_console(console: Console | None) -> Console:
    """The console given, or one on standard output."""
    return console or open_terminal()


def plain_table(*titles: str) -> Table:
    """A table with a line under its titles; where the terminal is narrow, all columns but the first wrap."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_header=any(titles))
    for place, title in enumerate(titles):
        table.add_column(Text(title), overflow="fold", no_wrap=place == 0 and len(titles) > 1)
    return table


def row(table: Table, *cells: str, bold: bool = False) -> None:
    """Append a row."""
    from rich.text import Text

    table.add_row(*(Text(cell) for cell in cells), style="bold" if bold else "")


def fact_grid(facts: Iterable[tuple[str, str]]) -> Table:
    """Names on the left, values on the right."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(Text(name), Text(value))
    return grid
