"""Append-only files of records, one JSON object a line, that survive ``kill -9``.

A record is one ``write`` to a descriptor opened with ``O_APPEND``, so a kill loses at most the record in
flight; what a kill left of a line is cut off, with a notice, before anything is appended. What a full disk left of
one is cut off at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar

import msgspec

from truegrade.errors import BadRecord
from truegrade.files.json_text import UNREADABLE, decode, encode, place_of
from truegrade.files.writing import writing

T = TypeVar("T", bound=msgspec.Struct)

Notice = Callable[[str], None]
"""Receives one sentence for the person at the terminal."""

_TAIL_BYTES = 1 << 16
FSYNC_EVERY = 64
_LOOK_EVERY_S = 0.05
"""Seconds between two looks at a journal that is being written."""


def ignore(_: str) -> None:
    """The notice that goes nowhere."""


class Journal(Generic[T]):
    """Appends records to a file.

    Args:
        path: created if missing.
        notice: told when a torn last line was cut off.
        appended: told of each record that `append` has written, and how many bytes it took.
        fsync_every: records between two fsyncs; `close` syncs too.

    Raises:
        UserError: the file cannot be written to; so do its methods.
    """

    def __init__(
        self,
        path: Path,
        *,
        notice: Notice = ignore,
        appended: Callable[[T, int], None] | None = None,
        fsync_every: int = FSYNC_EVERY,
    ) -> None:
        self.path = path
        self._appended = appended
        self._fsync_every = fsync_every
        self._unsynced = 0
        self._fd = -1
        with writing(path):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            self.torn = _cut_torn_line(self._fd)
        if self.torn:
            notice(f"{path}: the last line was torn by an interruption; its {self.torn} bytes are dropped")

    def append(self, record: T) -> None:
        """Write one record durably enough that only a power cut can lose it before the next fsync."""
        line = encode(record) + b"\n"
        self.append_line(line)
        if self._appended is not None:
            self._appended(record, len(line))

    def append_line(self, content: bytes) -> None:
        """Write a record that is encoded already, with its newline."""
        line = memoryview(content)
        with writing(self.path):
            try:
                while line:
                    line = line[os.write(self._fd, line) :]
            except OSError:
                _cut_torn_line(self._fd)
                raise
        self._unsynced += 1
        if self._unsynced >= self._fsync_every:
            self.sync()

    def sync(self) -> None:
        """Force what was appended to the disk."""
        with writing(self.path):
            os.fsync(self._fd)
        self._unsynced = 0

    def close(self) -> None:
        """Sync and close; safe to call twice."""
        if self._fd >= 0:
            try:
                self.sync()
            finally:
                os.close(self._fd)
                self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_journal(path: Path, record: type[T], *, notice: Notice = ignore) -> Iterator[T]:
    """Stream the records of a journal; a torn last line is dropped with a notice.

    Raises:
        BadRecord: the file cannot be read, or a whole line is not a record of this kind.
    """
    return (value for _, value in numbered(path, record, notice=notice))


def numbered(path: Path, record: type[T], *, notice: Notice = ignore) -> Iterator[tuple[int, T]]:
    """The same with 1-based line numbers."""
    decoder = msgspec.json.Decoder(record)
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    except OSError as error:
        raise BadRecord(path, f"cannot be read ({error.strerror or error}); check its rights") from None
    with file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                notice(f"{path}, line {number}: torn by an interruption; dropped")
                return
            yield number, decode_line(decoder, line, path, number)


def followed(path: Path, record: type[T], ended: Callable[[], bool]) -> Iterator[T | None]:
    """Stream a journal while another thread appends to it; None where nothing new is there at the moment.

    Args:
        path: of the journal, which exists.
        record: what it holds.
        ended: whether nothing more will be appended; then what is left is read, and the stream ends.

    Raises:
        BadRecord: a whole line is not a record of this kind.
    """
    decoder = msgspec.json.Decoder(record)
    with path.open("rb") as file:
        number = 0
        while True:
            last, start = ended(), file.tell()
            line = file.readline()
            if line.endswith(b"\n"):
                number += 1
                yield decode_line(decoder, line, path, number)
                continue
            if last:
                return
            file.seek(start)
            yield None
            time.sleep(_LOOK_EVERY_S)


def decode_line(decoder: msgspec.json.Decoder[T], line: bytes, path: Path, number: int) -> T:
    """Decode one line, or say which line and field are at fault."""
    try:
        return decode(line, decoder)
    except msgspec.ValidationError as error:
        sentence, field = place_of(error)
        raise BadRecord(path, sentence, line=number, field=field) from None
    except UNREADABLE as error:
        raise BadRecord(
            path, f"not a JSON record: {error}; repair the line, or remove it to have it made again", line=number
        ) from None


def _cut_torn_line(fd: int) -> int:
    """Cut the file back to its last newline; return how many bytes went."""
    size = os.fstat(fd).st_size
    end = size
    while end > 0:
        start = max(0, end - _TAIL_BYTES)
        newline = os.pread(fd, end - start, start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end < size:
        os.ftruncate(fd, end)
    return size - end
