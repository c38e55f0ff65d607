"""Benchmarks by name: the built-in table, installed entry points, and a user's own file."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from pkgutil import resolve_name
from types import CodeType, MappingProxyType

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.errors import UnknownName, UserError

BENCHMARKS: Mapping[str, str] = MappingProxyType(
    {
        "humaneval": "truegrade.benchmarks.humaneval:HUMANEVAL",
        "humanevalplus": "truegrade.benchmarks.humanevalplus:HUMANEVALPLUS",
        "mbpp": "truegrade.benchmarks.mbpp:MBPP",
        "mbpp-sanitized": "truegrade.benchmarks.mbpp:MBPP_SANITIZED",
        "mbppplus": "truegrade.benchmarks.mbppplus:MBPPPLUS",
        "cruxeval-output": "truegrade.benchmarks.cruxeval:CRUXEVAL_OUTPUT",
        "cruxeval-input": "truegrade.benchmarks.cruxeval:CRUXEVAL_INPUT",
        "execution-prediction": "truegrade.benchmarks.execution_prediction:EXECUTION_PREDICTION",
        "execution-choice": "truegrade.benchmarks.execution_choice:EXECUTION_CHOICE",
        "dsl-list": "truegrade.benchmarks.dsl_list:DSL_LIST",
        "livecodebench": "truegrade.benchmarks.livecodebench:LIVECODEBENCH",
        "livecodebench-execution": "truegrade.benchmarks.livecodebench_execution:LIVECODEBENCH_EXECUTION",
        "livecodebench-testoutput": "truegrade.benchmarks.livecodebench_testoutput:LIVECODEBENCH_TESTOUTPUT",
        "quixbugs": "truegrade.benchmarks.quixbugs:QUIXBUGS",
        "micro-repair": "truegrade.benchmarks.micro_repair:MICRO_REPAIR",
    }
)
"""Built-in benchmarks: name to ``module:attribute``, imported when asked for."""

ENTRY_POINTS = "truegrade.benchmarks"
"""Group under which an installed package offers benchmarks: name to a `BenchmarkSpec`."""


def load_benchmark(name: str, data: Path | None = None, args: Mapping[str, str] | None = None) -> Benchmark:
    """Find a benchmark and read its problems.

    Args:
        name: of the table, of an entry point, or the path of a Python file that defines ``BENCHMARK``.
        data: its file, or a folder that holds it; None looks in the known places.
        args: task arguments.

    Raises:
        UnknownName: no such benchmark.
        UserError: its file or an argument is at fault.
    """
    return find_benchmark(name).load(data, args or {})


def find_benchmark(name: str) -> BenchmarkSpec:
    """The entry of that name; reads no data. Raises as `load_benchmark` does."""
    if name in BENCHMARKS:
        return _built_in(name)
    if name.endswith(".py"):
        return _from_file(Path(name).expanduser())
    installed = _installed()
    if name in installed:
        return _from_entry_point(installed[name])
    raise UnknownName("benchmark", name, {*BENCHMARKS, *installed}, hint="`truegrade benchmarks` shows them all")


def list_benchmarks() -> tuple[BenchmarkSpec, ...]:
    """Every benchmark of the table, then those of installed packages."""
    others = [entry for name, entry in _installed().items() if name not in BENCHMARKS]
    return (*map(_built_in, BENCHMARKS), *map(_from_entry_point, others))


def _built_in(name: str) -> BenchmarkSpec:
    spec: BenchmarkSpec = resolve_name(BENCHMARKS[name])
    return spec


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def _from_entry_point(entry: EntryPoint) -> BenchmarkSpec:
    try:
        found = entry.load()
    except Exception as error:
        raise UserError(
            f"benchmark {entry.name!r} ({entry.value}) cannot be imported: {type(error).__name__}: {error};"
            " repair or uninstall the package that offers it"
        ) from error
    return _checked(found, f"benchmark {entry.name!r} ({entry.value})")


class _FromSource(SourceFileLoader):
    """Compiles a file each time: Python's cache of compiled files does not see an edit within the same second."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


def _from_file(path: Path) -> BenchmarkSpec:
    if not path.is_file():
        raise UserError(f"{path}: no such file; a benchmark file is Python and defines BENCHMARK")
    found = importlib.util.spec_from_file_location(path.stem, path, loader=_FromSource(path.stem, str(path)))
    if found is None or found.loader is None:
        raise UserError(f"{path}: cannot be imported as Python")
    module = importlib.util.module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise UserError(f"{path}: cannot be imported: {type(error).__name__}: {error}") from error
    return _checked(getattr(module, "BENCHMARK", None), str(path))


def _checked(found: object, place: str) -> BenchmarkSpec:
    if not isinstance(found, BenchmarkSpec):
        raise UserError(f"{place} must be, or define as BENCHMARK, a truegrade.benchmarks.BenchmarkSpec")
    return found
