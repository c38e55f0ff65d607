"""Which protection this machine offers, found out once per process and proved before it is relied upon."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import sys
from functools import cache

from truegrade.sandbox import cgroups, landlock
from truegrade.sandbox.protection import LIMITS_ONLY, NAMESPACES, Protection
from truegrade.sandbox.selftest import self_test
from truegrade.sandbox.syscalls import MACHINES

_log = logging.getLogger(__name__)

NO_NAMESPACES = "a filter of system calls around this process, such as a container's, forbids namespaces"
INVALID_FLAG = 1
"""The kernel's `unshare` refuses it with EINVAL; EPERM means that a filter answered first."""
GET_BUBBLEWRAP = "install bubblewrap (`apt install bubblewrap`, `dnf install bubblewrap`)"


@cache
def detect(max_level: int = NAMESPACES) -> Protection:
    """The highest protection that passes its self-test, at most ``max_level``."""
    found = _proved(max_level)
    _log.info("programs run at protection level %d: %s", found.level, found.why)
    return found


def _proved(max_level: int) -> Protection:
    reasons: list[str] = []
    for level in range(min(max_level, NAMESPACES), LIMITS_ONLY, -1):
        bubblewrap = shutil.which("bwrap") if level == NAMESPACES else None
        why_not = _missing(level, bubblewrap)
        if why_not is None:
            protection = Protection(level=level, why="; ".join([_parts(level), *reasons]), bubblewrap=bubblewrap)
            why_not = self_test(protection)
            if why_not is None:
                return protection
            if level == NAMESPACES and _namespaces_forbidden():
                why_not = NO_NAMESPACES
        reasons.append(f"not level {level}: {why_not}")
    why = "; ".join(["resource limits only", *reasons])
    return Protection(level=LIMITS_ONLY, why=why)


def _missing(level: int, bubblewrap: str | None) -> str | None:
    """What the machine lacks for a level."""
    if sys.platform != "linux":
        return "this is not Linux"
    machine = os.uname().machine
    if machine not in MACHINES:
        return f"there is no filter of system calls for {machine}"
    if sys.maxsize < 1 << 32:
        return "the interpreter is a 32-bit program"
    if landlock.version() == 0:
        return "the kernel offers no Landlock, or a container's filter of system calls forbids it"
    if level == NAMESPACES and bubblewrap is None:
        return NO_NAMESPACES if _namespaces_forbidden() else f"bubblewrap is not there; {GET_BUBBLEWRAP}"
    return None


def _namespaces_forbidden() -> bool:
    """Whether a filter around this process refuses to make namespaces: it answers before the kernel looks."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return libc.unshare(INVALID_FLAG) != 0 and ctypes.get_errno() == errno.EPERM


def _parts(level: int) -> str:
    walls = "namespaces by bubblewrap, " if level == NAMESPACES else ""
    group = ", a control group for memory" if os.environ.get(cgroups.VARIABLE) else ""
    return f"{walls}Landlock (version {landlock.version()}) and a filter of system calls{group}"
