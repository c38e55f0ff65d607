"""A journal read as it grows: each look reads what was appended since the last one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import msgspec

from truegrade.store.journal import LineReader

T = TypeVar("T", bound=msgspec.Struct)


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
