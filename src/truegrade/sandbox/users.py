"""A user number for each zygote that root starts: samples of different workers share no right and no limit.

Root inside a container is not always free to give one: it may lack the capabilities (``--cap-drop ALL``), or its
user namespace may not know the number (rootless containers). Then programs keep the number they have.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

from truegrade.sandbox.tree import open_to_all

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
    return uid if _known(uid, "uid_map") and _known(uid, "gid_map") else None


def _capable() -> bool:
    """Whether this process has all of `CAPABILITIES` in effect."""
    status = Path("/proc/self/status").read_text()
    effective = int(status.partition("CapEff:")[2].split(maxsplit=1)[0], 16)
    return all(effective >> number & 1 for number in CAPABILITIES)


def _known(number: int, which: str) -> bool:
    """Whether the user namespace of this process has such a number."""
    ranges = (map(int, line.split()) for line in Path("/proc/self", which).read_text().splitlines())
    return any(first <= number < first + count for first, _, count in ranges)
