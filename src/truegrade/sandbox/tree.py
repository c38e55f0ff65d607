"""What of the machine's files a jailed interpreter needs: itself, its libraries and the system's."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/lib32", "/lib", "/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache")
"""Shared libraries and the loader; time zones."""
OF_PREFIX = ("lib", "lib64", "pyvenv.cfg")
"""A prefix can be a home directory or a project, which hold far more than Python."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def readable() -> list[str]:
    """The paths that a program may read, outermost only, symbolic links among them as they are."""
    paths = [*SYSTEM, str(Path(__file__).parent), *_interpreter()]
    for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}:
        paths += [f"{prefix}/{name}" for name in OF_PREFIX]
        paths += map(str, Path(prefix).glob("local/lib/python3*"))  # Debian's, of packages installed by hand
    existing = sorted({os.path.normpath(path) for path in paths if Path(path).exists()})
    return [path for path in existing if not any(path.startswith(f"{other}/") for other in existing)]


def _interpreter() -> list[str]:
    """The interpreter as it is called, and every link from there to the file itself."""
    path = Path(sys.executable)
    chain = [str(path)]
    while path.is_symlink() and len(chain) < 40:
        path = path.parent / path.readlink()
        chain.append(os.path.normpath(path))
    return [*chain, str(path.resolve())]


def open_to_all(paths: Sequence[str]) -> bool:
    """Whether any user of the machine can reach these paths; not so, say, below a closed home directory."""
    for path in map(Path, paths):
        for part in [path.resolve(), *path.resolve().parents]:
            mode = part.stat().st_mode
            if not mode & (stat.S_IXOTH if part.is_dir() else stat.S_IROTH):
                return False
    return True
