"""Which shared libraries programs of a machine are loaded with: what ``ldd`` would print, without running it.

A jail shows these files and no folder of libraries as a whole, since such folders hold the packages of a
distribution as well. Formats: the ELF specification, ``elf/cache.c`` and ``sysdeps/generic/dl-cache.h`` of glibc.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from mmap import ACCESS_READ, mmap
from pathlib import Path

CACHE = "/etc/ld.so.cache"
CACHE_MAGIC = b"glibc-ld.so.cache1.1"
_CACHE_HEADER, _CACHE_ENTRY = struct.Struct("<20sII20x"), struct.Struct("<iIIIQ")
DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
"""Where a loader looks that has no cache, such as musl's."""
ALWAYS = ("libgcc_s.so.1",)
"""The C library loads it when a thread is cancelled, though nothing names it."""
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH = 1, 5, 15, 29
_HEADER, _SEGMENT, _DYNAMIC = struct.Struct("<4sBB26xQ14xHH"), struct.Struct("<IIQQQQQQ"), struct.Struct("<QQ")


def loaded_with(files: Iterable[str]) -> list[str]:
    """Paths, as the loader opens them, of the libraries and loaders that these programs and libraries need.

    Args:
        files: ELF files; anything else needs nothing.
    """
    known = _cached()
    found = {path for name in ALWAYS for path in known.get(name, ())}
    pending = [*files, *found]
    seen: set[tuple[int, int]] = set()
    while pending:
        path = pending.pop()
        try:
            status = os.stat(path)  # noqa: PTH116 - hundreds of files, once per process
        except OSError:
            continue
        if (status.st_dev, status.st_ino) not in seen:
            seen.add((status.st_dev, status.st_ino))
            needed = list(_needs(path, known))
            found.update(needed)
            pending += needed
    # Like the loader, pass over what cannot be looked at: a library's own folder may be another user's.
    return sorted({os.path.normpath(path) for path in found if os.path.exists(path)})  # noqa: PTH110


def _needs(path: str, known: Mapping[str, list[str]]) -> Iterator[str]:
    """Every file that the loader may look for: the cache can hold several builds of one library."""
    for name, folders in _named(path):
        if "/" in name:
            yield name
        else:
            # Of a file that loads this one there may be folders too; of an interpreter they are its own.
            yield from (f"{folder}/{name}" for folder in (*folders, f"{sys.base_prefix}/lib"))
            yield from known.get(name) or (f"{folder}/{name}" for folder in DEFAULT_FOLDERS)


def _named(path: str) -> list[tuple[str, list[str]]]:
    """Names of the libraries and of the loader in an ELF file, each with the folders that the file adds."""
    try:
        with open(path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:  # noqa: PTH123
            return _read(data, os.path.dirname(path))  # noqa: PTH120
    except (OSError, struct.error, ValueError):
        return []


def _read(data: mmap, origin: str) -> list[tuple[str, list[str]]]:
    magic, width, order, table, size, count = _HEADER.unpack_from(data)
    if (magic, width, order) != (b"\x7fELF", 2, 1):
        return []
    segments = [_SEGMENT.unpack_from(data, table + size * number) for number in range(count)]
    named: list[tuple[str, list[str]]] = [
        (data[offset : offset + length].rstrip(b"\0").decode(), [])
        for kind, _, offset, _, _, length, _, _ in segments
        if kind == PT_INTERP
    ]
    for kind, _, offset, _, _, length, _, _ in segments:
        if kind == PT_DYNAMIC:
            entries = list(_DYNAMIC.iter_unpack(data[offset : offset + length]))
            strings = _offset(next(value for tag, value in entries if tag == DT_STRTAB), segments)
            texts = [(tag, _text(data, strings + value)) for tag, value in entries if tag in _TEXTS]
            folders = [
                folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
                for tag, text in texts
                if tag != DT_NEEDED
                for folder in text.split(":")
            ]
            named += [(text, folders) for tag, text in texts if tag == DT_NEEDED]
    return named


_TEXTS = (DT_NEEDED, DT_RPATH, DT_RUNPATH)


def _offset(address: int, segments: list[tuple[int, ...]]) -> int:
    """Where in the file lies what is at this address in memory."""
    for kind, _, offset, start, _, length, _, _ in segments:
        if kind == PT_LOAD and start <= address < start + length:
            return offset + address - start
    raise ValueError("an address outside every segment")


def _text(data: bytes | mmap, at: int) -> str:
    return data[at : data.find(b"\0", at)].decode()


@cache
def _cached() -> dict[str, list[str]]:
    """Paths of the system's libraries by name; empty where there is no cache of glibc's kind."""
    try:
        data = Path(CACHE).read_bytes()
    except OSError:
        return {}
    start = data.find(CACHE_MAGIC)
    if start < 0:
        return {}
    _, count, _ = _CACHE_HEADER.unpack_from(data, start)
    found: dict[str, list[str]] = {}
    entries = start + _CACHE_HEADER.size
    for number in range(count):
        _, key, value, _, _ = _CACHE_ENTRY.unpack_from(data, entries + number * _CACHE_ENTRY.size)
        found.setdefault(_text(data, start + key), []).append(_text(data, start + value))
    return found
