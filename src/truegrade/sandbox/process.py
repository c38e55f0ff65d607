"""One spawned interpreter: its start, its clock, its end.

This is level 1: a fresh process in a session and a directory of its own, with a minimal environment and the
limits of `rlimits`. A stronger level replaces how the process is started, and nothing else.

Not covered at level 1: the network, files that the user may read or write, other processes of the user
(the judge and the caller among them), and a descendant that leaves the session and outlives the run. If the
caller itself is killed, a program that computes runs on to its RLIMIT_CPU and its directory stays behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from truegrade.errors import SandboxError
from truegrade.sandbox.scratch import make_scratch, remove_scratch

LEVEL = 1
START = Path(__file__).with_name("start.py")
# Not -I: it would ignore PYTHONHASHSEED, and with it the order of a set would change from run to run. The
# environment is ours altogether, so -P (no script folder on the path) and -s (no user site) isolate as well.
FLAGS = ("-P", "-s", "-B")
NATURAL_END_S = 0.2
"""How long a process that has closed its streams may take to end on its own."""


def environment(scratch: Path) -> dict[str, str]:
    """All that a program sees of the environment: nothing of the caller's."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    home = {"HOME": str(scratch), "TMPDIR": str(scratch)}
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", **threads, **home}


class Process:
    """A running interpreter.

    Args:
        role: ``child`` or ``judge``, see `truegrade.sandbox.start`.
        fds: file descriptors it inherits, besides its standard streams.
        stdin: what it reads; empty by default.
        piped: whether stdout and stderr are pipes rather than discarded.

    Raises:
        SandboxError: the machine cannot start a process.
    """

    def __init__(
        self, role: str, fds: Sequence[int], *, stdin: IO[bytes] | int = subprocess.DEVNULL, piped: bool
    ) -> None:
        self.scratch = make_scratch()
        out = subprocess.PIPE if piped else subprocess.DEVNULL
        try:
            self._popen = subprocess.Popen(
                [sys.executable, *FLAGS, str(START), role, *map(str, fds)],
                stdin=stdin,
                stdout=out,
                stderr=out,
                pass_fds=fds,
                cwd=self.scratch,
                env=environment(self.scratch),
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            remove_scratch(self.scratch)
            raise SandboxError(
                f"no process can be started to run a program: {error}; free some and run again"
            ) from error
        self.pid = self._popen.pid
        self._stopped = False
        self.streams = [stream for stream in (self._popen.stdout, self._popen.stderr) if stream is not None]
        self.code: int | None = None
        """Exit code or minus the signal, once `stop` was called; as the process ended by itself, if it did."""
        self.cpu_s = 0.0
        """CPU seconds it used, once `stop` was called."""

    def cpu_so_far_s(self) -> float | None:
        """CPU seconds of the process and the descendants it waited for; None where there is no /proc."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_bytes()
        except OSError:
            return None
        fields = stat.rpartition(b")")[2].split()  # the name before it may hold anything
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def ended(self) -> bool:
        """Whether it has ended; it stays a zombie, so that its number cannot be given to another."""
        if self.code is not None:
            return True
        if not hasattr(os, "waitid"):  # macOS before Python 3.13: reaped at once, its group is killed later
            return self._reap(os.WNOHANG)
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def ends_soon(self) -> bool:
        """Whether it ends within a moment; for a process that has closed its streams."""
        deadline = time.monotonic() + NATURAL_END_S
        while not self.ended():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        return True

    def kill_group(self) -> None:
        """SIGKILL to it and to every descendant that stayed in its process group."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # nothing of it is left; macOS says EPERM of zombies
            return

    def stop(self) -> None:
        """Kill what is left of it, reap it, close its streams and remove its directory."""
        if self._stopped:  # by now its number may belong to another process
            return
        self._stopped = True
        self.kill_group()
        if self.code is None:
            self._reap(0)
        for stream in self.streams:
            stream.close()
        remove_scratch(self.scratch)

    def _reap(self, options: int) -> bool:
        pid, status, usage = os.wait4(self.pid, options)
        if pid == 0:
            return False
        self.code = os.waitstatus_to_exitcode(status)
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self._popen.returncode = self.code  # Popen must not wait for it again
        return True
