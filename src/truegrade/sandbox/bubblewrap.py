"""How a zygote starts: in namespaces by bubblewrap, under a user number of its own, with memory bounded."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Sequence
from pathlib import Path

from truegrade.errors import SandboxError
from truegrade.sandbox.limits import MIB, Limits
from truegrade.sandbox.tree import DEVICES, Tree, open_to_all

# ----------------------------------- The command that starts a zygote in namespaces of its own, by bubblewrap.
# A file system of little more than what `truegrade.sandbox.tree` lists, read-only; no network, not even a
# loopback that is up; numbers of processes, users, hosts and IPC objects of its own; no capability but those with
# which the zygote mounts its scratch and changes its user, both before it serves.
#
# Not --die-with-parent: it is tied to the thread that calls, and pools come and go. The zygote ends when its
# socket does, as PID 1 it takes everything along, and the socket ends with the process that holds it.

SCRATCH = "/sample"
"""Where programs work. No path of a real machine, since it would hide what of the interpreter lay below."""
TEMPORARY = "/tmp"
"""Programs spell it out, so they may write there too; `truegrade.sandbox.confine` keeps what lies below."""
NAMESPACES = ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
NOBODY = 65534


def place_of(own: str) -> str:
    """Where in the jail the folder with the entry script is: as it is spelled, if that is not the programs'."""
    return "/grader" if own.startswith(f"{TEMPORARY}/") else own


def command(program: str, tree: Tree, own: str, info_fd: int, own_users: bool) -> list[str]:
    """The arguments up to the interpreter's own.

    Args:
        program: path of bubblewrap.
        tree: what programs may see.
        own: folder with the entry script, which Landlock closes to programs.
        info_fd: descriptor that gets a line of JSON with ``child-pid``.
        own_users: whether to make a user namespace too, as whoever cannot make the others alone must.
    """
    words = [program, *NAMESPACES, "--as-pid-1", "--hostname", "jail", "--info-fd", str(info_fd)]
    words += ["--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN"]
    if own_users:
        words += ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    else:
        words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    words += ["--dir", SCRATCH, "--dir", TEMPORARY, "--proc", "/proc"]
    # What Landlock lets programs open of the standard library, one by one, is bound as a whole: bubblewrap's time
    # grows with the square of the number of binds.
    inside = tuple(f"{library}/" for library in tree.libraries)
    bound = [path for path in tree.opened if path not in tree.packages and not path.startswith(inside)]
    below = [*tree.packages, place_of(own)]
    for parent in _parents([*tree.libraries, *bound, *below, *DEVICES]):
        words += ["--perms", "0755", "--dir", parent]  # left to itself, bubblewrap opens them to its own user only
    for path in (*tree.libraries, *bound):
        words += _link_arguments(path, bound)
    for path in tree.hidden:
        words += ["--perms", "0755", "--tmpfs", path]
    for path, inside_it in zip([*tree.packages, own], below, strict=True):
        words += ["--ro-bind", path, inside_it]
    for path in tree.hidden:
        words += ["--remount-ro", path]
    for path in DEVICES:
        words += ["--dev-bind-try", path, path]
    words += ["--symlink", TEMPORARY, "/dev/shm"]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        words += ["--symlink", f"/proc/self/fd/{number}", f"/dev/{name}"]
    return [*words, "--remount-ro", "/", "--chdir", "/"]


def _link_arguments(path: str, bound: Sequence[str]) -> list[str]:
    """A link as it is, if what it leads to is there as well: an interpreter looks round from where links end."""
    if Path(path).is_symlink():
        target = os.readlink(path)  # noqa: PTH115
        if os.path.normpath(Path(path).parent / target) in bound:
            return ["--symlink", target, path]
    return ["--ro-bind", path, path]


def _parents(paths: Sequence[str]) -> list[str]:
    """Every directory above these paths but the root, from the top."""
    return sorted({path[:at] for path in paths for at, sign in enumerate(path) if sign == "/" and at})


# ----------------------------------------------------------------------------------------------------------------
# A user number for each zygote that root starts: samples of different workers share no right and no limit.
# Root inside a container is not always free to give one: it may lack the capabilities (``--cap-drop ALL``), or
# its user namespace may not know the number (rootless containers). Then programs keep the number they have.

FIRST_UID, OF_HARNESS, HARNESSES = 1_900_000_000, 1 << 10, 1 << 17
"""In the range that systemd's table of numbers leaves unused: so many numbers for each process that grades, and so
many such processes told apart."""
CAPABILITIES = (0, 1, 3, 5, 6, 7)
"""CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_KILL, CAP_SETGID, CAP_SETUID: to hand over a scratch, become the
user, end its processes and take the scratch back. Docker leaves root all of them unless told otherwise."""
_STRIDE = 7919
"""Between namespaces of processes, which the kernel numbers in a row: more than most containers have processes."""
_numbers = itertools.count()


def spare_uid(reached: Sequence[str]) -> int | None:
    """A number that no other zygote of this machine has; None if this process may not give one away.

    Args:
        reached: paths that the user must be able to reach by the rights that everybody has.
    """
    if os.geteuid() != 0 or not _capable() or not open_to_all(reached):
        return None
    # The first process of every container has the number 1, while users are the machine's.
    harness = os.getpid() + Path("/proc/self/ns/pid").stat().st_ino * _STRIDE
    uid = FIRST_UID + harness % HARNESSES * OF_HARNESS + next(_numbers) % OF_HARNESS
    return uid if _has_number(uid, "uid_map") and _has_number(uid, "gid_map") else None


def _capable() -> bool:
    """Whether this process has all of `CAPABILITIES` in effect."""
    status = Path("/proc/self/status").read_text()
    effective = int(status.partition("CapEff:")[2].split(maxsplit=1)[0], 16)
    return all(effective >> number & 1 for number in CAPABILITIES)


def _has_number(number: int, which: str) -> bool:
    """Whether the user namespace of this process has such a number."""
    ranges = (map(int, line.split()) for line in Path("/proc/self", which).read_text().splitlines())
    return any(first <= number < first + count for first, _, count in ranges)


# ----------------------------------------------------------------------------------------------------------------
# A bound on the memory of all that a zygote runs together: processes, files of the scratch, pipes and sockets.
# ``TRUEGRADE_CGROUP`` names a directory of the kernel's control groups in which this process may make groups and
# put its processes into them: of version 2 with ``memory`` in its ``cgroup.subtree_control``, or of the memory
# hierarchy of version 1. It is never looked for: a group that somebody else made counts and ends what he put
# there.

VARIABLE = "TRUEGRADE_CGROUP"
HEADROOM_BYTES = 128 * MIB
"""For the zygote itself and for what the kernel keeps on behalf of a program."""
REMOVAL_STEPS, REMOVAL_STEP_S = 200, 0.005
_OF_VERSION_1 = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control")
_OF_VERSION_2 = ("memory.max", "memory.swap.max", "memory.events")
"""Files: the limit of memory; of memory and swap together, or of swap alone; who was killed."""


class MemoryGroup:
    """A group of its own.

    Args:
        parent: directory in which it is made.
        limit_bytes: what its processes may use together.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, parent: Path, limit_bytes: int) -> None:
        self._path = parent / f"truegrade-{os.getpid()}-{next(_numbers)}"
        self._path.mkdir()
        try:
            # The files of a new directory tell to which version it belongs.
            first = (self._path / _OF_VERSION_1[0]).exists()
            bound, swap, events = _OF_VERSION_1 if first else _OF_VERSION_2
            (self._path / bound).write_text(str(limit_bytes))
            if (self._path / swap).exists():  # not where the kernel does not count it
                # Version 1 counts memory and swap together, version 2 swap alone: both then leave no room to swap.
                (self._path / swap).write_text(str(limit_bytes if first else 0))
        except OSError:
            self.remove()
            raise
        self._events = self._path / events
        self._kills = 0

    def add(self, pid: int) -> None:
        """Put a process, and all that it will start, into the group; raises OSError where that is refused."""
        (self._path / "cgroup.procs").write_text(str(pid))

    def killed(self) -> bool:
        """Whether the kernel has killed a process for want of memory since this was last asked."""
        try:
            fields = dict(line.split() for line in self._events.read_text().splitlines())
            kills = int(fields.get("oom_kill", 0))
        except (OSError, ValueError):
            return False
        # The kernel's number only grows, over all programs of the zygote: what counts is the growth since the
        # last.
        more, self._kills = kills > self._kills, kills
        return more

    def remove(self) -> None:
        """Remove it; it is empty, but the kernel may take a moment to see that."""
        for _ in range(REMOVAL_STEPS):
            try:
                self._path.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(REMOVAL_STEP_S)
            else:
                return


def make(limits: Limits) -> MemoryGroup | None:
    """A group for the programs of one zygote; None where no directory for groups is named.

    Raises:
        SandboxError: none can be made there.
    """
    parent = os.environ.get(VARIABLE)
    if not parent:
        return None
    try:
        return MemoryGroup(Path(parent), limits.memory_bytes + limits.scratch_bytes + HEADROOM_BYTES)
    except OSError as error:
        raise SandboxError(
            f"{VARIABLE}: no control group with a limit of memory can be made in {parent}: {error.strerror}; "
            "name a directory of control groups that this user may write to, or unset it"
        ) from error
