"""Compressed data unpacked piece by piece and within bounds, whoever wrote them.

A few megabytes of gzip can hold gigabytes of zeros. Nothing here asks for more than `STEP` bytes at once, and what
was unpacked is compared with what was read before the next step, so that such an archive ends in one sentence
instead of in all the memory. Files that are not compressed have no bounds: the way out for an honest one that is
refused is to unpack it on disk.
"""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Protocol, TypeAlias

STEP = 1 << 16
"""Bytes unpacked before the bounds are looked at again."""
_READ = 1 << 14
"""Compressed bytes read at once: deflate makes at most 16 MiB of them, and only in steps."""

MOST_RATIO = 256
"""Unpacked bytes for one compressed byte, above which bytes count as dense. Benchmark files have 5 to 8, samples
that repeat each other word for word up to 190; zeros have 1,030 under deflate and far more under zstandard."""
FREE_BYTES = 8 << 20
"""Dense bytes that one line, document or archive member may hold: a model that repeats one character writes
replies as dense as a bomb, but not of this size. As JSON of empty objects they take 200 MB in Python."""
FREE_TOTAL = 1 << 30
"""The same for a file of many lines or members, which are held one at a time."""
MOST_BYTES = 256 << 20
"""One line, document or archive member, dense or not: as much as all of LiveCodeBench's answers to one model."""

_MIB = 1 << 20


class UnpackedTooLarge(ValueError):
    """Compressed data hold more than their bounds allow; the message says which bound, without the file."""


class InflationMeter:
    """Compares what was unpacked with what it was unpacked from.

    Args:
        unit: what is held at once, for the error: ``"line"``, ``"document"``, ``"member"``.
        free: dense bytes that a unit may hold.
        most: bytes that it may hold at all.
        size: bytes of the whole archive, where members may share their compressed bytes; None for no bound.
    """

    def __init__(
        self, unit: str, *, free: int = FREE_BYTES, most: int = MOST_BYTES, size: int | None = None
    ) -> None:
        self._unit, self._free, self._most = unit, free, most
        self._most_in_all = None if size is None else max(FREE_TOTAL, MOST_RATIO * size)
        self._room = self._held = self._dense = self._dense_in_all = self._in_all = 0

    def take(self, count: int) -> None:
        """Note compressed bytes that were read; what earlier ones left unused of their ratio is not saved up."""
        self._room = MOST_RATIO * count

    def give(self, piece: bytes) -> None:
        """Note bytes that were unpacked.

        Raises:
            TooLarge: they are more than a bound allows.
        """
        size = len(piece)
        dense = max(0, size - self._room)
        self._room -= size - dense
        self._held += size
        self._dense += dense
        self._in_all += size
        self._dense_in_all += dense
        if self._held > self._most:
            raise UnpackedTooLarge(f"one {self._unit} unpacks to more than {self._most // _MIB} MiB")
        if self._dense > self._free or self._dense_in_all > FREE_TOTAL:
            raise UnpackedTooLarge(
                f"one {self._unit} unpacks to more than {MOST_RATIO} times its size, as bombs do"
            )
        if self._most_in_all is not None and self._in_all > self._most_in_all:
            raise UnpackedTooLarge(f"its members unpack to more than {MOST_RATIO} times its size, as bombs do")
        if self._unit == "line" and (end := piece.rfind(b"\n")) >= 0:
            self._held, self._dense = size - end - 1, 0

    def next(self) -> None:
        """What was unpacked so far is no longer held."""
        self._held = self._dense = 0


class Stream(Protocol):
    """A decompressor of the standard library, or one of its shape."""

    @property
    def eof(self) -> bool:
        """Whether its data ended."""

    @property
    def unused_data(self) -> bytes:
        """What was given to it behind their end."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """At most so many bytes more."""


Open: TypeAlias = Callable[[], Stream]


class _Zlib:
    """zlib's decompressor, which unlike the others hands back the input that it has not come to."""

    def __init__(self, window: int) -> None:
        self._stream = zlib.decompressobj(window)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, max_length)


class _Stored:
    """Bytes that are not compressed; whatever is given is a whole stream."""

    def __init__(self) -> None:
        self.eof, self.unused_data = False, b""

    def decompress(self, data: bytes, _: int, /) -> bytes:
        self.eof = True
        return data


def stored_stream() -> Stream:
    """As they are."""
    return _Stored()


def zlib_stream() -> Stream:
    """RFC 1950."""
    return _Zlib(zlib.MAX_WBITS)


def deflate_stream() -> Stream:
    """RFC 1951, as zip members are."""
    return _Zlib(-zlib.MAX_WBITS)


def gzip_stream() -> Stream:
    """RFC 1952; its checksum is verified."""
    return _Zlib(16 + zlib.MAX_WBITS)


def zstd() -> Any:
    """The module for zstandard: of the standard library since Python 3.14 (PEP 784), its backport before.

    Raises:
        ImportError: neither is there.
    """
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def unpack(read: Callable[[int], bytes], opener: Open, meter: InflationMeter) -> Iterator[bytes]:
    """Unpack a stream, and those that follow it, in pieces of at most `STEP` bytes.

    Args:
        read: gives at most so many compressed bytes, none at the end.
        opener: makes a decompressor.
        meter: bounds what comes out.

    Raises:
        TooLarge: a bound is reached.
        EOFError: the data end too early.
        zlib.error: they are damaged; another format's decompressor raises its own.
    """
    stream = opener()
    begun = False
    while data := read(_READ):
        meter.take(len(data))
        while data:
            begun = True
            piece = stream.decompress(data, STEP)
            while piece:
                meter.give(piece)
                yield piece
                piece = b"" if stream.eof else stream.decompress(b"", STEP)
            if not stream.eof:
                break
            data, stream, begun = stream.unused_data.lstrip(b"\0"), opener(), False  # gzip may be padded
    if begun:
        raise EOFError("it ends before its end-of-stream marker")


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._left:
            self._left = memoryview(next(self._pieces, b""))
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def as_file(pieces: Iterator[bytes]) -> io.BufferedReader:
    """A file that holds these pieces, one behind the other; reading raises what making them does."""
    return io.BufferedReader(_Pieces(pieces), STEP)


def gunzipped(read: Callable[[int], bytes], meter: InflationMeter) -> io.BufferedReader:
    """What a gzip file holds, as a file; arguments, and what reading raises, as of `unpack`."""
    return as_file(unpack(read, gzip_stream, meter))
