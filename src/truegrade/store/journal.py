"""Append-only files of records, one JSON object a line, that survive ``kill -9``.

A record is one ``write`` to a descriptor opened with ``O_APPEND``, so a kill loses at most the record in
flight; what a kill left of a line is cut off, with a notice, before anything is appended. What a full disk left of
one is cut off at once.
"""

from __future__ import annotations

import fcntl
import os
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import msgspec

from truegrade.errors import BadRecord, UserError
from truegrade.files import run_log
from truegrade.files.json_text import UNREADABLE, checksum_fits, decode, encode, place_of, with_checksum
from truegrade.files.writing import writing

T = TypeVar("T", bound=msgspec.Struct)

Notice = Callable[[str], None]
"""Receives one sentence for the person at the terminal."""

_TAIL_BYTES = 1 << 16
SHOWN_DAMAGED = 3
"""Damaged lines of a journal that are named; the others are counted."""
FSYNC_EVERY, FSYNC_AFTER_S = 64, 1.0
"""Records between two fsyncs, and seconds at the least: hundreds of verdicts a second would mostly wait for the
disk."""
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
        fsync_every: records between two fsyncs, which lie a second apart at the least; 1 syncs each at once.
            `close` syncs too.

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
        self._unsynced, self._synced = 0, time.monotonic()
        self._fd = -1
        with writing(path):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            self.torn = _cut_torn_line(self._fd)
        if self.torn:
            notice(f"{path}: the last line was torn by an interruption; its {self.torn} bytes are dropped")

    def append(self, record: T) -> None:
        """Write one record durably enough that only a power cut can lose it before the next fsync."""
        line = with_checksum(encode(record))
        self.append_lines(line)
        if self._appended is not None:
            self._appended(record, len(line))

    def append_lines(self, content: bytes, count: int = 1) -> None:
        """Write so many records that `truegrade.files.json_text.with_checksum` has made lines of."""
        line = memoryview(content)
        with writing(self.path):
            try:
                while line:
                    line = line[os.write(self._fd, line) :]
            except OSError:
                _cut_torn_line(self._fd)
                raise
        self._unsynced += count
        if self._unsynced >= self._fsync_every and (
            self._fsync_every == 1 or time.monotonic() - self._synced >= FSYNC_AFTER_S
        ):
            self.sync()

    def sync(self) -> None:
        """Force what was appended to the disk."""
        with writing(self.path):
            os.fsync(self._fd)
        self._unsynced, self._synced = 0, time.monotonic()

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
    """Stream the records of a journal; a torn last line, and damaged ones, are dropped with a notice.

    Raises:
        BadRecord: the file cannot be read, or a line that is not damaged is not a record of this kind.
    """
    return (value for _, _, value in placed(path, record, notice=notice))


def placed(path: Path, record: type[T], *, notice: Notice = ignore) -> Iterator[tuple[int, int, T]]:
    """The same with the 1-based number of each line, and the byte at which it begins."""
    reader, offset = LineReader(path, record, notice=notice), 0
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
                break
            value = reader.read(line, number)
            if value is not None:
                yield number, offset, value
            offset += len(line)
    reader.tell()


class LineReader(Generic[T]):
    """Reads the lines of one journal, in order; a damaged line is missing, which is said.

    Earlier versions wrote lines without checksums. They stand at the beginning of a journal, as it is only
    appended to: behind the first line with a checksum, one without is damaged.

    Args:
        path: of the journal.
        record: what it holds.
        notice: told of the first `SHOWN_DAMAGED` damaged lines, and by `tell` of how many there are.
    """

    def __init__(self, path: Path, record: type[T], *, notice: Notice = ignore) -> None:
        self._path, self._notice = path, notice
        self._decoder = msgspec.json.Decoder(record)
        self._checked = False
        self._unchecked = self._damaged = 0

    def read(self, line: bytes, number: int) -> T | None:
        """The record of a whole line; None of a damaged one.

        Args:
            line: with its end.
            number: of the line, 1-based.

        Raises:
            BadRecord: it is as it was written, and not a record of this kind.
        """
        fits = checksum_fits(line)
        behind = self._checked
        self._checked = behind or fits is not None
        if fits is False or (fits is None and behind):
            self._note(number, "its checksum does not fit")
            return None
        try:
            value = decode(line, self._decoder)
        except UNREADABLE as error:
            sentence, field = place_of(error) if isinstance(error, msgspec.ValidationError) else (str(error), None)
            if fits is None:
                self._note(number, f"{sentence}, field {field!r}" if field else sentence)
                return None
            problem = f"{sentence}; was it written by a newer version?"
            raise BadRecord(self._path, problem, line=number, field=field) from None
        self._unchecked += fits is None
        return value

    def _note(self, number: int, why: str) -> None:
        self._damaged += 1
        if self._damaged <= SHOWN_DAMAGED:
            self._notice(
                f"{self._path}, line {number}: damaged ({why}); what it held is missing, and the command that made"
                " it makes it again"
            )

    def tell(self) -> None:
        """Say how many lines are damaged, where not all were named, and how many hold no checksum."""
        if self._damaged > SHOWN_DAMAGED:
            self._notice(f"{self._path}: {self._damaged} lines are damaged; the first {SHOWN_DAMAGED} are named")
        if self._unchecked:
            self._notice(
                f"{self._path}: {self._unchecked} lines of an earlier version hold no checksum, so they are read"
                " unchecked"
            )


class OfSample(Protocol):
    """What says which sample it is of."""

    @property
    def problem_id(self) -> str:
        """Of the problem."""

    @property
    def sample(self) -> int:
        """Its number, 0-based."""


class LastRecords(Generic[T]):
    """The last record of each sample, read when it is asked for: eight bytes a sample are kept.

    Args:
        path: of the journal.
        record: what it holds.
        begins: of the records that count, in order: where each begins and which sample it is of. The numbers of
            samples should be bounded: the bytes are kept of all up to the largest one.
    """

    def __init__(self, path: Path, record: type[T], begins: Iterable[tuple[int, OfSample]]) -> None:
        self._decoder = msgspec.json.Decoder(record)
        self._begins: dict[str, array[int]] = defaultdict(_no_numbers)
        for begin, sample in begins:
            row = self._begins[sample.problem_id]
            row.extend([_NOWHERE] * (sample.sample + 1 - len(row)))
            row[sample.sample] = begin
        self._file = path.open("rb") if self._begins else BytesIO()

    def of(self, sample: OfSample) -> T | None:
        """The last record of the sample that counts; None where there is none."""
        begins = self._begins.get(sample.problem_id, ())
        if not 0 <= sample.sample < len(begins) or begins[sample.sample] == _NOWHERE:
            return None
        self._file.seek(begins[sample.sample])
        return decode(self._file.readline(), self._decoder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


_NOWHERE = -1


def _no_numbers() -> array[int]:
    return array("q")


def followed(path: Path, record: type[T], ended: Callable[[], bool]) -> Iterator[T | None]:
    """Stream a journal while another thread appends to it; None where nothing new is there at the moment.

    Args:
        path: of the journal, which exists.
        record: what it holds.
        ended: whether nothing more will be appended; then what is left is read, and the stream ends.

    Raises:
        BadRecord: a line that is not damaged is not a record of this kind.
    """
    reader = LineReader(path, record)
    with path.open("rb") as file:
        number = 0
        while True:
            last, start = ended(), file.tell()
            line = file.readline()
            if line.endswith(b"\n"):
                number += 1
                if (value := reader.read(line, number)) is not None:
                    yield value
                continue
            if last:
                return
            file.seek(start)
            yield None
            time.sleep(_LOOK_EVERY_S)


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


# --------------------------------------------------------------- One process at a time in a folder of results.


@contextmanager
def alone_in(folder: Path, lock: str, doing: str) -> Iterator[None]:
    """Alone with a folder, which is made if missing; the lock goes with its process, however that ends.

    Args:
        folder: of the results; it gets the log of what is done meanwhile.
        lock: name of the file in it that is locked.
        doing: what another process that holds the lock is doing, for the message.

    Raises:
        UserError: another process is at work in it, or it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / lock).open("a")
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}; choose another `out`") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{folder}: another process is {doing} there; wait, or choose another `out`") from None
        run_log.begin(folder)
        yield


# --------------------------- A journal read as it grows: each look reads what was appended since the last one.


class Span(NamedTuple):
    """Where a line lies in its file, in bytes."""

    offset: int
    length: int


class Follower(Generic[T]):
    """Reads the records of one journal once each.

    Args:
        path: of the journal, which need not exist yet.
        record: what a line holds, or as many of its fields as matter.
    """

    def __init__(self, path: Path, record: type[T]) -> None:
        self.path = path
        self._record = record
        self._reader = LineReader(path, record)
        self._inode, self._offset, self._lines = 0, 0, 0

    def replaced(self) -> bool:
        """Whether the file is another one than was read, so that all that was read is void; then starts anew."""
        try:
            status = self.path.stat()
            inode, size = status.st_ino, status.st_size
        except FileNotFoundError:
            inode, size = 0, 0
        void = self._offset > 0 and (inode != self._inode or size < self._offset)
        if void or not self._offset:
            self._inode, self._offset, self._lines = inode, 0, 0
            self._reader = LineReader(self.path, self._record)
        return void

    def news(self) -> Iterator[tuple[Span, T]]:
        """The records appended since the last call; a line that is not finished yet is left for the next.

        Raises:
            BadRecord: a whole line is no such record.
        """
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return
        with file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                span = Span(self._offset, len(line))
                record = self._reader.read(line, self._lines + 1)
                self._offset += len(line)
                self._lines += 1
                if record is not None:
                    yield span, record
