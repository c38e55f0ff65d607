"""Run every program of a data set again and name the outputs that are not what the file says."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from truegrade.builders.leetcode import with_imports
from truegrade.datasets.executions import ExecutionRow, RecordedCase, Texts, run_cases
from truegrade.errors import BadRecord
from truegrade.extraction.equalities import parse_arguments
from truegrade.files.threads import in_order
from truegrade.grading.executor import Executor
from truegrade.grading.literals import compare

_ANY_LENGTH = 1 << 20


class OutputDifference(msgspec.Struct, frozen=True, kw_only=True):
    """An output that re-executing did not give again."""

    id: str
    program: str
    """``original``, ``mutant`` or ``preserved: NAME``."""
    case: int
    """0-based."""
    recorded: str
    found: str
    """A literal, or what happened instead."""


class CheckedRow(msgspec.Struct, frozen=True, kw_only=True):
    """How many outputs of a row were computed anew, and those that differ."""

    outputs: int
    differences: tuple[OutputDifference, ...]


def check_rows(
    path: Path, rows: Sequence[ExecutionRow], executor: Executor, *, workers: int = 1
) -> Iterator[CheckedRow]:
    """Re-execute originals, mutants and rewritings; one result per row, in order.

    Args:
        path: named in errors.
        rows: the file's rows.
        executor: runs the programs.
        workers: rows at once.

    Raises:
        BadRecord: a row contradicts itself, or its calls have other arguments than literals.
    """
    yield from in_order(rows, lambda row: _check(path, row, executor), workers=workers)


def texts(value: Texts | None) -> tuple[str, ...]:
    """One text, or one per case, as one per case."""
    return () if value is None else (value,) if isinstance(value, str) else value


def _check(path: Path, row: ExecutionRow, executor: Executor) -> CheckedRow:
    cases = [_case(path, row, call) for call in texts(row.input)]
    outputs, mutated = texts(row.output), texts(row.mutated_output)
    programs = [("original", row.code, outputs)]
    if row.mutated_code:
        programs.append(("mutant", row.mutated_code, mutated))
    programs += [(f"preserved: {kept.rewriting}", kept.code, outputs) for kept in row.preserved]
    differences: list[OutputDifference] = []
    for name, program, recorded in programs:
        if len(recorded) != len(cases):
            raise BadRecord(path, f"row {row.id!r} has {len(cases)} inputs but {len(recorded)} outputs of {name}")
        returned = run_cases(executor, _standing_alone(program), _function(row, program), cases, _ANY_LENGTH)
        differences += [
            OutputDifference(id=str(row.id), program=name, case=case, recorded=text, found=found.text or found.why)
            for case, (text, found) in enumerate(zip(recorded, returned, strict=True))
            if found.text is None or not compare(text, found.text).strict_typed
        ]
    return CheckedRow(outputs=len(programs) * len(cases), differences=tuple(differences))


def _standing_alone(program: str) -> str:
    """The program with the imports that LeetCode makes unseen, as far as it reads their names."""
    try:
        return with_imports(program)
    except SyntaxError:
        return program


def _function(row: ExecutionRow, program: str) -> str:
    """The function to call: the row's, unless a rewriting has renamed the only one there is."""
    try:
        names = [node.name for node in ast.parse(program).body if isinstance(node, ast.FunctionDef)]
    except SyntaxError:
        return row.function_name
    return names[0] if len(names) == 1 else row.function_name


def _case(path: Path, row: ExecutionRow, call: str) -> RecordedCase:
    inside = call[len(row.function_name) + 1 : -1] if call.startswith(f"{row.function_name}(") else call
    arguments = parse_arguments(inside)
    if arguments is None:
        raise BadRecord(path, f"row {row.id!r}: the arguments of {call!r} are no literals", field="input")
    return RecordedCase(*arguments)
