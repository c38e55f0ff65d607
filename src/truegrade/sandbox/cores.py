"""How many cores this process may keep busy: in a container fewer than the machine has."""

from __future__ import annotations

import math
import os
from pathlib import Path

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
