"""Landlock: which files this process, and all it starts, can ever open again.

Constants and structures: ``include/uapi/linux/landlock.h``; the system calls have the same numbers on every
architecture. Everything that the running kernel can handle is handled, and only what is listed is allowed:
later versions add TCP (4), devices' ioctls (5), and signals and abstract sockets to outside (6).
"""

from __future__ import annotations

import os
from struct import Struct

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << n for n in range(6))
MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_SYM = 1 << 7, 1 << 8, 1 << 9, 1 << 12
REFER, TRUNCATE = 1 << 13, 1 << 14
READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SYM | REFER | TRUNCATE
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many rights over files a version knows; from version 5 on, 16."""
FIRST_WITH_TRUNCATION = 3
NETWORK, SCOPES = 0b11, 0b11
"""Binding and connecting TCP; abstract sockets and signals."""
_BELOW = Struct("=Qi")
"""struct landlock_path_beneath_attr."""


def version() -> int:
    """The version that the kernel offers; 0 if none."""
    offered: int = _libc().syscall(CREATE_RULESET, None, 0, 1)
    return max(0, offered)


def restrict_files(
    readable: Sequence[str],
    writable: Sequence[str],
    *,
    listed: Sequence[str] = (),
    execute: bool,
    sockets: bool = False,
) -> None:
    """Allow reading below some paths, reading and writing below others, and nothing else; for good.

    Args:
        readable: files and directories; those that do not exist are left out.
        listed: directories of which, and of those below, only the names may be read.
        writable: the same.
        execute: whether what is readable may also be executed.
        sockets: whether local sockets may be made below what is writable.

    Raises:
        OSError: the kernel has no Landlock, or refused.
    """
    import ctypes

    class Ruleset(ctypes.Structure):
        _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))

    abi = version()
    if abi == 0:
        raise OSError("the kernel offers no Landlock")
    handled = (1 << FILE_RIGHTS.get(abi, 16)) - 1
    ruleset = Ruleset(handled, NETWORK if abi >= 4 else 0, SCOPES if abi >= 6 else 0)
    # As long as the structure was in the header of that version.
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    libc = _libc()
    fd = _call(libc, CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(size), 0)
    written = WRITE | MAKE_SOCK * sockets
    for paths, rights in ((readable, READ | EXECUTE * execute), (writable, written), (listed, READ_DIR)):
        for path in paths:
            _allow(libc, fd, path, rights & handled)
    # Needs no_new_privs, which `confine` has set just before.
    _call(libc, RESTRICT_SELF, fd, 0)
    os.close(fd)


def _allow(libc: Any, ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):  # noqa: PTH112 - pathlib costs 4 ms here
        # The kernel refuses rights over directories where the path is a file (EINVAL).
        rights &= OF_FILES
    _call(libc, ADD_RULE, ruleset, 1, _BELOW.pack(rights, fd), 0)
    os.close(fd)


def _call(libc: Any, *arguments: Any) -> int:
    result: int = libc.syscall(*arguments)
    if result < 0:
        import ctypes

        raise OSError(ctypes.get_errno(), "Landlock: " + os.strerror(ctypes.get_errno()))
    return result


def _libc() -> Any:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc
