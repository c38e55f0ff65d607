"""Rows of contest problems in LiveCodeBench's schema: JSON Lines, a JSON array, or Parquet; plain or gzipped.

Fields as in LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/benchmarks/code_generation.py``. The tests of one
release are gigabytes: files are read line by line, and long encoded tests stay in their file
(`truegrade.records.FileSpan`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from truegrade.datasets.content import read_content, sha256
from truegrade.datasets.rows import Rows, parse_rows
from truegrade.errors import BadRecord, UserError
from truegrade.files.json_text import UNREADABLE, decode
from truegrade.records import FileSpan, sha256_json
from truegrade.store.importers.reading import SourceFile, bad_row, sha256_of, typed

LEFT_IN_FILE_CHARS = 1 << 16
"""Private tests longer than this stay in their file, where that is plain JSON Lines."""

_BATCH_ROWS = 8
"""Rows of a Parquet file decoded at a time."""


class ContestRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row as upstream stores it."""

    question_title: str
    question_content: str
    platform: str
    question_id: str | int
    contest_id: str
    contest_date: str
    starter_code: str | None = None
    difficulty: str
    public_test_cases: str
    private_test_cases: str | FileSpan
    metadata: str
    """JSON text; its ``func_name`` decides how the problem is graded."""


def read_contest_rows(paths: Sequence[Path]) -> Rows[ContestRow]:
    """All rows of the files, in their order.

    Raises:
        UserError: a file cannot be read, or is Parquet and pyarrow is not installed.
        BadRecord: a row is not of the schema; names file, line and field.
    """
    read = [_read(path) for path in paths]
    digests = [digest for _, digest in read]
    whole = (
        digests[0] if len(read) == 1 else sha256_json([[p.name, d] for p, d in zip(paths, digests, strict=True)])
    )
    return Rows(
        rows=tuple([row for rows, _ in read for row in rows]),
        dataset_sha256=whole,
        source=", ".join(map(str, paths)),
    )


def _read(path: Path) -> tuple[list[ContestRow], str]:
    """Rows of one file, and the hash of its (uncompressed) bytes."""
    with SourceFile(path, hashed=False) as source:
        if path.name.endswith(".parquet"):
            return list(_parquet(path)), sha256_of(path)
        if source.head.lstrip()[:1] == b"[":
            content = read_content(path)
            return [_text_only(path, row) for row in parse_rows(path, content, ContestRow)], sha256(content)
        hasher = hashlib.sha256()
        rows = list(_lines(source, hasher))
    if not rows:
        raise BadRecord(path, "holds no rows")
    return rows, hasher.hexdigest()


def _lines(source: SourceFile, hasher: Any) -> Iterator[ContestRow]:
    decoder = msgspec.json.Decoder(ContestRow)
    path, resolved = source.path, str(source.path.resolve())
    offset = 0
    with source.content() as file:
        for number, line in enumerate(file, start=1):
            hasher.update(line)
            if line.strip():
                try:
                    row = decode(line.removeprefix(b"\xef\xbb\xbf"), decoder)
                except UNREADABLE as error:
                    raise bad_row(path, error, line=number) from error
                text = _text_only(path, row, number).private_test_cases
                if not source.gzipped and isinstance(text, str) and len(text) > LEFT_IN_FILE_CHARS:
                    span = FileSpan(path=resolved, offset=offset, length=len(line), sha256=sha256(line))
                    row = msgspec.structs.replace(row, private_test_cases=span)
                yield row
            offset += len(line)


def _text_only(path: Path, row: ContestRow, line: int | None = None) -> ContestRow:
    """The row, unless it holds a span: only we may say which bytes of which file are read later."""
    if isinstance(row.private_test_cases, FileSpan):
        raise BadRecord(path, "expected text, got an object", line=line, field="private_test_cases")
    return row


def _parquet(path: Path) -> Iterator[ContestRow]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise UserError(
            f"{path}: reading Parquet needs pyarrow: pip install 'truegrade[parquet]', or give the rows as"
            " JSON Lines"
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            batches = file.iter_batches(batch_size=_BATCH_ROWS)
            values = (value for batch in batches for value in batch.to_pylist())
            for number, value in enumerate(values):
                fields = {**value, "contest_date": _iso(value.get("contest_date"))}
                yield _text_only(path, typed(path, fields, ContestRow, inside=f"[{number}]"))
    except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
        raise BadRecord(path, f"is no readable Parquet file ({error}); get the file again") from error


def _iso(date: Any) -> Any:
    """A date column's value as the text that JSON files hold."""
    return date.isoformat() if hasattr(date, "isoformat") else date
