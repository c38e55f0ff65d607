"""CWEval in Python: functions whose obvious implementation is insecure, with tests of function and of security.

Peng et al., CWEval, arXiv:2501.08200; Co1lin/CWEval@e9a2a12 ``benchmark/core/py/``.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegrade.benchmarks.base import (
    ALLOW_MODIFIED,
    PACKAGES,
    Benchmark,
    BenchmarkSpec,
    check_arguments,
    flag,
    with_packages,
)
from truegrade.datasets import SOURCES, LocatedFile, Rows, check_rows, read_source
from truegrade.datasets.checkouts import is_cweval_checkout, rows_of_cweval
from truegrade.errors import UserError
from truegrade.extraction.parsing import quietly
from truegrade.files import syntax
from truegrade.records import Problem, SuiteTask

NAME = "cweval"
SOLUTION = "# BEGIN SOLUTION"

LEFT_OUT = ("cwe_078_0",)
"""Runs ``ls``, and is insecure where it runs a shell; the sandbox has neither, so no program would pass."""

_SOURCE = SOURCES[NAME]
_ARGS = {**PACKAGES, **ALLOW_MODIFIED}
_DISTRIBUTIONS = {"Crypto": "pycryptodome", "argon2": "argon2-cffi", "jwt": "PyJWT", "yaml": "PyYAML"}
"""Modules whose package has another name."""
_HARNESS = frozenset({"pytest", "wrapt_timeout_decorator"})
"""What the tests import besides that is no library of a solution."""
_CPU_S = 4.0
"""What upstream's decorator ``timeout(4)`` grants a call, in seconds; here to a suite."""
_KEY_CPU_S = {"cwe_326_0": 60.0, "cwe_326_1": 180.0}
"""CPU seconds of suites whose right programs make keys of primes that are drawn: ten references of 326_1 took 5 to
35, of 326_0 2 to 7."""


class CWEvalRow(msgspec.Struct, frozen=True):
    """The two files of a task."""

    name: str
    """The number of the weakness, and of the task: ``cwe_022_0``."""
    task: str
    test: str


def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the tasks out of the pinned file, or out of a checkout of upstream's repository.

    Raises:
        UserError: the data are not found or not the pinned ones, an argument is not known, or a problem needs a
            package that is not installed.
    """
    check_arguments(NAME, args, _ARGS)
    read = _read(data, allow_modified=flag(args, "allow_modified"))
    loaded = Benchmark(
        name=NAME,
        problems=tuple(_problem(row, read.dataset_sha256) for row in read.rows if row.name not in LEFT_OUT),
        dataset_sha256=read.dataset_sha256,
        source=read.source,
        modified=read.modified,
        args=dict(args),
    )
    return with_packages(loaded, args)


def _read(data: Path | None, *, allow_modified: bool) -> Rows[CWEvalRow]:
    if data is None or not is_cweval_checkout(data.expanduser()):
        return read_source(_SOURCE, CWEvalRow, data, allow_modified=allow_modified)
    folder = data.expanduser()
    located = LocatedFile(path=folder, origin=str(folder))
    return check_rows(_SOURCE, CWEvalRow, located, rows_of_cweval(folder), allow_modified=allow_modified)


def _problem(row: CWEvalRow, digest: str) -> Problem:
    name = f"CWEval/{row.name}"
    module = f"{row.name}_task"
    head, found, _ = row.task.partition(SOLUTION)
    with quietly():
        tests = syntax.parse(row.test)
    if not found:
        raise UserError(f"{_SOURCE.file}: {row.name}: field task lacks {SOLUTION!r}; check CWEval out again")
    libraries = _libraries(row.task, tests, module)
    task = SuiteTask(
        prompt=head.strip() + "\n",
        entry_point=_tested(tests, module),
        prefix=head.strip() + "\n",
        tests=_part(tests, "functionality"),
        security=_part(tests, "security"),
        framework="pytest",
        module=module,
        packages=libraries,
        reference=row.task,
        cpu_s=_KEY_CPU_S.get(row.name, _CPU_S if "wrapt_timeout_decorator" in row.test else None),
    )
    tags = {"cwe": row.name.split("_")[1]}
    if libraries:
        tags["libs"] = ", ".join(libraries)
    return Problem(
        id=name,
        benchmark=NAME,
        dataset_sha256=digest,
        cluster=name,
        task=task,
        tags=tags,
        packages=tuple(_DISTRIBUTIONS.get(library, library) for library in libraries),
    )


def _tested(tests: ast.Module, module: str) -> str:
    """The function that the tests import."""
    return next(
        node.names[0].name for node in tests.body if isinstance(node, ast.ImportFrom) and node.module == module
    )


def _libraries(task: str, tests: ast.Module, module: str) -> tuple[str, ...]:
    """Modules outside of the standard library that a task or its tests import."""
    with quietly():
        nodes = [*ast.walk(syntax.parse(task)), *ast.walk(tests)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    known = {*sys.stdlib_module_names, *_HARNESS, module}
    return tuple(sorted({name.partition(".")[0] for name in names} - known))


class _Part(ast.NodeTransformer):
    """Takes one kind of cases out of a test module, and what this package does in another way."""

    def __init__(self, marker: str) -> None:
        self._cases = f"pytest_params_{marker}"

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | None:
        """Without the tests of upstream's own insecure examples, and without ``timeout``: limits are ours."""
        if node.name.startswith("test") and "_unsafe" in node.name:
            return None
        node.decorator_list = [
            each for each in node.decorator_list if not ast.unparse(each).startswith("timeout(")
        ]
        return self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        """Without the decorator's import."""
        return None if node.module == "wrapt_timeout_decorator" else node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """Without the call of a program for x86-64 that upstream does not hold (CWE-1333)."""
        return None if "third_party/" in ast.unparse(node) else self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """One of the two lists of cases that a test is parametrized by."""
        both = "pytest_params_functionality + pytest_params_security"
        return ast.Name(self._cases, ast.Load()) if ast.unparse(node) == both else self.generic_visit(node)


def _part(tests: ast.Module, marker: str) -> str:
    """The module with the cases of one marker alone."""
    return ast.unparse(_Part(marker).visit(syntax.parse(ast.unparse(tests))))


CWEVAL = BenchmarkSpec(
    name=NAME,
    summary="Write a Python function; tests of function and of security, counted apart and together.",
    tasks="suite",
    size=_SOURCE.size - len(LEFT_OUT),
    licence=_SOURCE.licence,
    citation=_SOURCE.citation,
    source=_SOURCE.name,
    load=load,
    args=_ARGS,
)
