"""A suite as files: the page, a file for each table, or JSON."""

from __future__ import annotations

from pathlib import Path

import msgspec

from truegrade.analysis.standings import LeftOutBenchmark, SuiteStanding, pair_standing
from truegrade.errors import UnknownName
from truegrade.files.json_text import encode, read_json
from truegrade.report.exhibit_text import TEXTS
from truegrade.report.export import FOLDER, make_folder
from truegrade.report.suite_exhibits import suite_exhibits
from truegrade.report.suite_html import render_suite
from truegrade.store.manifest import write_atomically

PAGE, RECORD = "suite.html", "suite.json"
FORMATS = ("html", "latex", "markdown", "csv", "json")


class StoredPair(msgspec.Struct, frozen=True, kw_only=True):
    """What `RECORD` says of a run besides its numbers, which the run itself tells."""

    benchmark: str
    model: str
    run: str
    profiles: tuple[str, ...]
    failure: str | None


class StoredSuite(msgspec.Struct, frozen=True, kw_only=True):
    """The part of `RECORD` that is read again."""

    name: str
    description: str
    updated: str
    origins: dict[str, str]
    pairs: list[StoredPair]
    left_out: list[LeftOutBenchmark]


def write_suite(found: SuiteStanding) -> Path:
    """Write the page and the record beside the runs, and return the page's path.

    Raises:
        UserError: the files cannot be written.
    """
    make_folder(found.folder)
    write_atomically(found.folder / RECORD, _record(found))
    return _write_page(found, found.folder / PAGE)


def export_suite(folder: Path, file_format: str, out: Path | None = None) -> list[Path]:
    """Write the page of a suite anew, or its tables as files, with the numbers of its runs; return their paths.

    Args:
        folder: that holds the runs and `RECORD`.
        file_format: one of `FORMATS`.
        out: the page, or the folder of the files; None for `PAGE` or ``report`` in ``folder``.

    Raises:
        UnknownName: no such format.
        BadRecord: the record is damaged, or a run is.
        UserError: ``out`` cannot be made.
    """
    if file_format not in FORMATS:
        raise UnknownName("format of a suite", file_format, FORMATS)
    found = _read(folder)
    if file_format == "html":
        page = out or folder / PAGE
        make_folder(page.parent)
        return [_write_page(found, page)]
    made = {"suite.json": _record(found)}
    if file_format != "json":
        ending, write = TEXTS[file_format]
        made = {f"{exhibit.slug}{ending}": write(exhibit).encode() for exhibit in suite_exhibits(found)}
    files = out or folder / FOLDER
    make_folder(files)
    for name, content in made.items():
        write_atomically(files / name, content)
    return [files / name for name in made]


def _write_page(found: SuiteStanding, page: Path) -> Path:
    write_atomically(page, render_suite(found, page.parent).encode("utf-8", "replace"))
    return page


def _record(found: SuiteStanding) -> bytes:
    return encode(found, enc_hook=str, indent=2) + b"\n"


def _read(folder: Path) -> SuiteStanding:
    stored = read_json(folder / RECORD, StoredSuite, "run the suite again")
    pairs = [
        pair_standing(
            folder / Path(pair.run).name, pair.profiles,
            benchmark=pair.benchmark, model=pair.model, failure=pair.failure,
        )
        for pair in stored.pairs
    ]  # fmt: skip
    return SuiteStanding(
        name=stored.name, description=stored.description, updated=stored.updated, origins=stored.origins,
        folder=folder, pairs=pairs, left_out=stored.left_out,
    )  # fmt: skip
