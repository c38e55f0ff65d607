"""Execution prediction from the user's own file: programs, calls and the values they return.

The schema is that of the published DSL-List and LeetCode sets (akshsgaur/code-reasoning-repro@6c43fa8): ``id,
function_name, code, input, output``, as JSON Lines, a JSON array or objects printed one after the other.
``input`` and ``output`` are texts, or lists of texts of equal length, one case each. A row may bring a mutant
(``mutated_code, mutated_output``) and rewritings that mean the same (``preserved``): each is a program of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.execution_cases import (
    ARGUMENTS,
    ExecutionCase,
    benchmark_of,
    cases_of,
    cluster_of,
    operator_of,
    read_rows,
    steps_of,
    tags_of,
)
from truegrade.benchmarks.pinned import check_arguments, choice
from truegrade.datasets.executions import ExecutionRow
from truegrade.datasets.syntax import Familiar, shape
from truegrade.records import Covariates, OutputTask, Pairing, Problem

NAME = "execution-prediction"
PROGRAMS = ("all", "original", "mutant", "preserved")

ARGS = {
    "programs": "which programs are asked: all that the file has (default), original, mutant, preserved",
    **ARGUMENTS,
}


def load(data: Path | None, args: Mapping[str, str], name: str = NAME) -> Benchmark:
    """Read the user's file; the order of rows and cases is kept.

    Raises:
        UserError: no file is given, an argument is not known, or the file has no such programs.
        BadRecord: a row is not of the schema, contradicts itself, or shares its id with another.
    """
    check_arguments(name, args, ARGS)
    wanted = choice(args, "programs", PROGRAMS)
    rows = read_rows(name, data, args)
    path = Path(rows.source)
    measured = _measure(dict.fromkeys(row.code for row in rows.rows))
    problems = tuple(
        problem
        for row in rows.rows
        for case in cases_of(path, row)
        for problem in _problems(row, case, name, rows.dataset_sha256, measured)
        if wanted in ("all", problem.tags["shown"])
    )
    return benchmark_of(
        name, rows, problems, args, what="program",
        lacks=f"{wanted} programs; `truegrade data mutate` makes mutants",
    )  # fmt: skip


_Measure = Callable[[str], Covariates | None]


def _measure(originals: Iterable[str]) -> _Measure:
    """What counts the covariates of a program, given the originals of its data set."""
    familiar = Familiar(originals)

    @cache
    def measured(code: str) -> Covariates | None:
        found = shape(code)
        if found is None:
            return None
        return Covariates(unfamiliar=familiar.lacks(found), length=found.length, depth=found.depth)

    return measured


def _problems(
    row: ExecutionRow, case: ExecutionCase, name: str, digest: str, measured: _Measure
) -> Iterator[Problem]:
    """One problem per program of the row: the original, its mutant, its rewritings."""
    steps = steps_of(row, case)
    for suffix, program, expected, place in _programs(row, case):
        counted = measured(program)
        if counted is not None:
            counted = msgspec.structs.replace(counted, steps=steps)
        pairing = msgspec.structs.replace(place, covariates=counted)
        yield Problem(
            id=f"{case.id}{suffix}",
            benchmark=name,
            dataset_sha256=digest,
            cluster=cluster_of(row),
            task=OutputTask(
                program=program,
                function=row.function_name,
                arguments=case.arguments,
                expected=expected,
                pairing=pairing,
            ),
            tags=tags_of(row, shown=pairing.shown, mutation=pairing.mutation),
        )


def _programs(row: ExecutionRow, case: ExecutionCase) -> Iterator[tuple[str, str, str, Pairing]]:
    """Id suffix, source, value on this case, and place among the variants."""
    item, operator = str(row.id), operator_of(row)
    original = Pairing(item=item, case=case.number, shown="original", other=case.mutated, mutation=operator)
    yield "", row.code, case.expected, original
    if row.mutated_code is not None and case.mutated is not None:
        mutant = Pairing(item=item, case=case.number, shown="mutant", other=case.expected, mutation=operator)
        yield "~mutant", row.mutated_code, case.mutated, mutant
    for variant in row.preserved:
        same = Pairing(item=item, case=case.number, shown="preserved", mutation=variant.rewriting)
        yield f"~{variant.rewriting}", variant.code, case.expected, same


EXECUTION_PREDICTION = BenchmarkSpec(
    name=NAME,
    summary="Read programs of your own, or their mutants, and calls; predict what they return.",
    tasks="output_prediction",
    size=None,
    licence="yours",
    citation="arXiv:2504.05518 (the task); your own file (the data)",
    load=load,
    args=ARGS,
)
