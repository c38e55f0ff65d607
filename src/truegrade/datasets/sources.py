"""The pinned data sets: where each file is from, the hashes of what it must hold, and the bytes of data files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.files.toml_text import TomlTables
from truegrade.records import sha256_json
from truegrade.store.importers.reading import SourceFile

# ----------------------- The pinned data sets: where each file comes from and the hashes of what it must hold.


_FOLDER = Path(__file__).parent


class PinnedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One upstream file at one version."""

    name: str
    file: str
    """Its name, upstream and in every folder that is searched."""
    url: str
    checkout: bool = False
    """The address is that of a repository whose files the rows are made from: checked out, not downloaded."""
    sha256: str
    """Of the file as it is downloaded."""
    content_sha256: str
    """Of the uncompressed bytes; stored with every result."""
    rows_sha256: str | None = None
    """Of the rows in canonical JSON (`truegrade.records.sha256_json`), for a file whose layout is not fixed:
    the same rows in another layout are recognised."""
    id_field: str
    """Field that names a row."""
    id_prefix: str
    """What stands before the number in `ids`, as upstream writes it; empty where ids are numbers or names."""
    id_numbers: str = ""
    """Numbers of all rows, in order, as ranges: ``2-4,6``; empty where rows have names."""
    id_names: tuple[str, ...] = ()
    """Names of all rows, in order, where they have no numbers."""
    licence: str
    citation: str

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.ids)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all rows, in order."""
        if self.id_names:
            return self.id_names
        spans = [span.partition("-") for span in self.id_numbers.split(",")]
        return tuple(
            f"{self.id_prefix}{number}"
            for first, _, last in spans
            for number in range(int(first), int(last or first) + 1)
        )


SOURCES = TomlTables(_FOLDER / "sources.toml", PinnedFile)
"""Every pinned data set by name."""
UNPINNED = TomlTables(_FOLDER / "unpinned.toml", str)
"""By benchmark whose data nobody can pin: what follows its name in a sentence that says where to get a copy."""


def source(name: str) -> PinnedFile:
    """The source of that name.

    Raises:
        UserError: it is one that every user brings; the sentence says from where.
        UnknownName: there is none.
    """
    if name in UNPINNED:
        raise UserError(f"{name} {UNPINNED[name]}")
    if name not in SOURCES:
        raise UnknownName("data set", name, SOURCES, hint="`truegrade data list` shows them all")
    return SOURCES[name]


# --------------------- The bytes of a data file: uncompressed, hashed, recognised and parsed into JSON values.


_SPACE = re.compile(r"[ \t\r\n]*")
_SPACE_AND_COMMAS = re.compile(r"[ \t\r\n,]*")


def read_content(path: Path) -> bytes:
    """The uncompressed bytes of a file; gzip is known by its first bytes, not by the file's name.

    Raises:
        BadRecord: the file cannot be read, its compressed data are damaged, or they are a bomb.
    """
    with SourceFile(path, hashed=False) as source, source.content("document") as file:
        return file.read()


def sha256(content: bytes) -> str:
    """Hex digest."""
    return hashlib.sha256(content).hexdigest()


def recognised(source: PinnedFile, content: bytes) -> bool:
    """Whether uncompressed bytes are those of the source, or hold the same rows where its layout is free."""
    if sha256(content) == source.content_sha256:
        return True
    if source.rows_sha256 is None:
        return False
    try:
        return sha256_json(json.loads(content)) == source.rows_sha256
    except (ValueError, RecursionError):
        return False


def parse_json(path: Path, content: bytes) -> Iterator[tuple[int, Any]]:
    """Each JSON value of a file with the line (1-based) on which it begins.

    Reads one JSON array (its items), JSON Lines, and objects written one after the other over several
    lines. The numbers NaN and Infinity are read as Python's own `json` writes them.

    Raises:
        BadRecord: something is no JSON; the line is named.
    """
    text = _decode(path, content)
    decoder = json.JSONDecoder()
    position = _end_of(_SPACE, text, 0)
    in_array = text.startswith("[", position)
    separator = _SPACE_AND_COMMAS if in_array else _SPACE
    position = _end_of(separator, text, position + in_array)
    line = 1 + text.count("\n", 0, position)
    while position < len(text) and not (in_array and text[position] == "]"):
        try:
            value, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise BadRecord(path, f"is not JSON: {error.msg}; get the file again", line=error.lineno) from None
        except RecursionError:
            raise BadRecord(path, "is nested too deeply to be read", line=line) from None
        except ValueError as error:  # a number of more digits than Python reads
            raise BadRecord(path, f"cannot be read: {error}", line=line) from None
        yield line, value
        end = _end_of(separator, text, end)
        line += text.count("\n", position, end)
        position = end
    if in_array and position == len(text):
        raise BadRecord(path, "ends before the array's closing bracket; get the file again", line=line)


def _decode(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadRecord(path, f"is not UTF-8 text ({error.reason})", line=line) from None


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Where a run of characters that begins at ``position``, and may be empty, ends."""
    run = pattern.match(text, position)
    return run.end() if run else position
