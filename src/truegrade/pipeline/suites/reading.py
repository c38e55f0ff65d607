"""Read a suite's TOML file: every fault is told with its line and field, before anything is run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from truegrade.benchmarks.pinned import limit_of
from truegrade.benchmarks.table import BENCHMARKS, READERS, known_benchmark
from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.files.toml_text import line_of, names_of, read_toml
from truegrade.pipeline.suites.suite import BenchmarkSuite, SuiteBenchmark
from truegrade.profiles import find_profile
from truegrade.registry import names_file_or_module
from truegrade.statistics.windows import check_cutoff


def read_suite(path: str | Path) -> BenchmarkSuite:
    """The suite that a file describes, files in it as seen from the file's folder.

    The names of built-in and installed benchmarks and profiles are looked up, and the task arguments of built-in
    benchmarks; Python files that it names are not run.

    Raises:
        BadRecord: the file cannot be read, or a key, a value or a name is at fault; names line and field.
    """
    path = Path(path)
    suite = read_toml(path, BenchmarkSuite, "see docs/suites.md")
    for field, fault in _wrong_values(suite):
        line = line_of(path.read_text(encoding="utf-8"), names_of(field))
        raise BadRecord(path, fault, line=line, field=field)
    return _seen_from(path.parent, suite)


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
