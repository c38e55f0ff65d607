"""JSON documents in a zip, those that zstandard compressed included where this Python can read them.

`zipfile` reads the directory and a member's raw bytes; they are unpacked here, because it hands whole chunks to
every decompressor but deflate's, and some kilobytes of zstandard hold gigabytes.
"""

from __future__ import annotations

import copy
import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truegrade.errors import BadRecord
from truegrade.files.unpacking import (
    InflationMeter,
    Open,
    UnpackedTooLarge,
    deflate_stream,
    stored_stream,
    unpack,
    zstd,
)
from truegrade.store.importers.reading import SourceFile

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
