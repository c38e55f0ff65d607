"""What a grader finds around it in the jail: its folder, a shell with ordinary tools, interpreters, a PATH."""

from __future__ import annotations

import os
import stat
import sys
from functools import cache
from pathlib import Path

from truegrade.errors import UserError

TOOLS = (
    *("sh", "bash", "dash", "env", "true", "false", "test", "[", "echo", "printf", "cat", "tee", "head", "tail"),
    *(
        "cut",
        "tr",
        "wc",
        "sort",
        "uniq",
        "diff",
        "cmp",
        "grep",
        "sed",
        "awk",
        "xargs",
        "find",
        "basename",
        "dirname",
    ),
    *(
        "readlink",
        "realpath",
        "pwd",
        "ls",
        "cp",
        "mv",
        "rm",
        "mkdir",
        "rmdir",
        "mktemp",
        "touch",
        "chmod",
        "sleep",
    ),
    *("timeout", "date", "expr", "seq"),
)
"""Commands that graders start by name."""
MAX_FILES = 100_000
"""In the folder of a grader: more is looked through for too long."""
PATH = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"


def environment(*, jailed: bool) -> dict[str, str]:
    """Variables that a grader's process has besides those of every jail; outside it, all of this process."""
    return {"PATH": PATH} if jailed else dict(os.environ)


@cache
def tools() -> tuple[str, ...]:
    """Paths of the shell, the tools and this interpreter's other names, as far as they are there."""
    found = [f"{folder}/{name}" for folder in ("/bin", "/usr/bin") for name in TOOLS]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    found += [f"{Path(sys.executable).parent}/python{suffix}" for suffix in ("", "3", version)]
    return tuple(path for path in found if os.access(path, os.X_OK) and path != sys.executable)


def shown_with(file: Path) -> tuple[str, ...]:
    """The folder of a grader's file; of one that holds much else, such as a home, the file and modules beside it.

    Raises:
        UserError: the folder cannot be shown.
    """
    folder = file.parent
    if folder in _crowded():
        beside = [path for path in folder.glob("*.py") if path.is_file()]
        return tuple(sorted({str(file), *map(str, beside)}))
    check_folder(folder)
    return (str(folder),)


def _crowded() -> set[Path]:
    """Folders that are never shown as a whole."""
    homes = {Path.home(), Path("/tmp")}
    return {*homes, *(parent for home in homes for parent in home.parents), *Path(sys.prefix).parents[1:]}


def check_folder(folder: Path) -> None:
    """Refuse a folder with sockets in it, by which a program could reach others, or with too many files.

    Raises:
        UserError: says which.
    """
    seen = 0
    pending = [str(folder)]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        seen += len(entries)
        if seen > MAX_FILES:
            raise UserError(f"`grader`: {folder} holds more than {MAX_FILES:,} files; put it into one of its own")
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif not entry.is_file(follow_symlinks=False) and _is_socket(entry):
                raise UserError(f"`grader`: {entry.path} is a socket; put the grader into a folder of its own")


def _is_socket(entry: os.DirEntry[str]) -> bool:
    """Whether it is one, or leads to one."""
    try:
        return stat.S_ISSOCK(entry.stat().st_mode)
    except OSError:
        return False
