"""Rows in, rows with mutants out: in order, on several threads, the same whatever their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from truegrade.builders.in_order import in_order
from truegrade.builders.mutation.mutation_options import MutationOptions
from truegrade.builders.mutation.one_row import mutate_row
from truegrade.datasets.executions import ExecutionRow
from truegrade.grading.executor import Executor


def mutate_rows(
    rows: Iterable[ExecutionRow], options: MutationOptions, executor: Executor, *, workers: int = 1
) -> Iterator[ExecutionRow]:
    """Each row with its mutant, in order; what comes out hangs on row and options alone.

    A row without a valid mutant comes back with ``has_mutation=False`` and the reason in ``metadata``; so does one
    that cannot be run or whose recorded output is not what its program returns. With ``select="all"`` a row comes
    back once per mutant, its id followed by ``/`` and the mutant's.

    Args:
        rows: originals; a mutant they carry already is replaced.
        options: what to make and what to keep.
        executor: the jail.
        workers: rows under way at once.

    Raises:
        SandboxError: the machinery that runs programs failed.
    """
    for made in mutate_each(rows, options, executor, workers=workers):
        yield from made


def mutate_each(
    rows: Iterable[ExecutionRow], options: MutationOptions, executor: Executor, *, workers: int = 1
) -> Iterator[tuple[ExecutionRow, ...]]:
    """As `mutate_rows`, with what became of each row kept together."""
    if workers == 1:
        yield from (mutate_row(row, options, executor) for row in rows)
        return
    yield from in_order(rows, lambda row: mutate_row(row, options, executor), workers=workers)
