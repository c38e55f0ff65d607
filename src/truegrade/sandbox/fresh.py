"""What each process of a suite's zygote gets of its own at level 3, so that no run can leave a note to the next.

Before each fork the zygote makes a namespace of process numbers, so these begin anew every time. The forked
process makes one of mounts, with a `/proc` of its numbers and a scratch whose inodes are counted anew, and then
gives up what that took: the capability that the zygote keeps, and the calls. So Landlock, which allows no mounts,
is put in force here and not in the zygote.

The first process of such a namespace is not the program's, since signals mean something else to it. It is one that
waits in the zygote's memory, costs no copy of that, and takes all others along when it is killed.
"""

from __future__ import annotations

import ctypes
import os
from mmap import mmap
from os import close

from truegrade.sandbox.confine import folders, give_up_capabilities, mount_proc, mount_scratch
from truegrade.sandbox.landlock import READ, WRITE, allow, enforce
from truegrade.sandbox.seccomp import Filter

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

CLONE_VM, CLONE_NEWNS, CLONE_NEWPID, SIGCHLD = 0x100, 0x20000, 0x20000000, 17
STACK_BYTES = 1 << 16
RUNS = 256
"""After so many runs the rules of files are made anew: each run adds those of its own mounts."""


class Fresh:
    """Namespaces, one set after the other.

    Args:
        settings: those of the zygote.
        rules: makes the rules of files that are the same for every run; a descriptor.
        leaving: the filter of system calls that a program is bound to besides.
    """

    def __init__(self, settings: dict[str, Any], rules: Callable[[], int], leaving: Filter) -> None:
        self._settings, self._make_rules, self._leave = settings, rules, leaving.installer()
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._numbers = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._stack = mmap(-1, STACK_BYTES)
        self._top = ctypes.addressof(ctypes.c_char.from_buffer(self._stack)) + STACK_BYTES - 64
        self._wait = ctypes.cast(self._libc.pause, ctypes.c_void_p)
        self._rules = rules()
        self._runs = 0

    def number_anew(self) -> int:
        """Let what is forked next have a namespace of process numbers; the number, here, of its first process.

        Raises:
            OSError: the kernel refused.
        """
        self._runs += 1
        if self._runs % RUNS == 0:
            close(self._rules)
            self._rules = self._make_rules()
        libc = self._libc
        # Only from its own namespace may a process make another below it.
        self._check(libc.setns(self._numbers, CLONE_NEWPID), "setns")
        self._check(libc.unshare(CLONE_NEWPID), "unshare")
        top = ctypes.c_void_p(self._top)
        return self._check(libc.clone(self._wait, top, CLONE_VM | SIGCHLD, None), "clone")

    def enter(self) -> None:
        """In the forked process: mounts of its own, then no right to make others.

        Raises:
            OSError: the kernel refused.
        """
        self._check(self._libc.unshare(CLONE_NEWNS), "unshare")
        mount_proc()
        mount_scratch(self._settings)
        give_up_capabilities()
        allow(self._rules, ["/proc"], READ)
        allow(self._rules, folders(self._settings), WRITE)
        enforce(self._rules)
        self._leave(0)

    def _check(self, result: int, call: str) -> int:
        if result < 0:
            raise OSError(ctypes.get_errno(), f"{call}: {os.strerror(ctypes.get_errno())}")
        return result
