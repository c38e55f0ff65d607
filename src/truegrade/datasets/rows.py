"""Read a data file into typed rows, and refuse a file that is not what its source pins.

Rows of contest problems in LiveCodeBench's schema: JSON Lines, a JSON array, or Parquet; plain or gzipped.

Fields as in LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/benchmarks/code_generation.py``. The tests of one
release are gigabytes: files are read line by line, and long encoded tests stay in their file
(`truegrade.records.FileSpan`).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import msgspec

from truegrade.datasets.download import (
    LocatedFile,
    PinnedFile,
    locate,
    parse_json,
    read_content,
    recognised,
    sha256,
)
from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.files.extras import require
from truegrade.files.json_text import UNREADABLE, convert, decode
from truegrade.records import FileSpan, sha256_json
from truegrade.store.importers.reading import SourceFile, bad_row, sha256_of, typed

Row = TypeVar("Row", bound=msgspec.Struct)

_MOST_NAMED = 8
"""Ids that a message names before it only counts the rest."""


class Rows(msgspec.Struct, Generic[Row], frozen=True, kw_only=True):
    """The rows of one file and what they were read from."""

    rows: tuple[Row, ...]
    dataset_sha256: str
    """Of the uncompressed bytes."""
    source: str
    """Local path or pinned origin; says ``modified`` where the rows are not the pinned ones."""
    modified: str | None = None
    """How they differ from the pinned ones, in words; None where they do not."""


def read_source(
    source: PinnedFile,
    row_type: type[Row],
    data: Path | None = None,
    *,
    allow_modified: bool = False,
) -> Rows[Row]:
    """Find the source's file (`locate`), read it, and check it against the pinned hash.

    Args:
        source: which data set.
        row_type: struct of one row; fields of the file that it lacks are ignored.
        data: the file, or a folder that holds it; None looks where `locate` looks.
        allow_modified: read a file with another hash or with other rows; `Rows.source` then says so.

    Raises:
        BadRecord: a row lacks a field or holds another type, rows are missing or too many, or the hash is
            another.
    """
    located = locate(source, data)
    return check_rows(source, row_type, located, read_content(located.path), allow_modified=allow_modified)


def check_rows(
    source: PinnedFile, row_type: type[Row], located: LocatedFile, content: bytes, *, allow_modified: bool = False
) -> Rows[Row]:
    """The rows of content that was found or made, checked as `read_source` checks a file's.

    Raises:
        BadRecord: as `read_source`.
    """
    rows = parse_rows(located.path, content, row_type)
    digest = sha256(content)
    if recognised(source, content):
        return Rows(rows=rows, dataset_sha256=digest, source=located.origin)
    if not allow_modified:
        _refuse(source, located.path, rows, digest)
    return Rows(
        rows=rows,
        dataset_sha256=digest,
        source=f"modified: {located.path}",
        modified=f"{located.path.name} {_difference(source, rows)}",
    )


def _difference(source: PinnedFile, rows: tuple[Row, ...]) -> str:
    """How rows that were taken as they are differ from the pinned ones, as far as their ids tell."""
    missing, extra = _unlike(source, rows)
    if not missing and not extra:
        return f"has the {len(source.ids)} rows of the pinned file under another sha256: some were changed"
    parts = [f"{len(missing)} of the {len(source.ids)} pinned rows are missing"] if missing else []
    parts += [f"{len(extra)} of its {len(rows)} rows are not pinned ones"] if extra else []
    return f"is not the pinned file: {', '.join(parts)}"


def parse_rows(
    path: Path, content: bytes, row_type: type[Row], adapt: Callable[[Any], Any] = lambda value: value
) -> tuple[Row, ...]:
    """Every row of a JSON or JSON Lines file.

    Args:
        path: for messages.
        content: the uncompressed bytes.
        row_type: struct of one row.
        adapt: turns a decoded value of another schema into the fields of ``row_type``.

    Raises:
        BadRecord: names file, line and field.
    """
    rows = []
    for line, value in parse_json(path, content):
        try:
            rows.append(convert(adapt(value), row_type))
        except msgspec.ValidationError as error:
            message, field = _split_validation_error(str(error))
            raise BadRecord(path, message, line=line, field=field) from None
    if not rows:
        raise BadRecord(path, "holds no rows")
    return tuple(rows)


def _split_validation_error(message: str) -> tuple[str, str | None]:
    """What msgspec says, as a sentence and the field it is about."""
    if named := re.search(r"required field `(.+?)`", message):
        return "the field is missing; the file does not have the schema of this data set", named[1]
    text, _, place = message.partition(" - at `$")
    return text, place.rstrip("`").lstrip(".") or None


def _refuse(source: PinnedFile, path: Path, rows: tuple[Row, ...], digest: str) -> None:
    """Raise the most telling difference: which rows, else which hash."""
    missing, extra = _unlike(source, rows)
    advice = (
        f"get the pinned file with `truegrade data pull {source.name}`,"
        " or pass `task_args` allow_modified=true to use this one as it is"
    )
    if missing:
        raise BadRecord(path, f"{len(missing)} of {len(source.ids)} rows are missing: {_some(missing)}; {advice}")
    if extra:
        raise BadRecord(path, f"rows that are not in {source.name} or stand twice: {_some(extra)}; {advice}")
    raise BadRecord(
        path, f"is not the pinned {source.name}: its sha256 is {digest}, not {source.content_sha256}; {advice}"
    )


def _unlike(source: PinnedFile, rows: tuple[Row, ...]) -> tuple[list[str], list[str]]:
    """Pinned ids without a row, and ids of rows that are no pinned ones or stand twice."""
    found = Counter(str(getattr(row, source.id_field)) for row in rows)
    pinned = dict.fromkeys(source.ids)
    missing = [name for name in pinned if name not in found]
    return missing, [name for name, count in found.items() if count > 1 or name not in pinned]


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"


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
    require("parquet", f"{path}: reading Parquet", instead="give the rows as JSON Lines")
    from pyarrow import parquet

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


# --------------------------------------- Which files make up a release of LiveCodeBench's code generation set.
# ``release_vN`` holds the files 1 to N, ``vN`` the Nth, ``vM_vN`` those from M to N, ``release_latest`` all: the
# loader of the data set livecodebench/code_generation_lite. Sizes are those that
# LiveCodeBench/LiveCodeBench@28fef95 README.md states.


_CUMULATIVE = (400, 511, 612, 713, 880, 1055)
LATEST = "release_latest"


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """A range of upstream's files."""

    first: int
    last: int

    @property
    def files(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(f"test{number if number > 1 else ''}.jsonl" for number in range(self.first, self.last + 1))

    @property
    def problems(self) -> int:
        """How many problems they hold upstream."""
        return _CUMULATIVE[self.last - 1] - (_CUMULATIVE[self.first - 2] if self.first > 1 else 0)


def _releases() -> dict[str, Release]:
    numbers = range(1, len(_CUMULATIVE) + 1)
    whole = {f"release_v{last}": Release(first=1, last=last) for last in numbers}
    single = {f"v{number}": Release(first=number, last=number) for number in numbers}
    ranges = {f"v{a}_v{b}": Release(first=a, last=b) for a in numbers for b in range(a + 1, len(_CUMULATIVE) + 1)}
    return {LATEST: Release(first=1, last=len(_CUMULATIVE)), **whole, **single, **ranges}


RELEASES: Mapping[str, Release] = MappingProxyType(_releases())
"""By version tag."""


class SelectedRelease(msgspec.Struct, frozen=True, kw_only=True):
    """The files to read, and the release that they are, where they are one."""

    paths: tuple[Path, ...]
    release: Release | None = None


def select_files(data: Path, release: str | None) -> SelectedRelease:
    """The files that a path and a release tag name.

    Args:
        data: one file; or a folder with upstream's ``test.jsonl`` ..., with a folder per tag, or with other files
            of rows, all of which are read.
        release: a tag of `RELEASES`; None for all there is, which in upstream's layout must be all of it.

    Raises:
        UnknownName: no such release.
        UserError: nothing there, files of the release are missing, or a tag where there is nothing to choose.
    """
    if release is not None and release not in RELEASES:
        raise UnknownName("release", release, RELEASES)
    if data.is_file():
        if release is not None:
            raise UserError(
                f"`task_args` release={release} chooses among the files of a folder, and {data} is one file; leave"
                " it out"
            )
        return SelectedRelease(paths=(data,))
    if not data.is_dir():
        raise UserError(f"{data}: no such file or folder; give LiveCodeBench's rows with `data`")
    if any(_upstream(data, name) for name in RELEASES[LATEST].files):
        return _of_release(data, release)
    if release is not None and not (data / release).is_dir():
        names = ", ".join(RELEASES[release].files)
        raise UserError(
            f"the folder {data} holds neither {names} nor a folder {release};"
            " leave `task_args` release out to read all its files"
        )
    folder = data / release if release is not None else data
    return SelectedRelease(paths=_all_files(folder), release=RELEASES[release] if release is not None else None)


def _of_release(folder: Path, tag: str | None) -> SelectedRelease:
    release = RELEASES[tag or LATEST]
    found = {name: _upstream(folder, name) for name in release.files}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        whole = [name for name, other in RELEASES.items() if all(_upstream(folder, file) for file in other.files)]
        served = f"; `task_args` release={whole[0]} reads what is there" if tag is None else ""
        raise UserError(f"the folder {folder} lacks {', '.join(missing)} of {tag or LATEST}{served}")
    return SelectedRelease(paths=tuple(path for path in found.values() if path is not None), release=release)


def _upstream(folder: Path, name: str) -> Path | None:
    """A file of upstream's, plain or gzipped."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _all_files(folder: Path) -> tuple[Path, ...]:
    endings = (".jsonl", ".json", ".jsonl.gz", ".json.gz", ".parquet")
    paths = tuple(sorted(path for path in folder.iterdir() if path.is_file() and path.name.endswith(endings)))
    tags = [path.name for path in sorted(folder.iterdir()) if path.is_dir() and path.name in RELEASES]
    if not paths and tags:
        raise UserError(
            f"the folder {folder} holds a folder a release, and they overlap: `task_args`"
            f" release={tags[-1]} chooses one (there are {', '.join(tags)})"
        )
    if not paths:
        raise UserError(
            f"the folder {folder} holds no file of rows ({', '.join(endings)}); give the one that does"
        )
    return paths
