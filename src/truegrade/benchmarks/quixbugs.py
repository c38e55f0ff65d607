"""QuixBugs: forty classic algorithms, each with a bug of one line to find and repair.

Lin et al., QuixBugs, SPLASH Companion 2017; jkoppel/QuixBugs@4257f44. 31 programs have JSON tests, calls with
plain values; the other 9, about graphs and linked lists, have pytest modules, kept but for their imports.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from truegrade.benchmarks.base import (
    ALLOW_MODIFIED,
    Benchmark,
    BenchmarkSpec,
    check_arguments,
    choice,
    flag,
    outside,
)
from truegrade.datasets import SOURCES, LocatedFile, Rows, check_rows, read_source
from truegrade.datasets.checkouts import SPLITS, is_quixbugs_checkout, rows_of_quixbugs, split_of
from truegrade.files import syntax
from truegrade.records import Case, CasesTask, FunctionTask, Problem

NAME = "quixbugs"
SLOW_CPU_S = 900.0
"""CPU seconds granted where slow tests are to run; knapsack's takes about 240."""

_ID = "QuixBugs/"
_SOURCE = SOURCES[NAME]
_ARGS = {
    "split": f"programs: all (default), {', '.join(SPLITS)}, json (31 with plain tests), graph (the 9 others)",
    "slow": "skip (default) the 2 tests that upstream skips, or run them; levenshtein's never ends",
    **ALLOW_MODIFIED,
}


class QuixBugsRow(msgspec.Struct, frozen=True):
    """A program with its bug, its correction and its tests."""

    name: str
    buggy: str
    correct: str
    test_kind: Literal["json", "pytest"]
    tests: tuple[tuple[tuple[Any, ...], Any], ...] | None = None
    compare: str = "eq"
    slow_tests: tuple[int, ...] = ()
    upstream_skipped: tuple[int, ...] = ()
    pytest_source: str = ""
    node_source: str = ""


def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the programs out of the pinned file, or out of a checkout of upstream's repository.

    Raises:
        UserError: the data are not found or not the pinned ones, or an argument is not known.
    """
    check_arguments(NAME, args, _ARGS)
    split = choice(args, "split", ("all", *SPLITS, "json", "graph"))
    run_slow = choice(args, "slow", ("skip", "run")) == "run"
    read = _rows(None if data is None else data.expanduser(), modified=flag(args, "allow_modified"))
    problems = [_problem(row, read.dataset_sha256, run_slow=run_slow) for row in read.rows if _belongs(row, split)]
    ids = (problem.id for problem in problems)
    return Benchmark(
        name=NAME,
        problems=tuple(problems),
        left_out=outside(ids, (f"{_ID}{row.name}" for row in read.rows), args, ("split",)),
        dataset_sha256=read.dataset_sha256,
        source=read.source,
        modified=read.modified,
        args=dict(args),
    )


def _rows(data: Path | None, *, modified: bool) -> Rows[QuixBugsRow]:
    if data is None or not is_quixbugs_checkout(data):
        return read_source(_SOURCE, QuixBugsRow, data, allow_modified=modified)
    located = LocatedFile(path=data, origin=str(data))
    return check_rows(_SOURCE, QuixBugsRow, located, rows_of_quixbugs(data), allow_modified=modified)


def _belongs(row: QuixBugsRow, split: str) -> bool:
    if split == "all":
        return True
    if split in SPLITS:
        return row.name in SPLITS[split]
    return (split == "json") == (row.test_kind == "json")


def _problem(row: QuixBugsRow, digest: str, *, run_slow: bool) -> Problem:
    skipped = () if run_slow else row.upstream_skipped
    tags = {"tests": "json" if row.test_kind == "json" else "graph"}
    if any(row.name in names for names in SPLITS.values()):  # a modified file may hold others
        tags["split"] = split_of(row.name)
    if skipped:
        tags["skipped"] = ",".join(map(str, skipped))
    name = f"{_ID}{row.name}"
    task = _graph_task(row) if row.tests is None else _json_task(row, row.tests, skipped)
    return Problem(id=name, benchmark=NAME, dataset_sha256=digest, cluster=name, task=task, tags=tags)


def _json_task(
    row: QuixBugsRow, tests: tuple[tuple[tuple[Any, ...], Any], ...], skipped: tuple[int, ...]
) -> CasesTask:
    runs_slow = set(row.upstream_skipped) - set(skipped)
    return CasesTask(
        entry_point=row.name,
        buggy=row.buggy,
        reference=row.correct,
        cases=tuple(Case(arguments=arguments, expected=expected) for arguments, expected in tests),
        comparator=row.compare,
        skipped=skipped,
        slow=row.slow_tests,
        cpu_s=SLOW_CPU_S if runs_slow else None,
    )


def _graph_task(row: QuixBugsRow) -> FunctionTask:
    """The module's tests, called one after the other; what its nodes are of travels with them."""
    kept, tests = _without_imports(row.pytest_source)
    calls = "".join(f"{test}()\n" for test in tests)
    return FunctionTask(
        prompt=row.buggy,
        entry_point=row.name,
        setup=row.node_source,
        tests=f"{kept}\n{calls}",
        reference=row.correct,
        buggy=row.buggy,
        plain_arguments=not row.node_source,
    )


def _without_imports(module: str) -> tuple[str, list[str]]:
    """A pytest module without its imports, which choose the program under test; and its tests' names."""
    lines = module.splitlines(keepends=True)
    tests = []
    for node in reversed(syntax.parse(module).body):
        if isinstance(node, ast.Import | ast.ImportFrom | ast.If):
            del lines[node.lineno - 1 : node.end_lineno]
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            tests.append(node.name)
    return "".join(lines).strip() + "\n", tests[::-1]


QUIXBUGS = BenchmarkSpec(
    name=NAME,
    summary="Repair a classic algorithm with a bug in one line; its specification is a docstring.",
    current=False,
    tasks="repair",
    size=_SOURCE.size,
    licence=_SOURCE.licence,
    citation=_SOURCE.citation,
    source=_SOURCE.name,
    load=load,
    args=_ARGS,
)
