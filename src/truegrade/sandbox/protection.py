"""The three levels of protection, as data."""

from __future__ import annotations

from dataclasses import dataclass

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
