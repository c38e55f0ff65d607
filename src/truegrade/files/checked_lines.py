"""Lines of JSON that hold a checksum of themselves, so that damage on a disk is seen when they are read.

The last field of the object is ``"crc32":"89abcdef"``: the CRC-32 (`zlib.crc32`) of all bytes of the line before
it, as eight hexadecimal digits. It differs after every change of up to 32 bits in a row.
"""

from __future__ import annotations

from zlib import crc32

_KEY = b'"crc32":"'
_END = b'"}\n'
_TAIL = len(_KEY) + 8 + len(_END)
"""Bytes of the last field, the closing brace and the line's end."""


def with_checksum(record: bytes) -> bytes:
    """A JSON object, on one line without its end, as a line with a checksum."""
    body = record[:-1] + (b"," if len(record) > len(b"{}") else b"")
    return b"%b%b%08x%b" % (body, _KEY, crc32(body), _END)


def checksum_fits(line: bytes) -> bool | None:
    """Whether a line, with its end, is as it was written; None where it holds no checksum."""
    if line[-_TAIL : -_TAIL + len(_KEY)] != _KEY or not line.endswith(_END):
        return None
    return line[-_TAIL + len(_KEY) : -len(_END)] == b"%08x" % crc32(memoryview(line)[:-_TAIL])
