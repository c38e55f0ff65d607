"""What a program may use."""

from __future__ import annotations

from dataclasses import dataclass

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
