"""A bound on the memory of all that a zygote runs together: processes, files of the scratch, pipes and sockets.

``TRUEGRADE_CGROUP`` names a directory of the kernel's control groups in which this process may make groups and
put its processes into them: of version 2 with ``memory`` in its ``cgroup.subtree_control``, or of the memory
hierarchy of version 1. It is never looked for: a group that somebody else made counts and ends what he put there.
"""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

from truegrade.errors import SandboxError
from truegrade.sandbox.limits import MIB, Limits

VARIABLE = "TRUEGRADE_CGROUP"
HEADROOM_BYTES = 128 * MIB
"""For the zygote itself and for what the kernel keeps on behalf of a program."""
REMOVAL_STEPS, REMOVAL_STEP_S = 200, 0.005
_OF_VERSION_1 = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control")
_OF_VERSION_2 = ("memory.max", "memory.swap.max", "memory.events")
"""Files: the limit of memory; of memory and swap together, or of swap alone; who was killed."""
_numbers = itertools.count()


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
