"""Execution choice from the user's own file: a program and its mutant side by side, in both orders.

The model names the program that it is surer of and predicts what that one returns (arXiv:2504.05518). Every pair
is asked twice, with A and B swapped, so that a preference for a program can be told from one for a letter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.execution_cases import (
    ARGUMENTS,
    ExecutionCase,
    benchmark_of,
    cases_of,
    cluster_of,
    operator_of,
    read_rows,
    tags_of,
)
from truegrade.benchmarks.pinned import check_arguments, choice
from truegrade.datasets.executions import ExecutionRow
from truegrade.grading.literals import compare
from truegrade.records import ChoiceTask, Problem

NAME = "execution-choice"

ARGS = {
    "cases": "differing (default): only calls on which the two programs return different values; or all",
    **ARGUMENTS,
}


def load(data: Path | None, args: Mapping[str, str], name: str = NAME) -> Benchmark:
    """Read the user's file; ids are ``ROW~AB`` (the original is A) and ``ROW~BA``, or ``ROW/caseK~AB``.

    Raises:
        UserError: no file is given, an argument is not known, or the file has no such pairs.
        BadRecord: a row is not of the schema, contradicts itself, or shares its id with another.
    """
    check_arguments(name, args, ARGS)
    wanted = choice(args, "cases", ("differing", "all"))
    rows = read_rows(name, data, args)
    path = Path(rows.source)
    problems = tuple(
        problem
        for row in rows.rows
        for case in cases_of(path, row)
        if case.mutated is not None and (wanted == "all" or not compare(case.expected, case.mutated).python_eq)
        for problem in _both_orders(row, case, name, rows.dataset_sha256)
    )
    return benchmark_of(
        name, rows, problems, args, what="pair",
        lacks="mutants that return another value; `truegrade data mutate` makes them",
    )  # fmt: skip


def _both_orders(row: ExecutionRow, case: ExecutionCase, name: str, digest: str) -> Iterator[Problem]:
    original, mutant = (row.code, case.expected), (row.mutated_code or "", case.mutated or "")
    orders: tuple[tuple[str, Literal["A", "B"]], ...] = (("AB", "A"), ("BA", "B"))
    for order, letter in orders:
        first, second = (original, mutant) if letter == "A" else (mutant, original)
        yield Problem(
            id=f"{case.id}~{order}",
            benchmark=name,
            dataset_sha256=digest,
            cluster=cluster_of(row),
            task=ChoiceTask(
                programs=(first[0], second[0]),
                function=row.function_name,
                arguments=case.arguments,
                expected=(first[1], second[1]),
                original=letter,
                item=str(row.id),
                case=case.number,
                mutation=operator_of(row),
            ),
            tags=tags_of(row, order=order, mutation=operator_of(row)),
        )


EXECUTION_CHOICE = BenchmarkSpec(
    name=NAME,
    summary="Read a program and its mutant; name the one you are surer of and predict what it returns.",
    tasks="execution_choice",
    size=None,
    licence="yours",
    citation="arXiv:2504.05518 (the task); your own file (the data)",
    load=load,
    args=ARGS,
)
