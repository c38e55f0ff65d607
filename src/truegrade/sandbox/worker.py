"""What one worker keeps warm, its processes from start to end, and what the kernel tells of them."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from mmap import mmap
from tempfile import TemporaryFile

from truegrade.errors import SandboxError
from truegrade.sandbox.limits import Limits, Protection
from truegrade.sandbox.wire import TURN_OF_PROGRAM, TURN_OF_TESTS
from truegrade.sandbox.zygotes import Zygote, ZygoteLost

# ----------------------------------------------------------------------------------------------------------------
# What the kernel tells about running processes: descendants, CPU time, memory. Empty where there is no /proc.

PROC = "/proc"
"""A text, for paths are put together of it with every sample."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """Every process below this one, zombies included."""
    found: list[int] = []
    pending = [pid]
    while pending:
        below = _children(pending.pop())
        found += below
        pending += below
    return found


def cpu_s(pids: list[int]) -> float:
    """CPU seconds of these processes and the descendants they waited for."""
    total = 0
    for pid in pids:
        # The name, which comes before the other fields, may hold anything.
        fields = _read(f"{PROC}/{pid}/stat").rpartition(b")")[2].split()
        total += sum(map(int, fields[11:15]))
    return total / _TICKS_PER_S


def waited_s(pids: list[int]) -> float:
    """Longest time for which a thread of these was ready to run and had no core; 0 where nobody counts."""
    longest = 0
    for pid in pids:
        for task in _tasks(pid):
            longest = max(longest, *map(int, _read(f"{PROC}/{pid}/task/{task}/schedstat").split()[1:2]), 0)
    return longest / 1e9


def memory_bytes(pids: list[int]) -> int:
    """Memory these processes use together, what they share counted once; resident size where that is hidden."""
    total = 0
    for pid in pids:
        lines = _read(f"{PROC}/{pid}/smaps_rollup").splitlines()
        shares = [int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss:")]
        resident = _read(f"{PROC}/{pid}/statm").split()[1:2]
        total += shares[0] if shares else sum(map(int, resident)) * os.sysconf("SC_PAGE_SIZE")
    return total


def _children(pid: int) -> list[int]:
    files = [f"{PROC}/{pid}/task/{task}/children" for task in _tasks(pid)]
    return [int(child) for file in files for child in _read(file).split()]


def _tasks(pid: int) -> list[str]:
    try:
        return os.listdir(f"{PROC}/{pid}/task")  # noqa: PTH208
    except OSError:
        return []


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            return file.read()
    except OSError:  # it has ended, or is not ours to see
        return b""


# ------------------------------------ One process of a run, forked by a zygote: its start, its clock, its end.

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
        return descendants(self._zygote.pid)[self._zygote.waiting :]

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


# -------------------- The supervisor's side of the tests' process, which lives on from one sample to the next.
# Why that is safe, and when it ends, is told in `truegrade.sandbox.judge`.

MAX_SAMPLES = 1000
"""Samples that one process judges; what it may have gathered unseen goes with it."""


class Judge:
    """A process that judges one sample after the other.

    Args:
        process: what does it; ours from now on.
    """

    def __init__(self, process: Process) -> None:
        self.process = process
        self.used_s = 0.0
        """CPU seconds that it had used when its last sample was over."""
        self._samples = 0
        self._pids: list[int] = []
        self.socket = socket.socket(fileno=process.give_stream())
        self.socket.setblocking(False)
        try:
            # A file and not anonymous memory: the judge, which was forked before this was made, gets it by
            # descriptor.
            self._file = TemporaryFile()  # noqa: SIM115 - closed by `stop`
            self._file.write(bytes([TURN_OF_TESTS]))
            self._file.flush()
            self._turn = mmap(self._file.fileno(), 1)
        except BaseException:
            self.process.stop()
            raise

    def begin(self, frame: bytes, link: int) -> bytes:
        """Pass a job on, with the stream to its program; what is left to be sent of it."""
        self._samples += 1
        # A judge that is killed can say nothing more, so who was at work stands where we can still read it.
        self._turn[0] = TURN_OF_TESTS
        try:
            sent = socket.send_fds(self.socket, [frame], [link, self._file.fileno()])
        except (BrokenPipeError, ConnectionResetError):  # found by reading
            return b""
        return frame[sent:]

    def waited_s(self) -> float:
        """For how long it was ready to run and had no core, in all its runs."""
        self._pids = self._pids or self.process.pids()  # it starts no other, and keeps its number
        return waited_s(self._pids)

    @property
    def programs_turn(self) -> bool:
        """Whether the program is to blame for what happens now."""
        return self._turn[0] == TURN_OF_PROGRAM

    def fit(self) -> bool:
        """Whether it can take one more sample."""
        if self._samples >= MAX_SAMPLES:
            return False
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False  # it has said what nobody asked, or has died

    def stop(self) -> None:
        """End it."""
        try:
            self.process.stop()
        finally:
            self.socket.close()
            self._turn.close()
            self._file.close()


# ---- What one worker keeps warm: a zygote of each role and kind that its runs have needed so far, and judges.

_log = logging.getLogger(__name__)


class Worker:
    """Serves one run at a time.

    Args:
        protection: of everything it starts.
        limits: of every program.
        hash_seed: of the interpreters.
        core: on which everything runs; None for any. A program that may start processes may use them all.
    """

    def __init__(
        self, protection: Protection, limits: Limits, hash_seed: int = 0, core: int | None = None
    ) -> None:
        self.protection, self._limits, self._hash_seed = protection, limits, hash_seed
        self._core = None if limits.processes else core
        self._zygotes: dict[tuple[str, str], Zygote] = {}
        self._judges: dict[str, Judge] = {}
        self.at_work = False
        """Whether the program of a run is there, and not only on its way."""

    def spawn(self, role: str, kind: str) -> Process:
        """A process of this role and kind, of a zygote that is started if there is none or the last was given up.

        Raises:
            SandboxError: it cannot be started.
        """
        for _ in range(2):  # a zygote may have died since its last process, of whatever
            zygote = self.zygote(role, kind)
            try:
                return Process(zygote)
            except ZygoteLost:
                _log.info("the process that %s programs are started from has died; another takes its place", kind)
                zygote.close()
        raise SandboxError(
            "the processes that run programs die as soon as they are started; free memory and run again"
        )

    def zygote(self, role: str, kind: str) -> Zygote:
        """The zygote of this role and kind, which may only be starting; errors are those of `spawn`."""
        zygote = self._zygotes.get((role, kind))
        if zygote is None or not zygote.open:
            zygote = Zygote(role, kind, self.protection, self._limits, self._hash_seed, self._core)
            self._zygotes[role, kind] = zygote
        return zygote

    def take_judge(self, kind: str) -> Judge:
        """A judge of this kind for one run, which owns it; errors are those of `spawn`."""
        judge = self._judges.pop(kind, None)
        # Looked at before a run: since its last it may have died, or have said what nobody asked.
        if judge is not None and not judge.fit():
            judge.stop()
            judge = None
        return judge or Judge(self.spawn("judge", kind))

    def keep_judge(self, kind: str, judge: Judge) -> None:
        """Have a judge, whose run is over, back for the next."""
        self._judges[kind] = judge

    def close(self) -> None:
        """End every judge and zygote."""
        for judge in self._judges.values():
            judge.stop()
        for zygote in self._zygotes.values():
            zygote.close()
