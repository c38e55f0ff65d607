"""One process of a run, forked by a zygote: its start, its clock, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import IO

from truegrade.sandbox import procfs
from truegrade.sandbox.zygotes import Lost, Zygote

NATURAL_END_S = 0.2
"""How long a process that has closed its streams may take to end on its own."""


class Process:
    """A running program or judge.

    Args:
        zygote: what forks it; serves nothing else until `stop`.
        fds: descriptors it inherits, besides its standard streams.
        stdin: what it reads; empty by default.
        piped: whether stdout and stderr are pipes rather than discarded.
    """

    def __init__(
        self, zygote: Zygote, fds: Sequence[int], *, stdin: IO[bytes] | int = subprocess.DEVNULL, piped: bool
    ) -> None:
        self._zygote = zygote
        self.streams: list[IO[bytes]] = []
        self.code: int | None = None
        """Exit code or minus the signal, once `kill` was called; as the process ended by itself, if it did."""
        self.cpu_s = 0.0
        """CPU seconds it used, once `kill` was called."""
        theirs = [os.open(os.devnull, os.O_RDONLY) if isinstance(stdin, int) else os.dup(stdin.fileno())]
        for _ in ("stdout", "stderr"):
            if piped:
                ours, end = os.pipe()
                self.streams.append(open(ours, "rb", buffering=0))  # noqa: PTH123, SIM115 - a descriptor
                theirs.append(end)
            else:
                theirs.append(os.open(os.devnull, os.O_WRONLY))
        try:
            zygote.start([*theirs, *fds])
        except Lost:
            self._lose()
        finally:
            for fd in theirs:
                os.close(fd)

    def pids(self) -> list[int]:
        """Numbers, on this machine, of the process and all its descendants."""
        return procfs.descendants(self._zygote.pid)

    def ended(self) -> bool:
        """Whether it has ended."""
        if self.code is None:
            try:
                return self._zygote.ended()
            except Lost:
                self._lose()
        return True

    def ends_soon(self) -> bool:
        """Whether it ends within a moment; for a process that has closed its streams."""
        deadline = time.monotonic() + NATURAL_END_S
        while not self.ended():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.0005)
        return True

    def kill(self) -> None:
        """End it with everything it started, and empty its scratch."""
        if self.code is not None:
            return
        try:
            report = self._zygote.finish()
        except Lost:
            self._lose()
        else:
            self.code, self.cpu_s = os.waitstatus_to_exitcode(report.status), report.cpu_s

    def stop(self) -> None:
        """Kill what is left of it and close its streams."""
        try:
            self.kill()
        finally:
            for stream in self.streams:
                stream.close()

    def _lose(self) -> None:
        """Without its zygote, a process does not live on."""
        self._zygote.close()
        self.code = -signal.SIGKILL
