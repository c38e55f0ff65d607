"""A comparison as files: one page, or a file for each table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from truegrade.analysis.comparison import Comparison
from truegrade.analysis.standings import RunStanding
from truegrade.errors import UnknownName
from truegrade.files.json_text import encode
from truegrade.report import comparison_wording as words
from truegrade.report.charts.svg import standalone
from truegrade.report.comparison_html import differences_figure, render_comparison
from truegrade.report.comparison_replies import collect_replies
from truegrade.report.exhibits import TEXTS, latex
from truegrade.report.export import make_folder
from truegrade.report.suite_exhibits import comparison_exhibits, standings_exhibit
from truegrade.store.manifest import write_atomically

FORMATS = ("html", "latex", "markdown", "csv", "json")
NAME = "comparison"
"""Of the page and of the folder, where no other is asked for."""


def export_comparison(comparison: Comparison, file_format: str, out: Path | None = None) -> list[Path]:
    """Write a comparison as files and return their paths.

    Args:
        comparison: its runs are read once more for the replies on the page.
        file_format: one of `FORMATS`.
        out: for ``html`` the file, else the folder of the files; None for ``comparison.html`` or ``comparison``.

    Raises:
        UnknownName: no such format.
        UserError: ``out`` cannot be made.
    """
    if file_format not in FORMATS:
        raise UnknownName("format of a comparison", file_format, FORMATS)
    if file_format == "html":
        path = out or Path(f"{NAME}.html")
        make_folder(path.parent)
        content = render_comparison(comparison, collect_replies(comparison))
        write_atomically(path, content.encode("utf-8", "replace"))
        return [path]
    folder = out or Path(NAME)
    made = list(_files(comparison, file_format))
    make_folder(folder)
    for name, data in made:
        write_atomically(folder / name, data)
    return [folder / name for name, _ in made]


def export_standings(found: Sequence[RunStanding], file_format: str, out: Path | None = None) -> list[Path]:
    """Write the table of models and benchmarks as a file, and return its path in a list.

    Args:
        found: the runs, in order.
        file_format: one of `FORMATS` but ``html``.
        out: the folder; None for ``comparison``.

    Raises:
        UnknownName: no such format.
        UserError: ``out`` cannot be made.
    """
    known = tuple(name for name in FORMATS if name != "html")
    if file_format not in known:
        raise UnknownName("format of a table", file_format, known)
    if file_format == "json":
        name, content = "models.json", encode(found, enc_hook=str, indent=2) + b"\n"
    else:
        ending, write = TEXTS[file_format]
        name, content = f"models{ending}", write(standings_exhibit(found)).encode()
    folder = out or Path(NAME)
    make_folder(folder)
    write_atomically(folder / name, content)
    return [folder / name]


def _files(comparison: Comparison, file_format: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file of a format other than the page."""
    if file_format == "json":
        yield f"{NAME}.json", encode(comparison, enc_hook=str, indent=2) + b"\n"
        return
    ending, write = TEXTS[file_format]
    for exhibit in comparison_exhibits(comparison):
        yield f"{exhibit.slug}{ending}", write(exhibit).encode()
    said = " ".join(words.sentences(comparison))
    if file_format == "latex":
        yield "methods.tex", f"{latex(said)}\n".encode()
    elif file_format == "markdown":
        yield "methods.md", f"{said}\n".encode()
    yield "differences.svg", standalone(differences_figure(comparison)).encode()
