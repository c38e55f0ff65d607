"""Files of execution rows: JSON Lines, keys in the order of the schema, whole or not there at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import msgspec

from truegrade.datasets.content import read_content, sha256
from truegrade.datasets.execution_rows import as_execution_row
from truegrade.datasets.executions import ExecutionRow
from truegrade.datasets.rows import parse_rows
from truegrade.errors import UserError
from truegrade.store.manifest import write_atomically


def encode_rows(rows: Iterable[ExecutionRow]) -> bytes:
    """The bytes of a file of rows; the same rows give the same bytes."""
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def write_rows(path: Path, rows: Iterable[ExecutionRow]) -> str:
    """Write a file of rows; return its sha256.

    Raises:
        UserError: the place cannot be written.
    """
    content = encode_rows(rows)
    write_content(path, content)
    return sha256(content)


def write_content(path: Path, content: bytes) -> None:
    """Write a file that gets its name once it is complete and on the disk.

    Raises:
        UserError: the place cannot be written.
    """
    with _refusing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)


def prepare(path: Path) -> None:
    """Make a file's folder and try to write there, before long work is done for it.

    Raises:
        UserError: the place cannot be written.
    """
    with _refusing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path.parent):
            pass


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}; choose another `out`") from None


def read_rows(path: Path) -> tuple[ExecutionRow, ...]:
    """The rows of a file.

    Raises:
        BadRecord: names file, line and field.
        UserError: it cannot be read.
    """
    return parse_rows(path, read_content(path), ExecutionRow, as_execution_row)
