"""The command that starts a zygote in namespaces of its own, by bubblewrap.

A file system of little more than what `truegrade.sandbox.tree` lists, read-only; no network, not even a loopback
that is up; numbers of processes, users, hosts and IPC objects of its own; no capability but those with which the
zygote mounts its scratch and changes its user, both before it serves.

Not --die-with-parent: it is tied to the thread that calls, and pools come and go. The zygote ends when its
socket does, as PID 1 it takes everything along, and the socket ends with the process that holds it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from truegrade.sandbox.tree import DEVICES, Tree

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
        words += _shown(path, bound)
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


def _shown(path: str, bound: Sequence[str]) -> list[str]:
    """A link as it is, if what it leads to is there as well: an interpreter looks round from where links end."""
    if Path(path).is_symlink():
        target = os.readlink(path)  # noqa: PTH115
        if os.path.normpath(Path(path).parent / target) in bound:
            return ["--symlink", target, path]
    return ["--ro-bind", path, path]


def _parents(paths: Sequence[str]) -> list[str]:
    """Every directory above these paths but the root, from the top."""
    return sorted({str(parent) for path in paths for parent in Path(path).parents if parent != Path("/")})
