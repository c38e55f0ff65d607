"""Read a data file into typed rows, and refuse a file that is not what its source pins."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from truegrade.datasets.download import LocatedFile, Progress, locate
from truegrade.datasets.sources import PinnedFile, parse_json, read_content, recognised, sha256
from truegrade.errors import BadRecord
from truegrade.files.json_text import convert

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
    progress: Progress | None = None,
) -> Rows[Row]:
    """Find the source's file (`locate`), read it, and check it against the pinned hash.

    Args:
        source: which data set.
        row_type: struct of one row; fields of the file that it lacks are ignored.
        data: the file, or a folder that holds it; None looks where `locate` looks.
        allow_modified: read a file with another hash or with other rows; `Rows.source` then says so.
        progress: told of a download.

    Raises:
        BadRecord: a row lacks a field or holds another type, rows are missing or too many, or the hash is
            another.
    """
    located = locate(source, data, progress=progress)
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
