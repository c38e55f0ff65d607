"""What a report is made of, whatever shows it: sections of prose, named values, tables and charts.

A table is made once, by a function from results to `Table`, and a report is one `Document`, which
`truegrade.report.page_parts.show` writes as a page, on a terminal, or as files of CSV, Markdown or LaTeX. What
only one of them can show (a chart, the browser of samples, the first names of a long list) stands inside `only`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Flag, auto
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart
from truegrade.report.markup import Markup

# ------------------------------------------------------------------------------------------------ cells


class Worded(msgspec.Struct, frozen=True):
    """A number in a table that people read in other words: a p-value for what it is worth, a share in percent."""

    value: float | None
    shown: str
    low: float | None = None
    high: float | None = None
    """Ends of its interval, which `shown` says as well."""


class PointsInterval(msgspec.Struct, frozen=True):
    """A difference in percentage points with the ends of its interval."""

    value: float
    low: float | None
    high: float | None


class LongText(msgspec.Struct, frozen=True):
    """A text of several lines: its name in a table, and the whole behind it."""

    name: str
    text: str


class Code(msgspec.Struct, frozen=True):
    """Source text: in a cell one line, as a part of a document a program of its own."""

    text: str
    name: str = ""
    """Of a program."""


class Passes(msgspec.Struct, frozen=True):
    """Samples of a problem that pass, of how many, and why they pass or fail."""

    passes: int
    samples: int
    reasons: tuple[str, ...] = ()


class PartOf(msgspec.Struct, frozen=True):
    """A part of a whole; programs read the number."""

    number: int
    total: int
    family: str
    """Colour of its bar on a page: a key of `truegrade.report.wording.FAMILIES`."""


class GroupName(msgspec.Struct, frozen=True):
    """A group of problems: what they are grouped by, and the group's name."""

    by: str
    value: str


class SampleName(msgspec.Struct, frozen=True):
    """A sample of a problem."""

    problem_id: str
    sample: int


class Badge(msgspec.Struct, frozen=True):
    """The reason of a verdict, or another word of state."""

    reason: str
    family: str = ""
    """Colour on a page: a key of `truegrade.report.wording.FAMILIES`; that of the reason where it is empty."""


class Linked(msgspec.Struct, frozen=True):
    """A value that leads somewhere on a page."""

    cell: Cell
    href: str = "#"
    data: Mapping[str, object] = {}
    """Further attributes of the link."""


class Noted(msgspec.Struct, frozen=True):
    """A value with remarks that a page shows below it."""

    cell: Cell
    notes: tuple[Cell, ...] = ()


class Several(msgspec.Struct, frozen=True):
    """Several values in one cell, on a page below each other."""

    cells: tuple[Cell, ...]


Cell = (
    str | int | float | Estimate | PointsInterval | Worded | LongText | Code | Passes | PartOf | GroupName
    | SampleName | Badge | Linked | Noted | Several | None
)  # fmt: skip


def percent(fraction: float) -> Worded:
    """A fraction that people read in percent."""
    return Worded(fraction, fmt.percent(fraction))


def dollars(amount: float | None, note: str = "") -> Worded:
    """An amount, and what a person must know of it."""
    return Worded(amount, fmt.usd(amount) + note)


def p_value(p: float, digits: int = 3) -> Worded:
    """A p-value."""
    return Worded(p, fmt.p_value(p, digits=digits))


def points_interval(difference: float, low: float | None, high: float | None) -> PointsInterval:
    """A difference of fractions, in percentage points."""
    return PointsInterval(100 * difference, *(None if end is None else 100 * end for end in (low, high)))


def noted(cell: Cell, *notes: Cell) -> Cell:
    """A value with those remarks that say something."""
    said = tuple(note for note in notes if note)
    return Noted(cell, said) if said else cell


def bare(cell: Cell) -> Cell:
    """A value without what only a page shows of it."""
    while isinstance(cell, Linked | Noted):
        cell = cell.cell
    return cell


def read(cell: Cell) -> str:
    """A cell as a person reads it."""
    found = bare(cell)
    words = _WORDS.get(type(found), str)
    return words(found)


def _difference(found: PointsInterval) -> str:
    low, high = (None if end is None else end / 100 for end in (found.low, found.high))
    return f"{fmt.points(found.value / 100)} {fmt.bounds(low, high)}"


def _share(found: PartOf) -> str:
    return f"{fmt.count(found.number)} · {fmt.percent(found.number / max(1, found.total))}"


_WORDS: Mapping[type, Callable[[Any], str]] = MappingProxyType(
    {
        Estimate: fmt.estimate,
        PointsInterval: _difference,
        Worded: lambda found: str(found.shown),
        LongText: lambda found: str(found.name),
        Code: lambda found: str(found.text),
        Badge: lambda found: str(found.reason),
        Passes: lambda found: f"{found.passes} / {found.samples}",
        PartOf: _share,
        GroupName: lambda found: f"{found.by} {found.value}",
        SampleName: lambda found: f"{found.problem_id}#{found.sample}",
        Several: lambda found: ", ".join(map(read, found.cells)),
        float: fmt.quantity,
        int: fmt.count,
        type(None): lambda _: "–",
    }
)


# --------------------------------------------------------------------------------------- tables and parts


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of typed cells under their titles; the first cell of a row names it."""

    slug: str
    """Name of its file."""
    caption: str
    head: tuple[str | Noted, ...]
    rows: list[list[Cell]]
    alone: str = ""
    """What the caption adds where the table stands alone, in a file."""
    strong: frozenset[int] = frozenset()
    """Places of rows that a terminal shows in bold."""
    ruled: frozenset[int] = frozenset()
    """Places of rows that a terminal draws a line above."""
    spare: tuple[str, ...] = ()
    """Columns that a terminal leaves out where it is too narrow, the last one first."""
    upright: bool = False
    """A single row is shown as named values on a terminal."""
    look: str = ""
    """Classes on a page: ``numeric``, ``sortable``, ``metrics``, ..."""

    @property
    def titles(self) -> list[str]:
        """Names of the columns."""
        return [read(title) for title in self.head]


class Facts(msgspec.Struct, frozen=True):
    """Short named values."""

    pairs: list[tuple[str, Cell]]


class Prose(msgspec.Struct, frozen=True, kw_only=True):
    """A paragraph."""

    text: str = ""
    lead: str = ""
    """Its first words, which stand out."""
    tone: str = ""
    """Class on a page: ``note``, ``prose``, ``asked``, ...; a ``heading`` is one."""
    link: tuple[str, str] | None = None
    """Words behind it that lead somewhere on a page, and where."""


class Bullets(msgspec.Struct, frozen=True):
    """Sentences, one below the other."""

    items: list[str | Prose]
    tone: str = "note"


class Cautions(msgspec.Struct, frozen=True):
    """What must be known before a number is quoted, the gravest first."""

    items: list[Prose]
    none: str = ""
    """What a page says where there are none; without it there is nothing."""
    title: str = "Warnings"


class Figure(msgspec.Struct, frozen=True):
    """A chart on a page, and the same numbers as a table, which is all that the others show."""

    chart: Chart
    caption: str
    table: Table | None = None
    plain: bool = False
    """The caption is a sentence rather than the chart's name."""


class Folded(msgspec.Struct, frozen=True):
    """What a page shows when it is opened."""

    title: str
    parts: list[Part]


class Beside(msgspec.Struct, frozen=True):
    """What a page shows side by side; a terminal shows the right part first."""

    left: list[Part]
    right: list[Part]


class On(Flag):
    """What can show a part."""

    PAGE = auto()
    TERMINAL = auto()
    FILES = auto()


class Only(msgspec.Struct, frozen=True):
    """Parts that not everything shows."""

    on: On
    parts: tuple[Part | Callable[[], Iterable[Part]], ...]
    """What takes time to make is made when it is shown."""


class Section(msgspec.Struct, frozen=True):
    """A titled part of a report; without parts there is none."""

    anchor: str
    title: str
    parts: list[Part]
    menu: str = ""
    """Its name in the page's menu; the title where it is empty."""


Part = (
    Table | Facts | Prose | Bullets | Cautions | Code | Figure | Beside | Folded | Only | Section | Markup | None
)
"""What a section holds; `Markup` is shown on a page alone."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A report."""

    kind: str
    """``report``, ``comparison``, ...: what the page calls itself."""
    about: tuple[str, ...]
    """The title, and what it is of."""
    lines: tuple[Part, ...] = ()
    """What the page says below its title."""
    sections: list[Section | None]
    methods: str = ""
    """A paragraph for a paper."""
    data: Markup | None = None
    """What the scripts of the page read."""
    styles: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()


def only(on: On, *parts: Part | Callable[[], Iterable[Part]]) -> Only:
    """Parts that a page, a terminal or files show alone."""
    return Only(on, parts)


def shown_on(parts: Iterable[Part], medium: On) -> Iterator[Part]:
    """Those that a medium shows, out of their `Only`; a section without any is left out."""
    for part in parts:
        if isinstance(part, Only):
            if medium & part.on:
                for inner in part.parts:
                    yield from shown_on(inner() if callable(inner) else [inner], medium)
        elif isinstance(part, Section):
            shown = list(shown_on(part.parts, medium))
            if shown:
                yield Section(part.anchor, part.title, shown, part.menu)
        elif part is not None and (medium is On.PAGE or not isinstance(part, Markup)):
            yield part


def tables(parts: Iterable[Part], medium: On = On.FILES) -> Iterator[Table]:
    """Every table that has a row, also of figures and of what a page folds."""
    for part in shown_on(parts, medium):
        if isinstance(part, Section | Folded):
            yield from tables(part.parts, medium)
        if isinstance(part, Beside):
            yield from tables([*part.left, *part.right], medium)
        found = part.table if isinstance(part, Figure) else part
        if isinstance(found, Table) and found.rows:
            yield found


def stacked(parts: Mapping[str, Table], caption: str, head: tuple[str, ...]) -> Table:
    """Tables of the same columns below each other, each row behind the name of its table.

    Args:
        parts: name -> table; one at least.
        caption: of the whole.
        head: of the whole, with the title of the names first.
    """
    rows: list[list[Cell]] = [[name, *row] for name, table in parts.items() for row in table.rows]
    like = next(iter(parts.values()))
    return msgspec.structs.replace(like, caption=caption, head=head, rows=rows)
