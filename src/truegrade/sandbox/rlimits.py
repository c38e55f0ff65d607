"""Sets the limits of the own process and of all it will start.

Not covered: a process of root may raise its limits again, and RLIMIT_NPROC does not bind root; levels 2 and 3
take care of both. Neither the number of files nor the memory of several processes together is limited here.
"""

from __future__ import annotations

import os
import sys
from resource import (
    RLIM_INFINITY,
    RLIMIT_AS,
    RLIMIT_CPU,
    RLIMIT_FSIZE,
    RLIMIT_NOFILE,
    RLIMIT_NPROC,
    RUSAGE_SELF,
    getrlimit,
    getrusage,
    setrlimit,
)

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TASK_HEADROOM = 512
"""Threads and processes a user may own beyond all that the machine has; see `limit_tasks`."""


def restrict(limits: Sequence[tuple[int, tuple[int, int]]]) -> None:
    """Lower the soft and hard limits, to what `pairs` made of them."""
    for kind, pair in limits:
        try:
            setrlimit(kind, pair)
        except (ValueError, OSError):  # macOS refuses some; wall and CPU time are watched from outside as well
            continue


def pairs(limits: Mapping[str, int]) -> list[tuple[int, tuple[int, int]]]:
    """Kinds of limits, each with its soft and hard value; none above what this process may have itself.

    Args:
        limits: ``memory_bytes``, ``cpu_s``, ``file_bytes``, ``open_files``.
    """
    # SIGXCPU at the soft limit can be ignored; the hard limit, a second later, cannot.
    return [
        (kind, _below(kind, limits[name], margin))
        for name, kind, margin in (
            ("memory_bytes", RLIMIT_AS, 0),
            ("file_bytes", RLIMIT_FSIZE, 0),
            ("open_files", RLIMIT_NOFILE, 0),
            ("cpu_s", RLIMIT_CPU, 1),
        )
    ]


def limit_tasks(tasks: int | None) -> None:
    """Bound the threads and processes that the user may own.

    Args:
        tasks: how many; None where the user owns others as well, which count. The bound then lies above all
            tasks of the machine: a bomb of forks or threads ends before the machine does.
    """
    if tasks is None:
        others = _tasks()
        tasks = others + TASK_HEADROOM if others is not None else None
    if tasks is not None:
        restrict([(RLIMIT_NPROC, _below(RLIMIT_NPROC, tasks, 0))])


def peak_bytes() -> int:
    """The most memory that this process has used, or before it the one that started it."""
    peak = getrusage(RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _below(kind: int, soft: int, margin: int) -> tuple[int, int]:
    ceiling = getrlimit(kind)[1]
    hard = soft + margin if ceiling == RLIM_INFINITY else min(soft + margin, ceiling)
    return min(soft, hard), hard


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
