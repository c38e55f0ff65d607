"""What a service may be asked to do and how much of it: fixed when it starts."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from truegrade.errors import UserError
from truegrade.web.addresses import is_loopback

MIB = 1024 * 1024


class ServiceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `truegrade serve` can be told."""

    host: str = "127.0.0.1"
    port: int = 8080
    """Port; 0 selects a free one."""
    token: str | None = None
    """What clients must show; None asks for nothing, which only a loopback address allows."""
    workers: int = os.cpu_count() or 1
    """Programs run at once."""
    profiles: tuple[str, ...] = ("strict",)
    """Rules in force where a request names none."""
    benchmarks: tuple[tuple[str, Path | None], ...] = ()
    """Names and data files of the benchmarks that requests may refer to."""
    max_queue: int = 4096
    """Programs that may wait or run; a request that would exceed it is told to come back."""
    max_body_bytes: int = 64 * MIB
    max_cpu_s: float = 60.0
    """Highest time limit that a request may ask for."""
    max_memory_bytes: int = 4096 * MIB
    """Highest memory limit that a request may ask for."""
    max_output_bytes: int = 4 * MIB
    """Bytes that an executed program may write."""
    max_connections: int = 512
    patience_s: float = 30.0
    """Seconds within which a client must have sent its request, headers and body each."""
    drain_s: float = 60.0
    """Seconds that running programs get to finish once the service is told to stop."""
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
        if self.token is not None and (not self.token.isascii() or len(self.token) < 8 or " " in self.token):
            raise UserError("the token must be at least 8 ASCII characters without a space")
