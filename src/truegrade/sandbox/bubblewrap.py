"""The command that starts a zygote in namespaces of its own, by bubblewrap.

A file system of just what `truegrade.sandbox.tree` lists, read-only; no network, not even a loopback that is
up; numbers of processes, users, hosts and IPC objects of its own; no capability but those with which the zygote
mounts its scratch and changes its user, both before it serves.

Not --die-with-parent: it is tied to the thread that calls, and pools come and go. The zygote ends when its
socket does, as PID 1 it takes everything along, and the socket ends with the process that holds it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from truegrade.sandbox.tree import DEVICES

SCRATCH = "/sample"
"""No path of a real machine, since it would hide what of the interpreter lay below."""
NAMESPACES = ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
NOBODY = 65534


def command(program: str, readable: Sequence[str], info_fd: int, own_users: bool) -> list[str]:
    """The arguments up to the interpreter's own.

    Args:
        program: path of bubblewrap.
        readable: what the jail contains.
        info_fd: descriptor that gets a line of JSON with ``child-pid``.
        own_users: whether to make a user namespace too, as whoever cannot make the others alone must.
    """
    words = [program, *NAMESPACES, "--as-pid-1", "--hostname", "jail", "--info-fd", str(info_fd)]
    words += ["--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN"]
    if own_users:
        words += ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    else:
        words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    words += ["--dir", SCRATCH, "--proc", "/proc"]
    if not any(path.startswith("/tmp/") for path in readable):
        words += ["--symlink", SCRATCH, "/tmp"]  # programs spell it out
    for parent in _parents([*readable, *DEVICES]):
        words += ["--perms", "0755", "--dir", parent]  # left to itself, bubblewrap opens them to its own user only
    for path in readable:
        if Path(path).is_symlink():
            words += ["--symlink", os.readlink(path), path]  # noqa: PTH115
        else:
            words += ["--ro-bind", path, path]
    for path in DEVICES:
        words += ["--dev-bind-try", path, path]
    words += ["--symlink", SCRATCH, "/dev/shm"]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        words += ["--symlink", f"/proc/self/fd/{number}", f"/dev/{name}"]
    return [*words, "--remount-ro", "/", "--chdir", "/"]


def _parents(paths: Sequence[str]) -> list[str]:
    """Every directory above these paths but the root, from the top."""
    return sorted({str(parent) for path in paths for parent in Path(path).parents if parent != Path("/")})
