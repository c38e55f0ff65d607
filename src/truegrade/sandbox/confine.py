"""How a zygote shuts itself in, once, before it serves: everything it forks is shut in with it.

Level 3 starts inside the namespaces that bubblewrap made, with the few capabilities that are needed here and
are gone afterwards. Level 2 does the rest without namespaces. Level 1 does nothing.
"""

from __future__ import annotations

import os
import sys
from os import getpid

from truegrade.sandbox.landlock import FIRST_WITH_TRUNCATION, enforce, make_rules, version
from truegrade.sandbox.seccomp import Filter, jail_filter, leaving_filter, libc_prctl, sample_filter
from truegrade.sandbox.syscalls import MACHINES

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_CAPBSET_DROP = 4, 8, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 36, 38, 47
CAP_SYS_ADMIN = 21
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAPABILITY_VERSION_3 = 0x20080522
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC = 1, 2, 4, 8, 32, 4096, 16384
LOCKED = MS_NOSUID | MS_NODEV | MS_NOEXEC
"""Flags that whoever mounts a file system anew must repeat; `statvfs` has the same numbers for them."""
ONLY_TRACEABLE = b"hidepid=4"
"""Of a /proc that shows a process only those that it may trace: by our own protection, its own."""
PID_SLOT = 0x7FFFFFFF
"""Stands in a prepared filter for the number of the process that installs it; above any real one."""


def confine(settings: dict[str, Any]) -> None:
    """Give up everything that serving does not need; see `truegrade.sandbox.zygotes.Zygote`, which makes them.

    Raises:
        OSError: the kernel refused a step; the zygote must not serve then.
    """
    level, apart = settings["level"], settings["apart"]
    if sys.platform == "linux":
        _prctl(PR_SET_CHILD_SUBREAPER, 1)  # what a program orphans comes to us, to be killed and reaped
    if level >= 3:
        uid = os.getuid() if settings["uid"] is None else settings["uid"]
        before = _act_on_files_as(uid, uid)
        mount_scratch(settings)
        _act_on_files_as(*before)
        _close_mounts([path for path in settings["readable"] if path.startswith("/dev/")])
    if level >= 2:
        # Mounting needs capabilities, so they go after it; Landlock and the filter need none, thanks to
        # no_new_privs.
        _become(settings["uid"], apart=apart)
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
        _prctl(PR_SET_DUMPABLE, 0)
    _limit()
    if level >= 2:
        if not apart:
            rules = file_rules(settings)
            enforce(rules)
            os.close(rules)
        # At level 3 nothing that is not the program's can be written to at all.
        covered = level >= 3 or version() >= FIRST_WITH_TRUNCATION
        code = jail_filter(_arch(), truncation=covered, sockets=_sockets(settings), namespaces=apart)
        Filter(code).install()


def file_rules(settings: dict[str, Any]) -> int:
    """A descriptor of the rules of files, which are not in force yet."""
    # At level 2 /proc would show the machine's processes; at level 3 it is the namespace's own.
    readable = [*settings["readable"], *(["/proc"] if settings["level"] >= 3 else [])]
    return make_rules(
        readable, [*folders(settings), "/dev/null"], listed=settings["listed"],
        execute=settings["processes"] > 0, sockets=_sockets(settings),
    )  # fmt: skip


def _sockets(settings: dict[str, Any]) -> bool:
    """Whether local ones may be made; below level 3 they would reach the machine's own."""
    return bool(settings["grader"] and settings["level"] >= 3)


def folders(settings: dict[str, Any]) -> list[str]:
    """What programs may write to: the working folder and, where it is theirs, that of temporary files."""
    return [settings["scratch"], *([] if settings["temporary"] is None else [settings["temporary"]])]


def sample_confinement(settings: dict[str, Any]) -> Callable[[], None]:
    """What is left to do in each child before the program runs.

    Args:
        settings: those of the zygote.
    """
    processes, level = settings["processes"] > 0, settings["level"]
    if level < 2:
        return lambda: None
    prctl, install = libc_prctl(), None
    # With processes of its own to signal, a program at level 3 has a PID namespace to do it in.
    if level == 2 or not processes:
        alone = level >= 3 or settings["uid"] is not None
        code = sample_filter(_arch(), PID_SLOT, processes=processes, alone=alone)
        install = Filter(code, slot=PID_SLOT).installer()

    def bind() -> None:
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # of itself, a program may see all that /proc has
        if install is not None:
            install(getpid())

    return bind


def leaving() -> Filter:
    """What ends a program's right to make namespaces, where its zygote has it (`truegrade.sandbox.fresh`)."""
    return Filter(leaving_filter(_arch()))


def mount_scratch(settings: dict[str, Any]) -> None:
    """A file system of its own for what programs write, bounded in bytes and in files.

    Two folders of it are shown: the working folder, into which nothing else is mounted, and the directory of
    temporary files, with what lies there of the interpreter. That stays read-only, and as a mount point it can
    neither be removed nor renamed.
    """
    uid = os.getuid() if settings["uid"] is None else settings["uid"]
    options = (
        f"size={settings['scratch_bytes']},nr_inodes={settings['scratch_files']},mode=700,uid={uid},gid={uid}"
    )
    scratch, temporary = settings["scratch"], settings["temporary"]
    own, shared = f"{scratch}/own", f"{scratch}/shared"
    _mount(b"tmpfs", scratch, MS_NOSUID | MS_NODEV, options.encode())
    for folder in (own, shared):
        os.mkdir(folder, 0o700)  # noqa: PTH102 - pathlib costs 4 ms here
    with os.scandir(temporary) as found:
        for entry in found:
            place = f"{shared}/{entry.name}"
            if entry.is_dir():
                os.mkdir(place, 0o755)  # noqa: PTH102
            else:
                os.close(os.open(place, os.O_CREAT | os.O_EXCL))
            _mount(entry.path.encode(), place, MS_BIND | MS_REC)
    _mount(shared.encode(), temporary, MS_BIND | MS_REC)
    _mount(own.encode(), scratch, MS_BIND)  # over the folder that holds both, which is out of reach from here on


def _act_on_files_as(uid: int, gid: int) -> tuple[int, int]:
    """Whose files this process may open and makes: the scratch is its user's alone. Returns whose they were."""
    import ctypes

    libc = ctypes.CDLL(None)
    return int(libc.setfsuid(uid)), int(libc.setfsgid(gid))


def _close_mounts(devices: Sequence[str]) -> None:
    """Let programs leave no note in modes, times and the counters of this process.

    Files of /proc and devices are the machine's own: a change of one would be seen in every other jail. A device
    that is read-only as a file can still be written to.
    """
    _mount(b"proc", "/proc", MS_REMOUNT | LOCKED, ONLY_TRACEABLE)
    for path in ("/proc", *filter(os.path.exists, devices)):
        held = os.statvfs(path).f_flag & LOCKED
        _mount(None, path, MS_REMOUNT | MS_BIND | MS_RDONLY | held)


def mount_proc() -> None:
    """A `/proc` of the process numbers that this process has, read-only as `_close_mounts` leaves it."""
    _mount(b"proc", "/proc", LOCKED | MS_RDONLY, ONLY_TRACEABLE)


def _mount(kind: bytes | None, path: str, flags: int, options: bytes | None = None) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(kind, path.encode(), kind, ctypes.c_ulong(flags), options):
        raise OSError(ctypes.get_errno(), f"{path} cannot be mounted as it must be")


def _become(uid: int | None, *, apart: bool) -> None:
    """Take another user's number, if one is given, and drop every capability; where namespaces are to be made, all
    others."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if apart:
        _prctl(PR_SET_KEEPCAPS, 1)
    if uid is not None:
        # Groups first, then the number of the user: afterwards the right to change them is gone.
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails without CAP_SETPCAP; nothing can be gained then
    give_up_capabilities(1 << CAP_SYS_ADMIN if apart else 0)


def give_up_capabilities(kept: int = 0) -> None:
    """Drop every capability but these, of the lower 32."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    if libc.capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)(kept, kept))):
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
