"""Read a suite's TOML file: every fault is told with its line and field, before anything is run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from truegrade.benchmarks.pinned import limit_of
from truegrade.benchmarks.table import BENCHMARKS, READERS, known_benchmark
from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.files.json_text import convert, place_of
from truegrade.pipeline.suites.suite import BenchmarkSuite, SuiteBenchmark
from truegrade.profiles import find_profile
from truegrade.registry import names_file_or_module
from truegrade.statistics.windows import check_cutoff

_BLOCK = re.compile(r"\s*\[\[\s*benchmarks\s*\]\]")
_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*[.=]""")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")


def read_suite(path: str | Path) -> BenchmarkSuite:
    """The suite that a file describes, files in it as seen from the file's folder.

    The names of built-in and installed benchmarks and profiles are looked up, and the task arguments of built-in
    benchmarks; Python files that it names are not run.

    Raises:
        BadRecord: the file cannot be read, or a key, a value or a name is at fault; names line and field.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRecord(path, f"cannot be read: {error}; give the TOML file of a suite") from None
    try:
        suite = convert(_dates_as_text(tomllib.loads(text)), BenchmarkSuite)
    except tomllib.TOMLDecodeError as error:
        said, _, place = str(error).partition(" (at line ")
        line = int(place.partition(",")[0]) if place[:1].isdigit() else None
        raise BadRecord(path, f"is no TOML: {said}; correct it", line=line) from None
    except (RecursionError, ValueError) as error:
        if not isinstance(error, msgspec.ValidationError):  # nested too deeply, or a number of too many digits
            raise BadRecord(path, f"cannot be read: {error}; correct it") from None
        problem, field = _told(error)
        where = _line(text, field)
        raise BadRecord(path, f"{problem}; see docs/benchmarks.md", line=where, field=field or None) from None
    for field, fault in _wrong_values(suite):
        raise BadRecord(path, fault, line=_line(text, field), field=field)
    return _seen_from(path.parent, suite)


def _dates_as_text(table: dict[str, Any]) -> dict[str, Any]:
    """The table with a cut-off that TOML reads as a day written as the text that it stands for."""
    return {name: str(value) if isinstance(value, date) else value for name, value in table.items()}


def _told(error: msgspec.ValidationError) -> tuple[str, str]:
    """What is wrong and where; of an unknown key also the closest known ones."""
    problem, place = place_of(error)
    place = place or ""
    if unknown := _UNKNOWN.fullmatch(problem):
        known = (SuiteBenchmark if place else BenchmarkSuite).__struct_fields__
        close = get_close_matches(unknown[1], known, n=1)
        guess = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
        problem, place = f"no key {unknown[1]!r}, {guess}", f"{place}.{unknown[1]}".lstrip(".")
    return problem, place


def _wrong_values(suite: BenchmarkSuite) -> Iterator[tuple[str, str]]:
    """Fields whose names nothing answers to, or that mean nothing, each with the reason."""
    yield from _wrong_settings("", suite)
    try:
        check_cutoff(suite.cutoff)
    except UserError as error:
        yield "cutoff", str(error)
    for place, entry in enumerate(suite.benchmarks):
        field = f"benchmarks[{place}]"
        yield from _wrong_settings(f"{field}.", entry)
        if _is_file(entry.name) or names_file_or_module(entry.name):
            continue
        try:
            spec = known_benchmark(entry.name)
        except UserError as error:
            yield f"{field}.name", str(error)
            continue
        known = {*spec.args, "prompt"}
        for name in entry.args if entry.name in BENCHMARKS else ():
            if name not in known:
                yield f"{field}.args.{name}", str(UnknownName(f"{entry.name} argument", name, known))


def _wrong_settings(within: str, of: BenchmarkSuite | SuiteBenchmark) -> Iterator[tuple[str, str]]:
    """What both the suite and each of its benchmarks may say."""
    try:
        limit_of(of.limit)
    except ValueError as error:
        yield f"{within}limit", str(error)
    for name in of.profiles:
        if not names_file_or_module(name.partition("+")[0]):
            try:
                find_profile(name)
            except UserError as error:
                yield f"{within}profiles", str(error)


def _is_file(name: str) -> bool:
    return name.endswith((*READERS, ".py")) or ".py:" in name


def _seen_from(folder: Path, suite: BenchmarkSuite) -> BenchmarkSuite:
    """The suite with the files that it names as paths from the working folder."""

    def placed(name: str) -> str:
        return str(folder / Path(name).expanduser()) if _is_file(name) else name

    entries = [
        msgspec.structs.replace(
            entry,
            name=placed(entry.name),
            profiles=tuple(map(placed, entry.profiles)),
            data=None if entry.data is None else str(folder / Path(entry.data).expanduser()),
        )
        for entry in suite.benchmarks
    ]
    return msgspec.structs.replace(
        suite,
        benchmarks=tuple(entries),
        profiles=tuple(map(placed, suite.profiles)),
    )


def _line(text: str, field: str) -> int | None:
    """The line on which a field stands: that of its key, or of the table that should hold it.

    TOML's reader keeps no lines; a key that stands inside a text of several lines can be taken for it.
    """
    parts = re.findall(r"[\w-]+", field)
    best: tuple[int, int] | None = None
    table: list[str] = []
    block = -1
    for number, line in enumerate(text.splitlines(), 1):
        if _BLOCK.match(line):
            block += 1
            here = table = ["benchmarks", str(block)]
        elif found := _TABLE.match(line):
            table = [part.strip() for part in found[1].split(".")]
            here = table = [table[0], str(block), *table[1:]] if table[0] == "benchmarks" else table
        elif found := _KEY.match(line):
            here = [*table, *re.findall(r"[\w-]+", line.partition("=")[0])]
        else:
            continue
        depth = len(here) if here == parts[: len(here)] else 0
        if depth > (best[0] if best else 0):
            best = (depth, number)
    return best[1] if best else None
