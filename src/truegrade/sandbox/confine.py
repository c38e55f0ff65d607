"""How a zygote shuts itself in, once: files by Landlock, and what each process gets of its own at level 3."""

from __future__ import annotations

import ctypes
import os
import sys
from mmap import MAP_PRIVATE, mmap
from os import close, getpid
from struct import Struct

from truegrade.sandbox.seccomp import MACHINES, Filter, jail_filter, leaving_filter, libc_prctl, sample_filter

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


# --------------------------------- Landlock: which files this process, and all it starts, can ever open again.
# Constants and structures: ``include/uapi/linux/landlock.h``; the system calls have the same numbers on every
# architecture. Everything that the running kernel can handle is handled, and only what is listed is allowed:
# later versions add TCP (4), devices' ioctls (5), and signals and abstract sockets to outside (6).

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


# --------------- How a zygote shuts itself in, once, before it serves: everything it forks is shut in with it.
# Level 3 starts inside the namespaces that bubblewrap made, with the few capabilities that are needed here and
# are gone afterwards. Level 2 does the rest without namespaces. Level 1 does nothing.

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
    """What ends a program's right to make namespaces, where its zygote has it."""
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


# ----------------------------------------------------------------------------------------------------------------
# What each process of a suite's zygote gets of its own at level 3, so that no run can leave a note to the next.
# Before each fork the zygote makes a namespace of process numbers, so these begin anew every time. The forked
# process makes one of mounts, with a `/proc` of its numbers and a scratch whose inodes are counted anew, and then
# gives up what that took: the capability that the zygote keeps, and the calls. So Landlock, which allows no
# mounts, is put in force here and not in the zygote.
#
# The first process of such a namespace is not the program's, since signals mean something else to it. It is one
# that waits in the zygote's memory, costs no copy of that, and takes all others along when it is killed.

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
        self._stack = mmap(-1, STACK_BYTES, MAP_PRIVATE)  # unless told so, every run would share it
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
