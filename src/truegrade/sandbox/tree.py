"""What of the machine's files a program may open: interpreter, packages, shared libraries.

It is a list of what is allowed. The environment that Truegrade runs in is never shown as a whole: it can hold data
sets with their solutions, and Truegrade itself holds some. Landlock enforces the list at levels 2 and 3; at level
3 little else is there to begin with.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import Distribution


# ----------------------------------------------------------------------------------------------------------------
# Which shared libraries programs of a machine are loaded with: what ``ldd`` would print, without running it.
# A jail shows these files and no folder of libraries as a whole, since such folders hold the packages of a
# distribution as well. Formats: the ELF specification, ``elf/cache.c`` and ``sysdeps/generic/dl-cache.h`` of
# glibc.

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
            needed = {*_needs(path, known)} - found
            found |= needed
            pending += needed
    # Like the loader, pass over what cannot be looked at: a library's own folder may be another user's.
    return sorted({os.path.normpath(path) for path in found if os.path.exists(path)})  # noqa: PTH110


def _needs(path: str, known: Mapping[str, list[str]]) -> Iterator[str]:
    """Every file that the loader may look for: the cache can hold several builds of one library."""
    for name, folders in _needed_libraries(path):
        if "/" in name:
            yield name
        else:
            # Of a file that loads this one there may be folders too; of an interpreter they are its own.
            yield from (f"{folder}/{name}" for folder in (*folders, f"{sys.base_prefix}/lib"))
            yield from known.get(name) or (f"{folder}/{name}" for folder in DEFAULT_FOLDERS)


def _needed_libraries(path: str) -> list[tuple[str, list[str]]]:
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


SYSTEM = (CACHE, "/usr/share/zoneinfo", "/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8")
"""Where the loader finds libraries; time zones; the locale of `zygotes.environment`, where it is no part of the C
library."""
OF_PACKAGES = frozenset({"site-packages", "dist-packages"})
"""Folders of the standard library that are no part of it."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """Paths, symbolic links among them as they are spelled."""

    opened: tuple[str, ...]
    """Files and folders that programs may open, and all below them."""
    libraries: tuple[str, ...]
    """The standard library, its folders of packages included: what is in it may be listed."""
    hidden: tuple[str, ...]
    """Those folders of packages."""
    packages: tuple[str, ...]
    """What is shown besides, and files and folders of the packages that may be imported; among ``opened``."""
    importable: tuple[tuple[str, str], ...]
    """Top-level modules of those packages, each with the folder it is in."""
    described: tuple[str, ...]
    """Folders of those packages' metadata, from which they learn their own versions."""


@cache
def tree(packages: tuple[str, ...], shown: tuple[str, ...] = ()) -> Tree:
    """What a jailed interpreter gets to see.

    Args:
        packages: names of installed packages that may be imported, with what they require; others are left out.
        shown: files and folders besides; libraries that the files among them load are found.
    """
    libraries = _standard_libraries()
    entries = [entry for library in libraries for entry in os.scandir(library)]
    seen: dict[str, None] = {}
    installed = {one: _files(one) for name in packages for one in _with_requirements(name, seen)}
    held = [(_folder(one), name) for one, files in installed.items() for name in _top_level(one, files)]
    programs = [str(Path(sys.executable).resolve()), *_extensions(libraries, installed), *shown]
    opened = [*SYSTEM, *_interpreter(), *loaded_with(programs)]
    opened += [entry.path for entry in entries if entry.name not in OF_PACKAGES]
    of_packages = tuple(sorted({f"{folder}/{name}" for folder, name in held}))
    apart = (*shown, *of_packages)
    return Tree(
        opened=(*_outermost(opened), *apart),
        libraries=libraries,
        hidden=tuple(entry.path for entry in entries if entry.name in OF_PACKAGES and entry.is_dir()),
        packages=apart,
        importable=tuple((name.partition(".")[0], folder) for folder, name in held if _is_module(name)),
        described=tuple(f"{folder}/{name}" for folder, name in held if name.endswith(".dist-info")),
    )


def open_to_all(paths: Sequence[str]) -> bool:
    """Whether any user of the machine can reach these paths; not so, say, below a closed home directory."""
    for part in {part for path in map(Path, paths) for part in (path.resolve(), *path.resolve().parents)}:
        mode = part.stat().st_mode
        if not mode & (stat.S_IXOTH if part.is_dir() else stat.S_IROTH):
            return False
    return True


def _outermost(paths: Iterable[str]) -> list[str]:
    existing = {os.path.normpath(path) for path in paths if os.path.exists(path)}  # noqa: PTH110 - hundreds
    above = ((path, (path[:at] for at, sign in enumerate(path) if sign == "/")) for path in existing)
    return sorted(path for path, folders in above if existing.isdisjoint(folders))


def _standard_libraries() -> tuple[str, ...]:
    """The folder of the standard library, as it is spelled and as it is called where links are resolved."""
    spelled = sysconfig.get_path("stdlib")
    return tuple(dict.fromkeys((spelled, str(Path(spelled).resolve()))))


def _interpreter() -> Iterator[str]:
    """The interpreter as it is called, every link from there to the file itself, and what it looks for first."""
    path = Path(sys.executable)
    yield str(path)
    for _ in range(40):
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
        yield os.path.normpath(path)
    yield str(path.resolve())
    version = f"python{sys.version_info.major}{sys.version_info.minor}"
    yield from (f"{sys.prefix}/pyvenv.cfg", f"{sys.base_prefix}/lib/{version}.zip")


def _extensions(libraries: Iterable[str], installed: Mapping[Distribution, list[str]]) -> list[str]:
    """Libraries that an import loads."""
    own = [str(path) for library in libraries for path in Path(library, "lib-dynload").glob("*.so")]
    return own + [
        str(one.locate_file(file))
        for one, files in installed.items()
        for file in files
        if ".so" in file.rpartition("/")[2]
    ]


# ------------------------------------------------------------------------------------------------- packages


def _with_requirements(name: str, seen: dict[str, None]) -> Iterator[Distribution]:
    """An installed package and all that it requires without being asked for an extra."""
    from importlib.metadata import PackageNotFoundError, distribution  # 20 ms that nobody else needs

    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in seen:
        return
    seen[key] = None
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return
    yield found
    for requirement in found.requires or ():
        if "extra ==" not in requirement and (named := _NAME.match(requirement)) is not None:
            yield from _with_requirements(named[0], seen)


def _folder(found: Distribution) -> str:
    return os.path.normpath(str(found.locate_file("")))


def _files(found: Distribution) -> list[str]:
    """What an installer wrote of a package, relative to the folder that it is installed in."""
    import csv

    if record := found.read_text("RECORD"):  # `Distribution.files` makes a path of each line: 10 ms for numpy's
        return [row[0] for row in csv.reader(record.splitlines()) if row]
    return [str(file) for file in found.files or ()]


def _top_level(found: Distribution, files: Iterable[str]) -> set[str]:
    """Names, in the folder that a package is installed in, of its own files and folders."""
    names = {file.partition("/")[0] or "/" for file in files} or {found.metadata["Name"].replace("-", "_")}
    names = {name for name in names if name not in {"..", "/", "__pycache__"} and not name.endswith(".pth")}
    return {name for name in names if Path(_folder(found), name).exists()}


def _is_module(name: str) -> bool:
    """Whether a file or folder can be imported; not so ``numpy.libs`` or ``numpy-2.3.5.dist-info``."""
    return "." not in name or name.endswith((".py", ".so"))
