"""What the execution benchmarks share: the cases of a row, checked, and the names their problems get."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from truegrade.benchmarks.base import Benchmark
from truegrade.benchmarks.pinned import choice
from truegrade.datasets import Rows
from truegrade.datasets.executions import ExecutionRow, Texts, read_executions
from truegrade.errors import BadRecord, DataMissing, UserError
from truegrade.extraction.parsing import quietly
from truegrade.records import Problem

ARGUMENTS = {
    "arguments": "how LLM-List inputs are written into the call: stored (default) or repr",
}
"""Task argument of every benchmark that reads execution rows."""

_TAGS = ("question_id", "difficulty", "contest_id", "dsl", "depth", "has_mutation")


class ExecutionCase(msgspec.Struct, frozen=True, kw_only=True):
    """One call of one row's program."""

    id: str
    """``ROW``, or ``ROW/caseK`` where the row has several."""
    number: int
    arguments: str
    """Text between the parentheses."""
    expected: str
    """What the original returns."""
    mutated: str | None
    """What the mutant returns; None where the row has no mutant."""


def read_rows(benchmark: str, data: Path | None, args: Mapping[str, str]) -> Rows[ExecutionRow]:
    """The rows of the user's file.

    Raises:
        UserError: no file is given, or it cannot be read.
        BadRecord: a row is not of the schema, or two share an id.
    """
    if data is None:
        raise DataMissing(
            f"{benchmark} reads your own file: give its path with `data` (JSON Lines; see docs/formats.md)"
        )
    rendering = choice(args, "arguments", ("stored", "repr"))
    rows = read_executions(data, "repr" if rendering == "repr" else "stored")
    refuse_repeated(data, (str(row.id) for row in rows.rows), "row")
    return rows


def benchmark_of(
    name: str,
    rows: Rows[ExecutionRow],
    problems: tuple[Problem, ...],
    args: Mapping[str, str],
    *,
    what: str,
    lacks: str,
) -> Benchmark:
    """The benchmark of a file's problems.

    Args:
        name: of the benchmark.
        rows: the file, read.
        problems: what it gave.
        args: task arguments in force.
        what: a problem stands for one of these.
        lacks: what a file that gives no problem holds none of, and how to get it.

    Raises:
        BadRecord: two problems share an id.
        UserError: there are none.
    """
    path = Path(rows.source)
    refuse_repeated(path, (problem.id for problem in problems), what)
    if not problems:
        raise UserError(f"{path}: gives no problem to {name}: it holds no {lacks}")
    return Benchmark(
        name=name,
        problems=problems,
        dataset_sha256=rows.dataset_sha256,
        source=rows.source,
        args=dict(args),
    )


def refuse_repeated(path: Path, ids: Iterable[str], what: str) -> None:
    """Raise BadRecord where an id occurs twice."""
    repeated = [name for name, count in Counter(ids).items() if count > 1]
    if repeated:
        raise BadRecord(path, f"{repeated[0]!r} names more than one {what}; ids must be unique", field="id")


def cases_of(path: Path, row: ExecutionRow) -> Iterator[ExecutionCase]:
    """The calls of a row, in order.

    Raises:
        BadRecord: numbers of inputs, outputs and conditions differ, or a condition says something else.
    """
    inputs, outputs = _as_tuple(row.input), _as_tuple(row.output)
    conditions, mutated = _as_tuple(row.correct_condition), _as_tuple(row.mutated_output)
    _check_count(path, row, len(outputs), "outputs", "output")
    if row.correct_condition is not None:
        _check_count(path, row, len(conditions), "conditions", "correct_condition")
    if has_mutant(row):
        _check_count(path, row, len(mutated), "outputs of the mutant", "mutated_output")
    for number, (call, output) in enumerate(zip(inputs, outputs, strict=True)):
        arguments = arguments_of(row.function_name, call)
        if conditions and not _same_source(conditions[number], f"{row.function_name}({arguments}) == {output}"):
            problem = (
                f"row {row.id!r}, case {number}: {conditions[number]!r} does not say what input and output say"
            )
            raise BadRecord(path, problem, field="correct_condition")
        yield ExecutionCase(
            id=str(row.id) if len(inputs) == 1 else f"{row.id}/case{number}",
            number=number,
            arguments=arguments,
            expected=output.strip(),
            mutated=mutated[number].strip() if has_mutant(row) else None,
        )


def has_mutant(row: ExecutionRow) -> bool:
    """Whether the row holds a mutant together with what it returns."""
    return row.mutated_code is not None and row.mutated_output is not None and row.has_mutation is not False


def arguments_of(function: str, call: str) -> str:
    """The text between the parentheses of ``function(...)``; any other text is taken whole.

    The rule is that of akshsgaur/code-reasoning-repro@6c43fa8 src/models/inference.py.
    """
    if call.startswith(f"{function}(") and call.endswith(")"):
        return call[len(function) + 1 : -1]
    return call


def cluster_of(row: ExecutionRow) -> str:
    """Rows that share a question are one cluster."""
    return str(row.id if row.question_id is None else row.question_id)


def operator_of(row: ExecutionRow) -> str:
    """The operator that made the row's mutant; empty where that is not said."""
    return row.mutation_info.mutation_type if row.mutation_info is not None else ""


def steps_of(row: ExecutionRow, case: ExecutionCase) -> int | None:
    """Lines that the original executes on a call; None where the row does not say."""
    steps = (row.metrics or {}).get("steps")
    found = steps[case.number] if isinstance(steps, list) and case.number < len(steps) else steps
    return found if isinstance(found, int) else None


def tags_of(row: ExecutionRow, **more: str) -> dict[str, str]:
    """Facts of a row to group reports by; empty ones are left out."""
    tags = {name: str(value) for name in _TAGS if (value := getattr(row, name)) is not None}
    return tags | {name: value for name, value in more.items() if value}


def _check_count(path: Path, row: ExecutionRow, count: int, what: str, field: str) -> None:
    inputs = len(_as_tuple(row.input))
    if count != inputs:
        raise BadRecord(
            path, f"row {row.id!r} has {inputs} inputs but {count} {what}; give one per input", field=field
        )


def _as_tuple(texts: Texts | None) -> tuple[str, ...]:
    if texts is None:
        return ()
    return (texts,) if isinstance(texts, str) else texts


def _same_source(one: str, other: str) -> bool:
    """Whether two expressions are the same but for layout and quotes."""
    if one.strip() == other.strip():
        return True
    try:
        with quietly():
            trees = [ast.parse(text.strip(), mode="eval") for text in (one, other)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return ast.dump(trees[0]) == ast.dump(trees[1])
