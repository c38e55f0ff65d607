"""What a benchmark is, and how one whose file is pinned is loaded: arguments, rows, problems."""

from __future__ import annotations

import ast
import symtable
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import msgspec

from truegrade.datasets import PinnedFile, read_source
from truegrade.errors import UnknownName, UserError, first_few
from truegrade.extraction.parsing import quietly
from truegrade.files import syntax
from truegrade.grading.marks import installed_version
from truegrade.records import Problem, Task
from truegrade.registry import Origin
from truegrade.statistics.windows import FILTERS, check_window, inside

# ------------------------------------------- What a benchmark is: a named, pinned data set read into problems.


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A data set, loaded: what a run iterates over."""

    name: str
    problems: tuple[Problem, ...]
    """In the data set's order."""
    dataset_sha256: str
    """Hash of the bytes read (uncompressed)."""
    source: str
    """Where the bytes came from, for the manifest: a local path or the pinned origin."""
    args: dict[str, str] = {}
    """Task arguments (``-T k=v``) in force."""
    modified: str | None = None
    """How the data differs from the pinned data, in words; None where it does not, or none is pinned."""
    left_out: Mapping[str, str] = {}
    """Why the arguments leave out problems of the data set, by their ids: ``needs torch, not installed here``."""
    part: str | None = None
    """In words, where what is installed here decides which problems are left out, and not the arguments alone."""
    origin: Origin | None = None
    """Where a benchmark that is not built in was found; filled in when it is loaded by name."""
    agent: str = ""
    """Name of the agent that must ask, where a question alone means nothing; else empty."""

    def by_id(self) -> Mapping[str, Problem]:
        """Problems by id."""
        return {problem.id: problem for problem in self.problems}


class BenchmarkSpec(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the table of benchmarks: what `truegrade list benchmarks` prints, and how to load it."""

    name: str
    summary: str
    """One sentence for people, with its full stop."""
    tasks: str
    """Which kind of problem it holds (`truegrade.kinds`); where an argument decides, both: ``A or B``."""
    size: int | None
    """Number of problems; None where the user's file decides."""
    licence: str
    citation: str
    current: bool = True
    """Whether `truegrade list benchmarks` lists it without ``--all``."""
    source: str | None = None
    """Name of the pinned data set it reads (`truegrade data list`); None if the user brings the file."""
    load: Callable[[Path | None, Mapping[str, str]], Benchmark]
    """``load(data, args)``: from ``data`` (a file, or a folder that holds it) or from the cache; the module
    refuses unknown ``args`` with UserError."""
    args: dict[str, str] = {}
    """Task arguments it takes, each with its meaning."""
    filters: tuple[str, ...] = ()
    """Those of ``args`` that only leave problems out, by their tags: what a run can be narrowed by afterwards
    (`truegrade.statistics.windows.FILTERS`)."""


# ----------- Load a benchmark whose file is pinned: check the arguments, read the rows, make problems of them.

# ---------------------------------------- Task arguments (``-T k=v``): checked against what a benchmark takes.


ALLOW_MODIFIED: Mapping[str, str] = MappingProxyType(
    {"allow_modified": "true: read a file whose rows or hash are not the pinned ones (default false)"}
)
"""The argument that every benchmark with a pinned file takes."""


def check_arguments(benchmark: str, args: Mapping[str, str], known: Mapping[str, str]) -> None:
    """Refuse arguments that the benchmark does not take.

    Raises:
        UnknownName: names the argument and the closest known ones.
    """
    for name in args:
        if name not in known:
            raise UnknownName(f"{benchmark} argument", name, known)


def in_window(path: Path, problems: Sequence[Problem], args: Mapping[str, str]) -> tuple[Problem, ...]:
    """The problems that lie in the window that the arguments ask for.

    Args:
        path: of the data, for messages.
        problems: all of them, with their tags.
        args: those of `truegrade.statistics.windows.FILTERS` are looked at.

    Raises:
        UserError: a date is none, or nothing is left.
    """
    window = {name: value for name, value in args.items() if name in FILTERS}
    check_window(window)
    kept = tuple([problem for problem in problems if inside(problem.tags, window)])
    if not kept:
        raise UserError(f"{path}: none of its {len(problems)} problems fits the arguments; widen the window")
    return kept


def outside(
    kept: Iterable[str], ids: Iterable[str], args: Mapping[str, str], names: Collection[str]
) -> dict[str, str]:
    """`Benchmark.left_out`: the ids that are not kept, where arguments of these names say which problems are."""
    asked = " ".join(f"{name}={value}" for name, value in args.items() if name in names)
    return dict.fromkeys(set(ids).difference(kept), f"it is none of those that `task_args` {asked} asks for")


def flag(args: Mapping[str, str], name: str) -> bool:
    """A ``true`` or ``false`` argument, false if it is not given.

    Raises:
        UserError: it is neither.
    """
    return choice(args, name, ("false", "true")) == "true"


def choice(args: Mapping[str, str], name: str, choices: Sequence[str]) -> str:
    """An argument with a closed set of values; the first is the default.

    Raises:
        UserError: it is none of them.
    """
    value = args.get(name, choices[0])
    if value not in choices:
        raise UserError(f"`task_args` {name}={value}: must be one of {', '.join(choices)}")
    return value


def whole_number(args: Mapping[str, str], name: str, default: int, allowed: range) -> int:
    """An argument that is a whole number out of a range.

    Raises:
        UserError: it is none, or out of the range.
    """
    text = args.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or int(text) not in allowed:
        raise UserError(
            f"`task_args` {name}={text}: must be a whole number from {allowed.start} to {allowed.stop - 1}"
        )
    return int(text)


def limit_of(text: int | str | None) -> int | tuple[int, int] | None:
    """A limit as `truegrade.pipeline.loading.select` takes it, from ``N`` or ``A-B``; None for none.

    Raises:
        ValueError: it is neither, or it is empty.
    """
    if text is None or isinstance(text, int):
        return text
    first, dash, last = text.partition("-")
    try:
        limit = (int(first), int(last)) if dash else int(first)
    except ValueError:
        raise ValueError(f"{text}: give a number (the first N) or a range A-B, 1-based.") from None
    start, end = limit if isinstance(limit, tuple) else (1, limit)
    if start < 1 or end < start:
        raise ValueError(f"{text}: problems are counted from 1, and the range must not be empty.")
    return limit


Row = TypeVar("Row", bound=msgspec.Struct)


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """What a benchmark makes of one row; the rest of a `Problem` is the same for all."""

    id: str
    task: Task
    tags: dict[str, str] = {}
    packages: tuple[str, ...] = ()
    """Installed packages that programs may import besides those of the profile's limits."""


def load_pinned(
    name: str,
    source: PinnedFile,
    row_type: type[Row],
    item: Callable[[Row], Item],
    data: Path | None,
    args: Mapping[str, str],
    *,
    known: Mapping[str, str] = ALLOW_MODIFIED,
) -> Benchmark:
    """Read all rows of a source into a benchmark; every problem is a cluster of its own.

    Args:
        name: of the benchmark.
        source: the pinned file.
        row_type: struct of one row.
        item: makes a task of a row.
        data: where the file is (`truegrade.datasets.download`).
        args: task arguments given.
        known: task arguments taken; ``allow_modified`` is one of them.

    Raises:
        UserError: the file is not found or not the pinned one, or an argument is not known.
    """
    check_arguments(name, args, known)
    modified = flag(args, "allow_modified")
    read = read_source(source, row_type, data, allow_modified=modified)
    items = [item(row) for row in read.rows]
    return Benchmark(
        name=name,
        problems=tuple(
            Problem(
                id=entry.id,
                benchmark=name,
                dataset_sha256=read.dataset_sha256,
                cluster=entry.id,
                task=entry.task,
                tags=entry.tags,
                packages=entry.packages,
            )
            for entry in items
        ),
        dataset_sha256=read.dataset_sha256,
        source=read.source,
        modified=read.modified,
        args=dict(args),
    )


# ----------------------------------------------------------------------------------------------------------------
# The task argument ``packages``: what becomes of problems that need packages besides the standard library.


ALL, INSTALLED, STANDARD = "all", "installed", "standard"
_SHOWN = 12
"""Packages that a message names."""
PACKAGES: Mapping[str, str] = MappingProxyType(
    {
        "packages": "all (default): refused where a package is not installed; installed: problems that lack one"
        " are left out; standard: only problems that need none"
    }
)


def with_packages(loaded: Benchmark, args: Mapping[str, str], whole: Benchmark | None = None) -> Benchmark:
    """The benchmark, or what of it the argument says; what was left out is told as a part, problem by problem too.

    Programs may import what any problem of the whole benchmark needs, so that no verdict depends on which
    problems are run together.

    Args:
        loaded: problems with the packages that each needs; the extra that installs them has the benchmark's name.
        args: task arguments given.
        whole: the benchmark of which ``loaded`` is a subset.

    Raises:
        UserError: a package is not installed, and it was not said what is to be left out, or nothing is left.
    """
    wanted = choice(args, "packages", (ALL, INSTALLED, STANDARD))
    problems, missing = loaded.problems, _missing(loaded)
    counted = Counter(name for problem in problems for name in problem.packages if name in missing)
    names = first_few([f"{name} ({count})" for name, count in counted.most_common()], _SHOWN)
    if wanted == STANDARD:
        kept = tuple([problem for problem in problems if not problem.packages])
        why = "that need more than the standard library"
    else:
        kept = tuple([problem for problem in problems if not missing.intersection(problem.packages)])
        why = f"whose packages are not installed: {names}"
    lacking = f"{len(problems) - len(kept)} of {len(problems)} problems"
    if wanted == ALL and missing:
        raise UserError(
            f"{loaded.name}: {lacking} need packages that are not installed: {names}; pip install"
            f" 'truegrade[{loaded.name}]', or leave them out with `task_args` packages=installed"
        )
    if not kept:
        raise UserError(f"`task_args` packages={wanted}: leaves out {lacking}, those {why}")
    offered = tuple(sorted({name for problem in (whole or loaded).problems for name in problem.packages}))
    ids = {problem.id for problem in kept}
    left_out = dict(loaded.left_out)
    for problem in problems:
        if problem.id not in ids and wanted == STANDARD:
            left_out[problem.id] = (
                f"it needs {', '.join(problem.packages)}, and `task_args` packages=standard is set"
            )
        elif problem.id not in ids:
            lacks = " and ".join(name for name in problem.packages if name in missing)
            left_out[problem.id] = f"it needs {lacks}, not installed here: pip install 'truegrade[{loaded.name}]'"
    return msgspec.structs.replace(
        loaded,
        problems=tuple([msgspec.structs.replace(problem, packages=offered) for problem in kept]),
        left_out=left_out,
        part=f"{lacking} are left out {why}" if len(kept) < len(problems) else None,
    )


def _missing(loaded: Benchmark) -> set[str]:
    """Names of the packages that some problem needs and that are not installed."""
    return {name for problem in loaded.problems for name in problem.packages if not installed_version(name)}


# ------ Which names tests and a reference share: the entry point, and what else only the solution can provide.


Read = TypeVar("Read")


def entry_point(task_id: str, reference: str, tests: str) -> str:
    """The function that the tests call and the reference defines; the first, if there are several.

    Raises:
        UserError: the tests call no function of the reference, or one of the two is no Python.
    """
    defined = {
        node.name
        for node in _parse(task_id, reference).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for node in ast.walk(_parse(task_id, tests)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in defined:
            return node.func.id
    raise UserError(f"{task_id}: its tests call no function that its reference solution defines")


def names_only_solution_binds(task_id: str, reference: str, tests: str, entry_point: str) -> tuple[str, ...]:
    """Names that the tests need, besides the entry point, and that only the reference binds; sorted.

    A name that the tests bind themselves, or a builtin that the reference leaves alone, does not count.

    Raises:
        UserError: one of the two programs is no Python.
    """
    needed = unbound_names(task_id, tests) - {entry_point}
    return tuple(sorted(needed & _bound(_symbols(task_id, reference))))


def unbound_names(task_id: str, tests: str) -> set[str]:
    """Names that tests use and bind nowhere, built-in ones included.

    Raises:
        UserError: the tests are no Python.
    """
    tested = _symbols(task_id, tests)
    return set(_used(tested)) - _bound(tested)


def _symbols(task_id: str, program: str) -> symtable.SymbolTable:
    return _quietly(task_id, lambda: symtable.symtable(program, task_id, "exec"))


def _bound(module: symtable.SymbolTable) -> set[str]:
    """Names that a module assigns, defines or imports at its top level."""
    return {symbol.get_name() for symbol in module.get_symbols() if symbol.is_assigned() or symbol.is_imported()}


def _used(module: symtable.SymbolTable) -> Iterator[str]:
    """Names that a module reads, at its top level or from within functions."""
    yield from (symbol.get_name() for symbol in module.get_symbols() if symbol.is_referenced())
    for inner in module.get_children():
        yield from _used_globals(inner)


def _used_globals(scope: symtable.SymbolTable) -> Iterator[str]:
    # In a function that is named ``top``, `symtable` takes what is bound for global as well.
    found = (symbol for symbol in scope.get_symbols() if symbol.is_global() and not symbol.is_local())
    yield from (symbol.get_name() for symbol in found)
    for inner in scope.get_children():
        yield from _used_globals(inner)


def _parse(task_id: str, program: str) -> ast.Module:
    return _quietly(task_id, lambda: syntax.parse(program))


def _quietly(task_id: str, read: Callable[[], Read]) -> Read:
    """Read a program without warnings: MBPP has strings with invalid escapes, and they are no news."""
    try:
        with quietly():
            return read()
    except SyntaxError as error:
        raise UserError(f"{task_id}: its code is no Python: {error.msg} (line {error.lineno})") from None
