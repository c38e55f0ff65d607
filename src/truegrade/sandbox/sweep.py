"""Empties the directory a program ran in, whatever the program made of it."""

from __future__ import annotations

import os
from os import chmod, listdir, utime  # bound now: each name looked up later is a page that the zygote writes

_NEVER = (0, 0)


def empty(root: str, kept: frozenset[str] = frozenset()) -> bool:
    """Remove everything in a directory but ``kept``, and make it as it was; whether that succeeded.

    Directories are lifted to the top before they are emptied, so neither recursion nor the length of a path
    bounds how deep they may lie; symbolic links are removed, never followed.
    """
    try:
        if kept.issuperset(listdir(root)):  # noqa: PTH208 - as most programs leave it
            _restore(root)
            return True
    except OSError:
        pass  # made unreadable: see what is in it
    return _clear(root, kept)


def _clear(root: str, kept: frozenset[str]) -> bool:
    _quietly(os.chmod, root, 0o700)
    pending, number, mark = [root], 0, os.urandom(8).hex()  # a name that no program has given
    while pending:
        directory = pending.pop()
        for entry in _entries(directory):
            if directory == root and entry.name in kept:
                continue
            try:
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)  # noqa: PTH108 - pathlib costs 4 ms here
                    continue
                os.chmod(entry.path, 0o700)  # noqa: PTH101 - without, it can neither be moved nor emptied
                lifted = f"{root}/{mark}-{number}"
                number += 1
                os.rename(entry.path, lifted)  # noqa: PTH104
                pending.append(lifted)
            except OSError:
                continue
        if directory != root:
            _quietly(os.rmdir, directory)
    try:
        left = listdir(root)  # noqa: PTH208
        _restore(root)
    except OSError:
        return False
    return kept.issuperset(left)


def _restore(root: str) -> None:
    """Mode and times of the directory itself would carry a note to the next program."""
    chmod(root, 0o700)  # noqa: PTH101
    utime(root, _NEVER)


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def _quietly(action: object, *arguments: object) -> None:
    try:
        action(*arguments)  # type: ignore[operator]
    except OSError:
        return
