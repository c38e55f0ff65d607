"""The empty directory a program runs in, and its removal whatever the program made of it."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from pathlib import Path


def make_scratch() -> Path:
    """A new empty directory that only this user can enter."""
    return Path(tempfile.mkdtemp(prefix="truegrade-"))


def remove_scratch(root: Path) -> None:
    """Remove the directory and everything in it.

    Directories are lifted to the top before they are emptied, so neither recursion nor the length of a path
    bounds how deep they may lie; symbolic links are removed, never followed.

    Not covered: files that a process which outlived the run keeps creating.
    """
    numbers = itertools.count()
    pending = [root]
    while pending:
        directory = pending.pop()
        with contextlib.suppress(OSError):
            directory.chmod(0o700)
        for entry in _entries(directory):
            with contextlib.suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)  # noqa: PTH108 - a scratch may hold 100,000 files
                    continue
                lifted = root / f".lifted-{next(numbers)}"
                os.rename(entry.path, lifted)  # noqa: PTH104
                pending.append(lifted)
        if directory != root:
            with contextlib.suppress(OSError):
                directory.rmdir()
    with contextlib.suppress(OSError):
        root.rmdir()


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []
