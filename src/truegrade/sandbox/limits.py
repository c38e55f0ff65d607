"""What a program may use, the three levels of protection, and how many cores this process may keep busy."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

# ------------------------------------------------------------------------------------- What a program may use.

MIB = 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class GraderNeeds:
    """What a program that is itself a grader, and runs others, is given besides; a candidate never is.

    At level 3 such a program may also make local sockets, which `multiprocessing.Manager` talks by: of other
    processes' sockets it reaches those in `shown`, so there must be none.
    """

    shown: tuple[str, ...] = ()
    """Absolute paths of files and folders that it may read, and start programs from."""
    address_bytes: int = 64 * 1024 * MIB
    """Address space of each process: graders set limits of their own and may not raise one. What all of them use
    together is bounded by `Limits.memory_bytes`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Resources of one sample. CPU time decides; wall time is the backstop against sleeping."""

    cpu_s: float = 10.0
    """CPU seconds, user and system."""
    wall_s: float | None = None
    """Wall seconds without those spent waiting for a core; None means ``3 * cpu_s + 5``."""
    memory_bytes: int = 4096 * MIB
    """Address space of each process and, where a program may start some, what all of them use together."""
    output_bytes: int = 16 * MIB
    """Bytes written to stdout and stderr, and, separately, bytes of one returned value."""
    processes: int = 0
    """Processes that the program may start besides its own; 0 is enforced by levels 2 and 3, threads are free."""
    open_files: int = 64
    packages: tuple[str, ...] = ("numpy",)
    """Names of installed packages that may be imported besides the standard library, with what they require."""
    scratch_bytes: int = 64 * MIB
    """Size of any file the program writes and, at level 3, of all of them together."""
    grader: GraderNeeds | None = None
    """Set where the program is a grader under measurement, and never where a grader runs a candidate."""

    @property
    def wall_backstop_s(self) -> float:
        """The wall limit in force."""
        return 3 * self.cpu_s + 5 if self.wall_s is None else self.wall_s


# -------------------------------------------------------------------- The three levels of protection, as data.

NAMESPACES, FILTERS, LIMITS_ONLY = 3, 2, 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Protection:
    """What programs are confined by."""

    level: int
    """3 namespaces, Landlock and seccomp; 2 Landlock and seccomp; 1 resource limits only."""
    why: str
    """One line: what the level consists of, and why it is not a higher one."""
    bubblewrap: str | None = None
    """Path of the program that makes the namespaces, at level 3."""


# ----------------------- How many cores this process may keep busy: in a container fewer than the machine has.

GROUPS = Path("/sys/fs/cgroup")
"""Where a container sees its own control group."""


def usable_cores(groups: Path = GROUPS) -> int:
    """Cores that the scheduler gives this process, or the quota of CPU time of its control group if that is less.

    More workers than that would be stopped in the middle of a program, whose wall-clock limit goes on meanwhile.

    Args:
        groups: file system of control groups, of version 1 or 2.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, period = _quota(groups)
    return min(cores, max(1, math.floor(quota / period))) if quota > 0 < period else cores


def _quota(groups: Path) -> tuple[int, int]:
    """Microseconds of CPU time in a period of so many; (0, 0) where there is no bound."""
    try:
        quota, period = (groups / "cpu.max").read_text().split()
    except OSError:
        try:
            quota, period = ((groups / "cpu" / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        except OSError:
            return 0, 0
    return (0, 0) if quota == "max" else (int(quota), int(period))
