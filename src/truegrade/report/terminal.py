"""A document on a terminal. Cells are text, never rich's markup: ``[34.8, 49.7]`` stays as it is.

An escape sequence in the text of a model, a program or a file can move the cursor over other lines, change the
window's title, or answer in the user's name. On a terminal every control character but newline and tab is
therefore written out, as ``\\x1b``; a pipe or a file gets the text as it is.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from textwrap import indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.table import Table as RichTable
    from rich.text import Text

    from truegrade.report.document import Cell, Part, Prose, Table

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """The text with its control characters written out."""
    return _CONTROL.sub(lambda control: f"\\x{ord(control.group()):02x}", text)


def open_terminal(*, stderr: bool = False) -> Console:
    """A console on standard output or error that writes control characters out where it is a terminal.

    Its own colours and movements, of progress bars, are not text and stay.
    """
    return _console_class()(stderr=stderr, highlight=False)


@cache
def _console_class() -> type[Console]:
    """rich is imported when something is to be shown."""
    from rich.console import Console as RichConsole
    from rich.segment import Segment as RichSegment

    class TerminalConsole(RichConsole):
        def on_broken_pipe(self) -> None:
            """A reader that left is an error of the system like any other: the command decides what it means."""
            self.quiet = True
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            """Whatever is shown comes through here, in pieces of text of one style."""
            for piece in super().render(renderable, options):
                told = piece.control is not None or not self.is_terminal
                yield piece if told else RichSegment(visible(piece.text), piece.style)

    return TerminalConsole


def plain_table(*titles: str) -> RichTable:
    """A table with a line under its titles."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_header=any(titles))
    for title in titles:
        table.add_column(Text(title), overflow="fold")
    return table


def row(table: RichTable, *cells: str, bold: bool = False) -> None:
    """Append a row."""
    from rich.text import Text

    table.add_row(*(Text(cell) for cell in cells), style="bold" if bold else "")


def fact_grid(facts: Iterable[tuple[str, str]]) -> RichTable:
    """Names on the left, values on the right."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(Text(name), Text(value))
    return grid


# -------------------------------------------------------------------------------------------- documents


def print_parts(*parts: Part, console: Console | None = None) -> None:
    """Print what a terminal shows of parts of a document; a section's title is not among it.

    Args:
        parts: sections, tables, sentences, ..., in order.
        console: where to print; None for standard output.
    """
    from truegrade.report.document import On, shown_on

    out = console or open_terminal()
    for part in shown_on(parts, On.TERMINAL):
        _print(part, out)


def _print(part: Part, out: Console) -> None:
    from rich.text import Text

    from truegrade.report import document as doc

    match part:
        case doc.Table():
            _print_table(part, out)
        case doc.Facts(pairs):
            out.print(fact_grid((name, doc.read(value)) for name, value in pairs))
        case doc.Prose():
            _print_hanging(_words(part), out, STYLES.get(part.tone, ""), whole=part.tone == "line")
        case doc.Bullets(items):
            for item in items:
                _print_hanging(Text.assemble("· ", _words(item)), out)
        case doc.Cautions(items):
            for item in items:
                _print_hanging(Text.assemble("! ", _words(item)), out, "yellow")
        case doc.Code(text):
            out.print(Text(indent(text.rstrip("\n"), "    ")))
        case doc.Figure(table=numbers):
            if numbers is not None:
                _print_table(numbers, out)
        case doc.Beside(left, right):
            print_parts(*right, *left, console=out)
        case doc.Folded(_, inner) | doc.Section(parts=inner):
            print_parts(*inner, console=out)


LEADS = {"good": "green", "bad": "red", "doubtful": "yellow", "dull": "dim"}
"""Tone of a paragraph -> colour of its first words; others are bold alone."""
STYLES = {"error": "bold red", "warning": "yellow", "remark": "dim"}
"""Tone of a paragraph -> how a terminal shows all of it. What a person copies, a ``line``, stays in one."""


_MARK = re.compile(r" *(?:[·!→] )?")


def _print_hanging(words: Text, out: Console, style: str = "", *, whole: bool = False) -> None:
    """A paragraph whose further lines begin below the first one's words: behind its blanks, ``· `` or ``! ``; or,
    ``whole``, one of a single line."""
    if whole:
        out.print(words, style=style, soft_wrap=True)
        return
    hanging = match.end() if (match := _MARK.match(words.plain)) else 0
    for number, line in enumerate(words[hanging:].wrap(out, max(1, out.width - hanging))):
        line.rstrip()
        before = words[:hanging] if number == 0 else " " * hanging
        out.print(before, line, sep="", style=style, soft_wrap=True)


def _words(said: str | Prose) -> Text:
    from rich.text import Text

    if isinstance(said, str):
        return Text(said)
    return Text.assemble((said.lead, f"bold {LEADS.get(said.tone, '')}"), said.text)


def _print_table(found: Table, out: Console) -> None:
    from rich.text import Text

    from truegrade.report.document import read

    if not found.rows:
        return
    if found.caption:
        out.print(Text(found.caption, "bold"))
    if found.upright and len(found.rows) == 1:
        named = zip(found.titles, map(read, found.rows[0]), strict=True)
        out.print(fact_grid(list(named)[1:]))
        return
    left_out: list[str] = []
    made = _table(found, left_out)
    for title in reversed([title for title in found.spare if title in found.titles]):
        if _width(made, out) <= out.width:
            break
        left_out.append(title)
        made = _table(found, left_out)
    if _width(made, out) > out.width:
        made = _table(found, left_out, broken=True)
    if _fit(made, out):
        out.print(made)
    else:
        _print_rows(found, out)
        return
    if left_out:
        out.print(Text(f"not shown for want of width: {', '.join(reversed(left_out))}", "dim"))


def _table(found: Table, left_out: Sequence[str], *, broken: bool = False) -> RichTable:
    """A table without some columns; ``broken`` puts intervals below their numbers."""
    from truegrade.report.document import read

    kept = [place for place, title in enumerate(found.titles) if title not in left_out]
    made = plain_table(*(found.titles[place] for place in kept))
    for number, cells in enumerate(found.rows):
        if number in found.ruled:
            made.add_section()
        shown = (_broken(cells[place]) if broken else read(cells[place]) for place in kept)
        row(made, *shown, bold=number in found.strong)
    return made


def _fit(made: RichTable, out: Console) -> bool:
    """Narrow the widest columns until a table fits; no title breaks inside a word, and a row keeps its name in one
    line where that leaves room. False where there is no such way."""
    from rich.cells import cell_len
    from rich.measure import measure_renderables

    excess = _width(made, out) - out.width
    if excess <= 0:
        return True
    natural = [
        measure_renderables(out, out.options.update(max_width=10_000), [column.header, *column.cells]).maximum
        for column in made.columns
    ]
    room = sum(natural) - excess
    words = [max(map(cell_len, str(column.header).split()), default=1) for column in made.columns]
    for least in ([natural[0], *words[1:]], words):
        caps = (cap for cap in range(max(natural), 0, -1) if sum(_capped(natural, least, cap)) <= room)
        if (cap := next(caps, None)) is not None:
            for column, width in zip(made.columns, _capped(natural, least, cap), strict=True):
                column.width = width
            return True
    return False


def _capped(natural: Sequence[int], least: Sequence[int], cap: int) -> list[int]:
    return [max(low, min(width, cap)) for width, low in zip(natural, least, strict=True)]


def _print_rows(found: Table, out: Console) -> None:
    """A table that is too wide for the terminal, as named values row by row."""
    from rich.text import Text

    from truegrade.report.document import read

    for cells in found.rows:
        for title, cell in zip(found.titles, cells, strict=True):
            out.print(Text.assemble((title, "dim"), "  ", read(cell)))
        out.print()


def _broken(cell: Cell) -> str:
    """A cell with its interval, and what it leaves out, on lines of their own."""
    from truegrade.records import Estimate
    from truegrade.report.document import PointsInterval, Worded, bare, read

    said, found = read(cell), bare(cell)
    if isinstance(found, Estimate | PointsInterval) or (isinstance(found, Worded) and found.low is not None):
        said = said.replace(" [", "\n[", 1).replace(" (", "\n(", 1)
    return said


def _width(made: RichTable, out: Console) -> int:
    """Columns of the screen that a table takes without a line broken."""
    from rich.measure import Measurement

    return Measurement.get(out, out.options.update(max_width=10_000), made).maximum
