"""Sets the limits of the own process: what level 1 consists of.

Not covered: a process of root may raise its limits again, RLIMIT_NPROC does not bind root, and neither
the number of files nor the memory of several processes together is limited. That is the jail's work.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Mapping

TASK_HEADROOM = 512
"""Threads and processes a user may own beyond all that the machine has at the start; see `restrict`."""


def restrict(limits: Mapping[str, int]) -> None:
    """Lower the soft and hard limits of this process and all it will start.

    RLIMIT_NPROC counts every task of the user on the machine, threads included, so it cannot say how many
    processes one program may start; it is set so that a fork bomb ends before the machine does.

    Args:
        limits: ``memory_bytes``, ``cpu_s``, ``file_bytes``, ``open_files``.
    """
    import resource

    wanted = [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_AS, limits["memory_bytes"], 0),
        (resource.RLIMIT_FSIZE, limits["file_bytes"], 0),
        (resource.RLIMIT_NOFILE, limits["open_files"], 0),
        # SIGXCPU at the soft limit can be ignored; the hard limit, a second later, cannot.
        (resource.RLIMIT_CPU, limits["cpu_s"], 1),
    ]
    tasks = _tasks()
    if tasks is not None:
        wanted.append((resource.RLIMIT_NPROC, tasks + TASK_HEADROOM, 0))
    for kind, soft, margin in wanted:
        ceiling = resource.getrlimit(kind)[1]
        hard = soft + margin if ceiling == resource.RLIM_INFINITY else min(soft + margin, ceiling)
        try:
            resource.setrlimit(kind, (min(soft, hard), hard))
        except (ValueError, OSError):  # macOS refuses some; wall and CPU time are watched from outside as well
            continue


def _tasks() -> int | None:
    """Tasks on this machine: no less than the user's own; None where there is no /proc."""
    try:
        with open("/proc/loadavg", encoding="ascii") as file:  # noqa: PTH123 - pathlib costs 4 ms here
            return int(file.read().split()[3].partition("/")[2])
    except (OSError, ValueError, LookupError):
        return None
