"""Suites: benchmarks that one command runs, with the settings that make each number; read, and found by name.

The suites that come with the package: the TOML files in this folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, get_origin

import msgspec

from truegrade.benchmarks import BENCHMARKS, READERS, known_benchmark
from truegrade.benchmarks import REGISTRY as KNOWN_BENCHMARKS
from truegrade.benchmarks.base import limit_of
from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.files.json_text import line_of, names_of, read_toml
from truegrade.profiles import find_profile
from truegrade.registry import Found, Registry, names_file_or_module
from truegrade.settings import RunSettings, Setting, settings_of
from truegrade.statistics.windows import check_cutoff

# ---------------- What a suite is: benchmarks to be run together, each with the settings that make its number.


NOTHING = (None, (), msgspec.UNSET)
"""Values that say nothing."""

_Name = Annotated[str, msgspec.Meta(min_length=1)]
_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Part = _Positive | _Name


def _field(setting: Setting) -> tuple[str, Any, Any]:
    """A setting as a field of a suite's file, where it need not be said."""
    kind, default = setting.kind | None, None
    if setting.option.reads == "part":
        kind = _Part | None
    elif get_origin(setting.kind) is Sequence:
        kind, default = tuple[_Name, ...], ()
    elif setting.option.least is not None:
        kind = Annotated[setting.kind, msgspec.Meta(ge=setting.option.least)] | None
    return setting.name, Annotated[kind, msgspec.Meta(description=setting.option.text)], default


SuiteSettings: Any = msgspec.defstruct(
    "SuiteSettings",
    [_field(each) for each in settings_of(RunSettings) if each.option.suite],
    kw_only=True, frozen=True, forbid_unknown_fields=True, omit_defaults=True, module=__name__,
)  # fmt: skip
"""The settings that a suite can say, as fields: of all its benchmarks, or of one."""


class SuiteBenchmark(SuiteSettings, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):  # type: ignore[misc, call-arg]
    """One benchmark of a suite; the settings that are not said here are the suite's to say."""

    name: _Name
    """As `truegrade run` takes it: a name, a file, or a module with attribute. Paths begin at the suite's file."""
    args: dict[str, str | bool | int | float] = msgspec.field(default_factory=dict)
    """Task arguments, as ``-T`` gives them."""
    data: _Name | None = None
    """Data file, or a folder that holds it, beside the suite's file."""
    optional: bool = False
    """Left out where its data are not on this machine; the page says so."""


class BenchmarkSuite(SuiteSettings, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):  # type: ignore[misc, call-arg]
    """Benchmarks and settings of those that do not say their own: a TOML file of these fields, or an object."""

    name: _Name
    description: _Name
    """One line for people."""
    benchmarks: Annotated[tuple[SuiteBenchmark, ...], msgspec.Meta(min_length=1)]
    models: tuple[_Name, ...] = ()
    """Asked where the command names none."""


def said_settings(level: BenchmarkSuite | SuiteBenchmark) -> dict[str, Any]:
    """The settings that a suite, or a benchmark of it, says, by name, as `RunSettings` has them."""
    values = {name: getattr(level, name) for name in SuiteSettings.__struct_fields__}
    if not isinstance(values["limit"], tuple):
        values["limit"] = limit_of(values["limit"])
    return {name: value for name, value in values.items() if value not in NOTHING}


def argument(value: str | bool | int | float) -> str:
    """A task argument as ``-T`` would give it: ``true``, ``false``, or the value as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


# -------------- Read a suite's TOML file: every fault is told with its line and field, before anything is run.


def read_suite(path: str | Path) -> BenchmarkSuite:
    """The suite that a file describes, files in it as seen from the file's folder.

    The names of built-in and installed benchmarks and profiles are looked up, and the task arguments of built-in
    benchmarks; Python files that it names are not run.

    Raises:
        BadRecord: the file cannot be read, or a key, a value or a name is at fault; names line and field.
    """
    path = Path(path)
    suite = read_toml(path, BenchmarkSuite, "see docs/benchmarks.md")
    for field, fault in _wrong_values(suite):
        line = line_of(path.read_text(encoding="utf-8"), names_of(field))
        raise BadRecord(path, fault, line=line, field=field)
    return _seen_from(path.parent, suite)


def _wrong_values(suite: BenchmarkSuite) -> Iterator[tuple[str, str]]:
    """Fields whose names nothing answers to, or that mean nothing, each with the reason."""
    yield from _wrong_settings("", suite)
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
    try:
        check_cutoff(of.cutoff)
    except UserError as error:
        yield f"{within}cutoff", str(error)
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


# ------------ Suites by name: built in, offered by installed packages, in a TOML file, or an object in Python.


SUITES: Mapping[str, str] = MappingProxyType(
    {name: f"truegrade.pipeline.suites:{name.upper()}" for name in ("quick", "classic", "today")}
)
"""Built-in suites: name to ``module:attribute``, imported when asked for."""

_ENDING = ".toml"
_ATTRIBUTE = ":SUITE"


def _fault(thing: Any) -> str | None:
    return None if isinstance(thing, BenchmarkSuite) else "is no truegrade.pipeline.suites.BenchmarkSuite"


REGISTRY = Registry[BenchmarkSuite]("suite", SUITES, _fault, readers={_ENDING: read_suite})


def find_suite(given: str | BenchmarkSuite) -> Found[BenchmarkSuite]:
    """The suite that the user means (`truegrade.registry.Registry.find`), and where it comes from.

    Raises:
        UnknownName: no such suite.
        UserError: a file or package is at fault.
    """
    return REGISTRY.find(given)


def is_suite(given: str) -> bool:
    """Whether a suite is meant where a benchmark could be: a TOML file, an attribute ``SUITE`` of a Python file or
    module, or a suite's name that no benchmark has."""
    if given.endswith((_ENDING, _ATTRIBUTE)) or given in SUITES:
        return True
    return given not in BENCHMARKS and given in REGISTRY.names() and given not in KNOWN_BENCHMARKS.names()


_FOLDER = Path(__file__).parent

QUICK = read_suite(_FOLDER / "quick.toml")
CLASSIC = read_suite(_FOLDER / "classic.toml")
TODAY = read_suite(_FOLDER / "today.toml")
