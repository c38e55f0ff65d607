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
    fd = make_rules(readable, writable, listed=listed, execute=execute, sockets=sockets)
    enforce(fd)
    os.close(fd)


def make_rules(
    readable: Sequence[str],
    writable: Sequence[str],
    *,
    listed: Sequence[str] = (),
    execute: bool,
    sockets: bool = False,
) -> int:
    """A descriptor of rules that are not in force yet; arguments and errors are those of `restrict_files`."""
    import ctypes

    class Ruleset(ctypes.Structure):
        _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))

    abi = version()
    if abi == 0:
        raise OSError("the kernel offers no Landlock")
    ruleset = Ruleset(_handled(abi), NETWORK if abi >= 4 else 0, SCOPES if abi >= 6 else 0)
    # As long as the structure was in the header of that version.
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    fd = _call(_libc(), CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(size), 0)
    allow(fd, readable, READ | EXECUTE * execute)
    allow(fd, writable, WRITE | MAKE_SOCK * sockets)
    allow(fd, listed, READ_DIR)
    return fd


def allow(ruleset: int, paths: Sequence[str], rights: int) -> None:
    """Add rights below these paths to rules, as far as the kernel knows them."""
    libc = _libc()
    rights &= _handled(version())
    for path in paths:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        # The kernel refuses rights over directories where the path is a file (EINVAL).
        held = rights if os.path.isdir(path) else rights & OF_FILES  # noqa: PTH112 - pathlib costs 4 ms here
        _call(libc, ADD_RULE, ruleset, 1, _BELOW.pack(held, fd), 0)
        os.close(fd)


def enforce(ruleset: int) -> None:
    """Put rules in force, for good; needs no_new_privs."""
    _call(_libc(), RESTRICT_SELF, ruleset, 0)


def _handled(abi: int) -> int:
    return (1 << FILE_RIGHTS.get(abi, 16)) - 1


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
