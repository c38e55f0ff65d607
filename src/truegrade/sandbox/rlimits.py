"""Sets the limits of the own process and of all it will start.

Not covered: a process of root may raise its limits again, and RLIMIT_NPROC does not bind root; levels 2 and 3
take care of both. Neither the number of files nor the memory of several processes together is limited here.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Mapping

TASK_HEADROOM = 512
"""Threads and processes a user may own beyond all that the machine has; see `limit_tasks`."""


def restrict(limits: Mapping[str, int]) -> None:
    """Lower the soft and hard limits.

    Args:
        limits: ``memory_bytes``, ``cpu_s``, ``file_bytes``, ``open_files``.
    """
    import resource

    _lower(resource.RLIMIT_AS, limits["memory_bytes"])
    _lower(resource.RLIMIT_FSIZE, limits["file_bytes"])
    _lower(resource.RLIMIT_NOFILE, limits["open_files"])
    # SIGXCPU at the soft limit can be ignored; the hard limit, a second later, cannot.
    _lower(resource.RLIMIT_CPU, limits["cpu_s"], margin=1)


def limit_tasks(tasks: int | None) -> None:
    """Bound the threads and processes that the user may own.

    Args:
        tasks: how many; None where the user owns others as well, which count. The bound then lies above all
            tasks of the machine: a bomb of forks or threads ends before the machine does.
    """
    import resource

    if tasks is None:
        others = _tasks()
        tasks = others + TASK_HEADROOM if others is not None else None
    if tasks is not None:
        _lower(resource.RLIMIT_NPROC, tasks)


def _lower(kind: int, soft: int, margin: int = 0) -> None:
    import resource

    ceiling = resource.getrlimit(kind)[1]
    hard = soft + margin if ceiling == resource.RLIM_INFINITY else min(soft + margin, ceiling)
    try:
        resource.setrlimit(kind, (min(soft, hard), hard))
    except (ValueError, OSError):  # macOS refuses some; wall and CPU time are watched from outside as well
        return


def _tasks() -> int | None:
    """Tasks on this machine: no less than the user's own; None where there is no /proc."""
    try:
        fd = os.open("/proc/loadavg", os.O_RDONLY)
        try:
            return int(os.read(fd, 256).split()[3].partition(b"/")[2])
        finally:
            os.close(fd)
    except (OSError, ValueError, LookupError):
        return None
