"""How a zygote shuts itself in, once, before it serves: everything it forks is shut in with it.

Level 3 starts inside the namespaces that bubblewrap made, with the few capabilities that are needed here and
are gone afterwards. Level 2 does the rest without namespaces. Level 1 does nothing.
"""

from __future__ import annotations

import os
import sys
from os import getpid

from truegrade.sandbox.landlock import restrict_files
from truegrade.sandbox.seccomp import Filter, jail_filter, libc_prctl, sample_filter
from truegrade.sandbox.syscalls import MACHINES

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 4, 24, 36, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAPABILITY_VERSION_3 = 0x20080522
MS_NOSUID, MS_NODEV = 2, 4
PID_SLOT = 0x7FFFFFFF
"""Stands in a prepared filter for the number of the process that installs it; above any real one."""


def confine(settings: dict[str, Any]) -> None:
    """Give up everything that serving does not need; see `truegrade.sandbox.zygotes.Settings`.

    Raises:
        OSError: the kernel refused a step; the zygote must not serve then.
    """
    level = settings["level"]
    if sys.platform == "linux":
        _prctl(PR_SET_CHILD_SUBREAPER, 1)  # what a program orphans comes to us, to be killed and reaped
    if level >= 3:
        _mount_scratch(settings)
    if level >= 2:
        _become(settings["uid"])
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
        _prctl(PR_SET_DUMPABLE, 0)
    _limit()
    if level >= 2:
        readable = [*settings["readable"], *(["/proc"] if level >= 3 else [])]
        writable = [settings["scratch"], "/dev/null"]
        restrict_files(readable, writable, execute=settings["processes"] > 0)
        Filter(jail_filter(_arch())).install()


def sample_confinement(settings: dict[str, Any]) -> Callable[[], None]:
    """What is left to do in each child before the program runs.

    Args:
        settings: those of the zygote.
    """
    processes = settings["processes"] > 0
    # With processes of its own to signal, a program at level 3 has a PID namespace to do it in.
    if settings["level"] < 2 or (processes and settings["level"] >= 3):
        return lambda: None
    install = Filter(sample_filter(_arch(), PID_SLOT, processes=processes), slot=PID_SLOT).installer()
    prctl = libc_prctl()

    def bind() -> None:
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # of itself, a program may see all that /proc has
        install(getpid())

    return bind


def _mount_scratch(settings: dict[str, Any]) -> None:
    """A file system of its own for what programs write, bounded in bytes and in files."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    uid = os.getuid() if settings["uid"] is None else settings["uid"]
    options = (
        f"size={settings['scratch_bytes']},nr_inodes={settings['scratch_files']},mode=700,uid={uid},gid={uid}"
    )
    flags = ctypes.c_ulong(MS_NOSUID | MS_NODEV)
    if libc.mount(b"tmpfs", settings["scratch"].encode(), b"tmpfs", flags, options.encode()):
        raise OSError(ctypes.get_errno(), "the scratch file system cannot be mounted")


def _become(uid: int | None) -> None:
    """Take another user's number, if one is given, and drop every capability."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails without CAP_SETPCAP; nothing can be gained then
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    if libc.capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())):
        raise OSError(ctypes.get_errno(), "the capabilities cannot be dropped")


def _limit() -> None:
    """Limits that are the same for every program."""
    import resource

    for name in ("RLIMIT_CORE", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE"):
        kind = getattr(resource, name, None)
        if kind is not None:
            resource.setrlimit(kind, (0, 0))


def _prctl(option: int, value: int) -> None:
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def _arch() -> int:
    return MACHINES[os.uname().machine]
