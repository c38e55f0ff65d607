"""Load a benchmark whose file is pinned: check the arguments, read the rows, make problems of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from truegrade.benchmarks.base import Benchmark
from truegrade.benchmarks.benchmark_args import ALLOW_MODIFIED, check_arguments, flag
from truegrade.datasets import PinnedFile, read_source
from truegrade.records import Problem, Task

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
        data: where the file is (`truegrade.datasets.locate`).
        args: task arguments given.
        known: task arguments taken; ``allow_modified`` is one of them.

    Raises:
        UserError: the file is not found or not the pinned one, or an argument is not known.
    """
    check_arguments(name, args, known)
    read = read_source(source, row_type, data, allow_modified=flag(args, "allow_modified"))
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
