"""The bytes of a data file: uncompressed, hashed, recognised and parsed into JSON values."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from truegrade.datasets.sources import PinnedFile
from truegrade.errors import BadRecord
from truegrade.records import sha256_json
from truegrade.store.importers.reading import SourceFile

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
