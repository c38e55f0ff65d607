"""One process of a run, forked by a zygote: its start, its clock, its end."""

from __future__ import annotations

import os
import signal
import time

from truegrade.sandbox import procfs
from truegrade.sandbox.zygotes import Zygote, ZygoteLost

NATURAL_END_S = 0.2
"""How long a process that has closed its streams may take to end on its own."""


class Process:
    """A running program or judge.

    Args:
        zygote: what forks it; serves nothing else until `stop`.

    Raises:
        ZygoteLost: the zygote has died.
        SandboxError: the process could not be forked.
    """

    def __init__(self, zygote: Zygote) -> None:
        self._zygote = zygote
        self.stream, *outputs = zygote.start()
        """Descriptor of our end of its stream; -1 once it is closed or given away."""
        self.outputs = outputs
        """Descriptors of its stdout and stderr, if they are pipes."""
        self.code: int | None = None
        """Exit code or minus the signal, once `kill` was called; as the process ended by itself, if it did."""
        self.lost = False
        """Whether it ended with its zygote, so that nothing is known of its own end."""
        self.cpu_s = 0.0
        """CPU seconds it used, once `kill` was called."""

    def pids(self) -> list[int]:
        """Numbers, on this machine, of the process and all its descendants."""
        return procfs.descendants(self._zygote.pid)[self._zygote.waiting :]

    def ended(self) -> bool:
        """Whether it has ended."""
        if self.code is None:
            try:
                return self._zygote.ended()
            except ZygoteLost:
                self._lose()
        return True

    def ends_soon(self) -> bool:
        """Whether it ends within a moment; for a process that has closed its streams."""
        # The end of a stream is seen a moment before the process is a zombie, whose exit code is wanted.
        deadline = time.monotonic() + NATURAL_END_S
        while not self.ended():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.0005)
        return True

    def out_of_memory(self) -> bool:
        """Whether the kernel has ended one of its processes, since all used too much together; asked once."""
        return self._zygote.out_of_memory()

    def kill(self) -> None:
        """End it with everything it started, and empty its scratch."""
        if self.code is not None:
            return
        try:
            report = self._zygote.finish()
        except ZygoteLost:
            self._lose()
        else:
            self.code, self.cpu_s = os.waitstatus_to_exitcode(report.status), report.cpu_s

    def stop(self) -> None:
        """Kill what is left of it and close its streams. May be called twice."""
        try:
            self.kill()
        finally:
            self.close_stream()
            outputs, self.outputs = self.outputs, []
            for fd in outputs:
                os.close(fd)

    def give_stream(self) -> int:
        """The descriptor of its stream, which is the caller's from now on."""
        stream, self.stream = self.stream, -1
        return stream

    def close_stream(self) -> None:
        """Hang up."""
        if self.stream >= 0:
            os.close(self.stream)
            self.stream = -1

    def _lose(self) -> None:
        """Without its zygote, a process does not live on."""
        self._zygote.close()
        self.lost = True
        self.code = -signal.SIGKILL
