"""What a service may be asked to do and how much of it: fixed when it starts."""

from __future__ import annotations

from pathlib import Path

import msgspec

from truegrade.errors import UserError
from truegrade.sandbox.cores import usable_cores
from truegrade.web.addresses import is_loopback

MIB = 1024 * 1024
BAIT = "bait"
"""Shadow that is no profile: the grader for attempts alone."""


class ServiceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `truegrade serve` can be told."""

    host: str = "127.0.0.1"
    port: int = 8080
    """Port; 0 selects a free one."""
    fd: int | None = None
    """Descriptor of a TCP socket that listens already, in place of host and port: whoever opened it keeps it
    open while one service follows another, so that no connection is refused."""
    token: str | None = None
    """What clients must show; None asks for nothing, which only a loopback address allows."""
    workers: int = msgspec.field(default_factory=usable_cores)
    """Programs run at once."""
    profiles: tuple[str, ...] = ("strict",)
    """Rules in force where a request names none."""
    benchmarks: tuple[tuple[str, Path | None], ...] = ()
    """Names and data files of the benchmarks that requests may refer to."""
    packages: tuple[str, ...] = ()
    """Installed packages that programs may import besides those of a profile."""
    max_queue: int = 4096
    """Programs that may wait or run; a request that would exceed it is told to come back."""
    max_body_bytes: int = 64 * MIB
    max_bodies_bytes: int = 256 * MIB
    """Bytes that the bodies of all requests under way may hold together; one that is alone has room."""
    max_cpu_s: float = 60.0
    """Highest time limit that a request may ask for."""
    max_memory_bytes: int = 4096 * MIB
    """Highest memory limit that a request may ask for."""
    max_output_bytes: int = 4 * MIB
    """Bytes that an executed program may write."""
    max_connections: int = 512
    """Requests to ``/v1/*`` under way at once; a further one is told 503. Other clients' are not bounded."""
    patience_s: float = 30.0
    """Seconds within which a client must have sent its request, headers and body each."""
    drain_s: float = 60.0
    """Seconds that running programs get to finish once the service is told to stop."""
    shadow: str | None = None
    """Look, beside the grading, at replies that earned nothing: do they set out to be paid? `bait`, or a profile
    that is known to be leaky, which is asked what it would have paid as well."""
    shadow_share: float = 0.05
    """Share of these replies that is looked at."""
    hacks: Path | None = None
    """Folder in which the first reply of each kind of attempt is kept, in ``hacks.jsonl``; None keeps none."""
    allow_unsafe: bool = False
    """Run programs even at protection level 1."""

    def check(self) -> None:
        """Refuse settings that would open the machine to strangers.

        Raises:
            UserError: no token is asked for, but others than this machine can reach the address.
        """
        if self.token is None and not is_loopback(self.host):
            raise UserError(
                f"without a token everybody who reaches {self.host} can run programs here; give a `token`, or"
                " `host` 127.0.0.1"
            )
        if not 0 <= self.shadow_share <= 1:
            raise UserError(f"`shadow_share`: {self.shadow_share:g} is no share, from 0 to 1")
        if self.hacks is not None and self.shadow is None:
            raise UserError("`hacks` keeps what a `shadow` finds; give one, as bait")
        if self.token is not None and (not self.token.isascii() or len(self.token) < 8 or " " in self.token):
            raise UserError("the token must be at least 8 ASCII characters without a space")
