"""Data sets as problems, one file each, and how a name becomes a loaded one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import structs

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.own_rows import rows_benchmark, stem_of
from truegrade.datasets.download import REMOVED
from truegrade.errors import UserError
from truegrade.records import CasesTask, ContestTask, FunctionTask, OracleTask, Problem, SuiteTask
from truegrade.registry import Found, Registry
from truegrade.store.importers.reading import SourceFile

# ------- Benchmarks by name: built in, offered by installed packages, in a Python file, or rows in JSON Lines.

BENCHMARKS: Mapping[str, str] = MappingProxyType(
    {
        "livecodebench": "truegrade.benchmarks.livecodebench:LIVECODEBENCH",
        "humanevalplus": "truegrade.benchmarks.humaneval:HUMANEVALPLUS",
        "mbppplus": "truegrade.benchmarks.mbpp:MBPPPLUS",
        "humaneval": "truegrade.benchmarks.humaneval:HUMANEVAL",
        "mbpp": "truegrade.benchmarks.mbpp:MBPP",
        "mbpp-sanitized": "truegrade.benchmarks.mbpp:MBPP_SANITIZED",
        "humanevalfix": "truegrade.benchmarks.humaneval:HUMANEVALFIX",
        "humanevalsynthesize": "truegrade.benchmarks.humaneval:HUMANEVALSYNTHESIZE",
        "leetcode-dataset": "truegrade.benchmarks.leetcode_dataset:LEETCODE_DATASET",
        "humanevalexplain": "truegrade.benchmarks.humaneval:HUMANEVALEXPLAIN",
        "bigcodebench": "truegrade.benchmarks.bigcodebench:BIGCODEBENCH",
        "cruxeval-output": "truegrade.benchmarks.cruxeval:CRUXEVAL_OUTPUT",
        "cruxeval-input": "truegrade.benchmarks.cruxeval:CRUXEVAL_INPUT",
        "livecodebench-execution": "truegrade.benchmarks.livecodebench:LIVECODEBENCH_EXECUTION",
        "livecodebench-testoutput": "truegrade.benchmarks.livecodebench:LIVECODEBENCH_TESTOUTPUT",
        "dsl-list": "truegrade.benchmarks.execution_tasks:DSL_LIST",
        "execution-prediction": "truegrade.benchmarks.execution_tasks:EXECUTION_PREDICTION",
        "execution-choice": "truegrade.benchmarks.execution_tasks:EXECUTION_CHOICE",
        "quixbugs": "truegrade.benchmarks.quixbugs:QUIXBUGS",
        "micro-repair": "truegrade.benchmarks.micro_repair:MICRO_REPAIR",
    }
)
"""Built-in benchmarks: name to ``module:attribute``, imported when asked for."""


def _fault(thing: Any) -> str | None:
    return None if isinstance(thing, BenchmarkSpec) else "is no truegrade.benchmarks.BenchmarkSpec"


def _of_rows(path: Path) -> BenchmarkSpec:
    """The benchmark that a file of rows is: programs and calls to predict (`ExecutionRow`), or problems to solve.

    Raises:
        BadRecord: the file beside it that describes the problems is at fault.
    """
    with suppress(UserError), SourceFile(path.expanduser(), hashed=False) as file:  # told when the rows are read
        if {"code", "input", "output"} <= file.keys:
            from truegrade.benchmarks.execution_tasks import prediction_of_file

            return prediction_of_file(path, stem_of(path))
    return rows_benchmark(path)


READERS: Mapping[str, Callable[[Path], BenchmarkSpec]] = MappingProxyType(
    {".jsonl": _of_rows, ".jsonl.gz": _of_rows}
)
"""How files that are not Python become benchmarks, by the end of their names."""

REGISTRY = Registry[BenchmarkSpec]("benchmark", BENCHMARKS, _fault, readers=READERS, removed=REMOVED)


def load_benchmark(
    given: str | BenchmarkSpec, data: str | Path | None = None, args: Mapping[str, str] | None = None
) -> Benchmark:
    """Find a benchmark that the user names and read its problems.

    Args:
        given: as `find_benchmark` takes it.
        data: its file, or a folder that holds it; None looks in the known places.
        args: task arguments.

    Raises:
        UnknownName: no such benchmark.
        UserError: its file or an argument is at fault.
    """
    return load_found(REGISTRY.find(given), None if data is None else Path(data), args or {})


def load_found(found: Found[BenchmarkSpec], data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the problems of a benchmark; those that come from outside are looked at first.

    Raises:
        UserError: its file or an argument is at fault, or a problem could not be graded.
    """
    loaded = found.value.load(data, args)
    if found.origin.how == "built-in":
        return loaded
    _check_loaded(found, loaded)
    return structs.replace(loaded, origin=found.origin)


def find_benchmark(given: str | BenchmarkSpec) -> BenchmarkSpec:
    """The benchmark that the user means (`truegrade.registry.Registry.find`); reads no data of built-in ones.

    Raises:
        UnknownName: no such benchmark.
        UserError: a file or package is at fault.
    """
    return REGISTRY.find(given).value


def known_benchmark(name: str) -> BenchmarkSpec:
    """The benchmark of a name that was not said by the user, but read: built in or installed, never a file.

    Raises:
        UnknownName: no such benchmark.
        UserError: the package is at fault.
    """
    return REGISTRY.known(name).value


def list_benchmarks() -> tuple[BenchmarkSpec, ...]:
    """Every benchmark of the table, then those of installed packages that can be used."""
    return tuple(listed.value for listed in REGISTRY.listed() if listed.value is not None)


def _check_loaded(found: Found[BenchmarkSpec], loaded: Any) -> None:
    """See that what a benchmark from outside loads can be asked and graded.

    Raises:
        UserError: it is no benchmark, holds no problems, or a problem has no tests.
    """
    place = f"benchmark {found.name!r} of {found.origin}"
    if not isinstance(loaded, Benchmark):
        raise UserError(f"{place}: its load returns {type(loaded).__name__}, not a truegrade.benchmarks.Benchmark")
    if not loaded.problems:
        raise UserError(f"{place}: it loads no problems, so there is nothing to ask")
    for problem in loaded.problems:
        if problem.benchmark != loaded.name:
            raise UserError(
                f"{place}: problem {problem.id!r} says benchmark {problem.benchmark!r}, where the benchmark is"
                f" {loaded.name!r}; write the same name in both"
            )
        if not _has_tests(problem):
            raise UserError(
                f"{place}: problem {problem.id!r} has no tests, so every answer would pass; give it some"
            )
        if isinstance(problem.task, FunctionTask) and problem.task.prefix and problem.task.setup:
            raise UserError(
                f"{place}: problem {problem.id!r} has a prefix and a setup, which harnesses of code to complete do"
                " not run; write the setup at the head of its tests"
            )


def _has_tests(problem: Problem) -> bool:
    match problem.task:
        case FunctionTask(tests=tests) | SuiteTask(tests=tests):
            return bool(tests.strip())
        case OracleTask(base_inputs=base, plus_inputs=plus):
            return bool(base or plus)
        case CasesTask(cases=cases):
            return bool(cases)
        case ContestTask(public_tests=public, private_tests=private):
            return not (isinstance(private, str) and {public.strip(), private.strip()} <= {"", "[]"})
        case _:
            return True


__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "BenchmarkSpec",
    "find_benchmark",
    "known_benchmark",
    "list_benchmarks",
    "load_benchmark",
]
