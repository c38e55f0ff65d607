"""Empties the directory a program ran in, whatever the program made of it."""

from __future__ import annotations

import os


def empty(root: str) -> bool:
    """Remove everything in a directory and make it as it was; whether that succeeded.

    Directories are lifted to the top before they are emptied, so neither recursion nor the length of a path
    bounds how deep they may lie; symbolic links are removed, never followed.
    """
    pending, number = [root], 0
    touched = False
    while pending:
        directory = pending.pop()
        if directory != root:
            _quietly(os.chmod, directory, 0o700)
        entries = _entries(directory)
        touched = touched or entries is None or bool(entries)
        for entry in entries or ():
            try:
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)  # noqa: PTH108 - pathlib costs 4 ms here
                    continue
                lifted = f"{root}/.lifted-{number}"
                number += 1
                os.rename(entry.path, lifted)  # noqa: PTH104
                pending.append(lifted)
            except OSError:
                continue
        if directory != root:
            _quietly(os.rmdir, directory)
    # Mode and times of the directory itself would carry a note to the next program.
    _quietly(os.chmod, root, 0o700)
    _quietly(os.utime, root, (0, 0))
    if not touched:
        return True
    try:
        return not os.listdir(root)  # noqa: PTH208
    except OSError:
        return False


def _entries(directory: str) -> list[os.DirEntry[str]] | None:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return None


def _quietly(action: object, *arguments: object) -> None:
    try:
        action(*arguments)  # type: ignore[operator]
    except OSError:
        return
