"""A file of rows in, a file of rows with mutants out; an interrupted command goes on where it stopped."""

from __future__ import annotations

import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import msgspec

from truegrade.builders.mutation.mutants import flaw_of
from truegrade.builders.mutation.mutation_options import MutationOptions
from truegrade.builders.mutation.one_row import mutate_each
from truegrade.datasets.executions import ExecutionRow, as_execution_row, write_rows
from truegrade.datasets.rows import parse_rows
from truegrade.datasets.sources import parse_json, read_content, sha256
from truegrade.errors import BadRecord, UserError
from truegrade.grading.executor import Executor
from truegrade.records import sha256_json
from truegrade.store.journal import Journal, Notice, ignore, read_journal

_KEY_CHARS = 12


class Watch(Protocol):
    """Is told how far the work is."""

    def start(self, stage: str, total: int, done: int) -> None:
        """A stage begins."""

    def advance(self, *, failed: bool = False) -> None:
        """One more row is finished; ``failed`` if it has no mutant."""

    def finish(self) -> None:
        """The stage is over."""


class _Unwatched:
    """Tells nobody."""

    def start(self, stage: str, total: int, done: int) -> None:
        """Say nothing."""

    def advance(self, *, failed: bool = False) -> None:
        """Say nothing."""

    def finish(self) -> None:
        """Say nothing."""


class Mutated(msgspec.Struct, frozen=True, kw_only=True):
    """What a file has come to."""

    rows: int
    """Rows read."""
    mutants: int
    """Rows written that have a mutant."""
    operators: dict[str, int]
    """Mutants by operator."""
    without: dict[str, str]
    """Why a row has none, by its id."""
    sha256: str
    """Of the file written."""


class _Made(msgspec.Struct, frozen=True):
    """A line of the journal: what became of one row."""

    rows: tuple[ExecutionRow, ...]


def mutate_file(
    path: Path,
    out: Path,
    options: MutationOptions,
    executor: Executor,
    *,
    workers: int = 1,
    watch: Watch | None = None,
    notice: Notice = ignore,
) -> Mutated:
    """Mutate every row of a file. Equal rows and options give equal bytes, in one go or in several.

    Until all rows are done they stand in ``<out>.<key>.part``, where the key is that of rows and options.

    Raises:
        BadRecord: a row is not of the schema, or its program or calls cannot be run; names file, line and field.
        UserError: a file cannot be read or written.
    """
    content = read_content(path)
    rows = _checked(path, content)
    if out.resolve() == path.resolve():
        raise UserError(f"{out} is the file that is read; choose another `out`")
    part = _part(out, content, options)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        made = _made(part, rows, options, executor, workers, watch or _Unwatched(), notice)
        written = write_rows(out, made)
        part.unlink()
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror or error}; choose another `out`") from None
    return _summary(len(rows), made, written)


def _part(out: Path, content: bytes, options: MutationOptions) -> Path:
    """Where rows stand until all are done; other rows, options or versions have another place."""
    makers = [version("truegrade"), *sys.version_info[:2]]
    key = sha256_json([makers, sha256(content), msgspec.to_builtins(options)])
    return out.with_name(f"{out.name}.{key[:_KEY_CHARS]}.part")


def _made(
    part: Path,
    rows: tuple[ExecutionRow, ...],
    options: MutationOptions,
    executor: Executor,
    workers: int,
    watch: Watch,
    notice: Notice,
) -> list[ExecutionRow]:
    """What has become of every row, by an earlier command or now."""
    done = [made.rows for made in read_journal(part, _Made, notice=notice)]
    watch.start("mutate", len(rows), len(done))
    try:
        with Journal[_Made](part, notice=notice) as journal:
            for made in mutate_each(rows[len(done) :], options, executor, workers=workers):
                journal.append(_Made(made))
                done.append(made)
                watch.advance(failed=not made[0].has_mutation)
    finally:
        watch.finish()
    return [row for made in done for row in made]


def _checked(path: Path, content: bytes) -> tuple[ExecutionRow, ...]:
    """The rows of a file, each of which can be run."""
    rows = parse_rows(path, content, ExecutionRow, as_execution_row)
    for (line, _), row in zip(parse_json(path, content), rows, strict=True):
        flaw = flaw_of(row)
        if flaw is not None:
            raise BadRecord(path, f"row {row.id!r}: {flaw.problem}", line=line, field=flaw.field)
    return rows


def _summary(read: int, rows: list[ExecutionRow], written: str) -> Mutated:
    kinds = Counter(row.mutation_info.mutation_type for row in rows if row.mutation_info is not None)
    failed = [row for row in rows if not row.has_mutation]
    return Mutated(
        rows=read,
        mutants=kinds.total(),
        operators=dict(kinds.most_common()),
        without={str(row.id): row.metadata["mutation"]["reason"] for row in failed if row.metadata},
        sha256=written,
    )
