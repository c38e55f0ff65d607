"""Load a benchmark whose file is pinned: check the arguments, read the rows, make problems of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from truegrade.benchmarks.base import Benchmark
from truegrade.benchmarks.benchmark_args import ALLOW_MODIFIED, check_arguments, flag
from truegrade.datasets import LocatedFile, PinnedFile, Rows, check_rows, read_source
from truegrade.records import Problem, Task

Row = TypeVar("Row", bound=msgspec.Struct)
FromCheckout = tuple[Callable[[Path], bool], Callable[[Path], bytes]]
"""Whether a folder is a checkout of upstream's repository, and the bytes of the pinned file made of one."""


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
    made_of_checkout: FromCheckout | None = None,
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
        made_of_checkout: where the source is a repository, see `read_pinned`.

    Raises:
        UserError: the file is not found or not the pinned one, or an argument is not known.
    """
    check_arguments(name, args, known)
    modified = flag(args, "allow_modified")
    read = read_pinned(source, row_type, data, made_of_checkout, allow_modified=modified)
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


def read_pinned(
    source: PinnedFile,
    row_type: type[Row],
    data: Path | None,
    made_of_checkout: FromCheckout | None,
    *,
    allow_modified: bool,
) -> Rows[Row]:
    """The rows of a pinned file; where ``data`` is a checkout of the repository it is made of, made of that.

    Raises:
        UserError: the data are not found or not the pinned ones.
    """
    folder = None if data is None else data.expanduser()
    if folder is None or made_of_checkout is None or not made_of_checkout[0](folder):
        return read_source(source, row_type, data, allow_modified=allow_modified)
    located = LocatedFile(path=folder, origin=str(folder))
    return check_rows(source, row_type, located, made_of_checkout[1](folder), allow_modified=allow_modified)
