"""What of the machine's files a program may open: the interpreter, its standard library, and packages by name.

It is a list of what is allowed. The environment that Truegrade runs in is never shown as a whole: it can hold data
sets with their solutions, and Truegrade itself holds some. Landlock enforces the list at levels 2 and 3; at level
3 little else is there to begin with.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from truegrade.sandbox.libraries import CACHE, loaded_with

if TYPE_CHECKING:
    from importlib.metadata import Distribution

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
    installed = [one for name in packages for one in _with_requirements(name, seen)]
    held = [(_folder(one), name) for one in installed for name in _top_level(one)]
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
    existing = sorted({os.path.normpath(path) for path in paths if Path(path).exists()})
    return [path for path in existing if not any(path.startswith(f"{other}/") for other in existing)]


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


def _extensions(libraries: Iterable[str], installed: Iterable[Distribution]) -> list[str]:
    """Libraries that an import loads."""
    own = [str(path) for library in libraries for path in Path(library, "lib-dynload").glob("*.so")]
    return own + [
        str(one.locate_file(file)) for one in installed for file in one.files or () if ".so" in file.name
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


def _top_level(found: Distribution) -> set[str]:
    """Names, in the folder that a package is installed in, of its own files and folders."""
    names = {file.parts[0] for file in found.files or ()} or {found.metadata["Name"].replace("-", "_")}
    names = {name for name in names if name not in {"..", "/", "__pycache__"} and not name.endswith(".pth")}
    return {name for name in names if Path(_folder(found), name).exists()}


def _is_module(name: str) -> bool:
    """Whether a file or folder can be imported; not so ``numpy.libs`` or ``numpy-2.3.5.dist-info``."""
    return "." not in name or name.endswith((".py", ".so"))
