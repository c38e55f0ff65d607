"""Watches the processes of one run: passes messages, counts output, enforces the clocks.

A run may go on a tenth past each limit, to tell a program that needs slightly too long from one that never
ends; what it did past the limit never counts (`truegrade.sandbox.outcome.conclude`).
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable
from math import ceil, inf
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from truegrade.errors import SandboxError
from truegrade.sandbox import wire
from truegrade.sandbox.frames import REQUEST_BYTES, Inbox, give_file, job_frame, pack
from truegrade.sandbox.limits import Limits
from truegrade.sandbox.outcome import BAND, LOST, NEAR, Stop, death
from truegrade.sandbox.wire import WireError
from truegrade.sandbox.worker import Judge, Process, Worker, cpu_s, memory_bytes, waited_s

if TYPE_CHECKING:
    from truegrade.sandbox.frames import Job, Message

TICK_S = 0.25
"""Longest time without a look at whether the processes still live and the sandbox is still open."""
LINGER_S = 1.0
"""How long a message may still be on its way after the program's process has ended."""
CROWD_TICK_S = 0.05
"""The same where a program may start processes, whose number and common memory only we can watch."""
MIN_LOOK_S = 0.01
CORES = os.cpu_count() or 1  # asking opens a file
CHUNK_BYTES = 1 << 16
LAST_WORDS_BYTES = 2048
STARVED = wire.MEMORY_LIMIT, "all its processes and files together used too much memory"
"""How a run ends by the word of a control group, where there is one."""


class Gone(Exception):
    """The stream to the spawned process has ended."""


class Supervisor:
    """One run, from the start of its processes until nothing of them is left.

    Args:
        limits: of the program.
        closed: set when the sandbox closes; ends the run.
        worker: starts the processes.
        deadline_s: wall seconds after which it ends, waiting for a core included; None for no such limit.
    """

    def __init__(
        self, limits: Limits, closed: threading.Event, worker: Worker, deadline_s: float | None = None
    ) -> None:
        self.limits = limits
        self._worker = worker
        self._judge_kind = ""
        self._closed = closed
        self._started = time.monotonic()
        self._wall_cap_s = limits.wall_backstop_s * (1 + BAND)
        self._deadline_s = inf if deadline_s is None else deadline_s
        self._clocks: list[tuple[Process, float, float, str]] = []
        self._poll = select.poll()
        self._on: dict[int, Callable[[], None]] = {}
        """What to do when there is something to read, by descriptor."""
        self._channel: int | None = None
        self._inbox = Inbox(limits.output_bytes, closed=True)
        self._outgoing = bytearray()
        self._writing = False
        """Whether the poll tells when the stream takes more."""
        self._open = True
        self._look_at = 0.0
        self._dead_since: float | None = None
        self._written = 0
        self._owed_s = 0.0
        self._judge_waited_s = 0.0
        """Of its time without a core, what it had waited for before this run."""
        self._late_s = 0.0
        """For how long nobody could have heard the program, because we were stopped ourselves."""
        self.cpu_before_s = self.wall_before_s = 0.0
        """Of the calls that are over, where each has limits of its own."""
        self.longest_cpu_s = self.longest_wall_s = 0.0
        """Of one of these."""
        self.program: Process | None = None
        self.judge: Judge | None = None
        self.output = {"stdout": bytearray(), "stderr": bytearray()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.stop()

    # ------------------------------------------------------------------------------------------ start, stop

    def prepare(self, child: str, judge: str | None = None) -> None:
        """Have a process for the program, and a judge if one is needed, of these kinds; the clock starts then."""
        self._worker.zygote("child", child)  # starts beside the judge's
        if judge is not None:
            self.judge, self._judge_kind = self._worker.take_judge(judge), judge
            self._judge_waited_s = self.judge.waited_s()
        self.program = self._worker.spawn("child", child)
        self._worker.at_work = True
        self._started = time.monotonic()
        self._clock_program(0.0)
        for fd, kept in zip(self.program.outputs, self.output.values(), strict=True):
            os.set_blocking(fd, False)  # a program can read its own output away, by way of /proc
            self._register(fd, self._reader(fd, kept))

    def _register(self, fd: int, ready: Callable[[], None]) -> None:
        self._on[fd] = ready
        self._poll.register(fd, select.POLLIN)

    def _unregister(self, fd: int) -> None:
        del self._on[fd]
        self._poll.unregister(fd)

    def instruct(self, job: Job, given: IO[bytes] | None = None) -> None:
        """Tell the program's process what to run; it waits for that in code of ours, so this is soon done.

        Args:
            job: what to run.
            given: what it reads; it goes after the job, for the process was there before it.
        """
        assert self.program is not None
        left = memoryview(job_frame(job))
        try:
            while left:
                left = left[os.write(self.program.stream, left) :]
            if given is not None:
                give_file(self.program.stream, given.fileno())
        except (BrokenPipeError, ConnectionResetError):  # found by reading
            return

    def converse(self) -> None:
        """Let `send` and `receive` mean the program's process."""
        assert self.program is not None
        os.set_blocking(self.program.stream, False)
        self._listen(self.program.stream)

    def _listen(self, channel: int) -> None:
        self._channel = channel
        self._register(channel, self._hear)

    def instruct_judge(self, message: Message) -> None:
        """Let the judge begin, who will talk to the program; `receive` means the judge from now on."""
        assert self.judge is not None
        assert self.program is not None
        frame = pack(message, REQUEST_BYTES, strict=True)
        self._listen(self.judge.socket.fileno())
        self._outgoing += self.judge.begin(frame, self.program.stream)
        self.program.close_stream()
        if self._outgoing:
            self._flush()
        # The tests' own work is not the program's; their limit only keeps a run from hanging.
        self._clock(self.judge.process, self.judge.used_s, 2 * self.limits.cpu_s + 1, "judge")

    def release_judge(self, used_s: float) -> None:
        """The judge has given its verdict and can judge another program: unless it has said more, let it live."""
        if self.judge is None or not self._inbox.empty or self._outgoing:
            return
        self.judge.used_s = used_s
        self._unregister(self.judge.socket.fileno())
        judge, self.judge, self._channel = self.judge, None, None
        self._worker.keep_judge(self._judge_kind, judge)

    def _clock_program(self, before_s: float) -> None:
        assert self.program is not None
        self._clock(self.program, before_s, self.limits.cpu_s * (1 + BAND), "child")

    def _clock(self, process: Process, before_s: float, cap_s: float, role: str) -> None:
        """Watch a process that has used so much CPU time before this run."""
        self._clocks.append((process, before_s, cap_s, role))
        self._look_at = time.monotonic() + self._soonest(cap_s)

    def stop(self) -> None:
        """End every process of the run; what they used can then be read from them. May be called twice."""
        try:
            if self.judge is not None:
                self.judge.stop()
        finally:
            if self.program is not None:
                self.program.stop()

    @property
    def wall_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._started

    def owed_s(self) -> float:
        """Wall seconds that the machine owes the program; looked up where they can decide, until it is reaped."""
        if self.program is not None and self.wall_s >= self.limits.wall_backstop_s * NEAR:
            waited = waited_s(self.program.pids())
            if self.judge is not None:  # for which the program waits, and which waited in earlier runs
                waited += self.judge.waited_s() - self._judge_waited_s
            self._owed_s = max(self._owed_s, waited)
        return self._owed_s + self._late_s

    def begin_anew(self, wall_s: float) -> None:
        """Let the wall clock begin again, with this limit."""
        self._started = time.monotonic()
        self._owed_s = self._late_s = 0.0
        self._wall_cap_s = wall_s * (1 + BAND)

    def call_over(self, cpu_s: float, so_far_s: float) -> bool:
        """Let the next call, in a process of its own, have the limits of a run; whether this one went over them.

        Args:
            cpu_s: CPU seconds of the process of this call.
            so_far_s: of the whole run.
        """
        wall_s = self.wall_s
        counted_s = wall_s - self.owed_s()
        over = cpu_s > self.limits.cpu_s or counted_s > self.limits.wall_backstop_s
        self.longest_cpu_s = max(self.longest_cpu_s, cpu_s)
        self.longest_wall_s = max(self.longest_wall_s, counted_s)
        if over:
            return True
        self.cpu_before_s, self.wall_before_s = so_far_s, self.wall_before_s + wall_s
        self._written = 0
        for kept in self.output.values():
            kept.clear()
        self.begin_anew(self.limits.wall_backstop_s)
        self._clocks.clear()
        self._clock_program(so_far_s)
        return False

    def excuse(self, seconds: float) -> None:
        """Let this time, in which nobody heard the program, not count against it."""
        self._late_s += seconds

    # --------------------------------------------------------------------------------------------- messages

    def send(self, frame: bytes) -> None:
        """Send as much as the stream takes now, and the rest while waiting."""
        self._outgoing += frame
        self._flush()

    @property
    def all_sent(self) -> bool:
        """Whether the stream has taken everything."""
        return not self._outgoing

    def receive(self) -> Message:
        """Wait for the next message.

        Raises:
            Stop: a limit was reached, or the message is forged.
            Gone: the other side has closed the stream, or has died.
            SandboxError: the sandbox was closed.
        """
        while (message := self._next_message()) is None:
            if not self._open:
                raise Gone
            self._wait()
        return message

    def _next_message(self) -> Message | None:
        """What has arrived, one message at a time: a program could answer faster than anybody looks."""
        try:
            return self._inbox.pop()
        except WireError as error:
            raise Stop(wire.TAMPERING, f"the program wrote to the stream of its answers: {error}") from error

    def wait_for_end(self) -> None:
        """Hear no more, and wait until the program's process has ended; raises as `receive` does."""
        assert self.program is not None
        if self._open and self._channel is not None:
            self._open = False
            self._unregister(self._channel)
        began = time.monotonic()
        while not self.program.ended():
            now = time.monotonic()
            # Asking costs time as well: often at first, later in proportion to what has passed.
            self._look_at = min(self._look_at, now + min(0.001 + (now - began) / 20, TICK_S))
            self._wait()
        self._drain()

    def death(self) -> Stop:
        """How the program's process ended, now that its stream has.

        Raises:
            Stop: it had written too much.
        """
        assert self.program is not None
        if not self.program.ends_soon():
            return Stop(wire.RUNTIME_ERROR, "the program closed the stream that carries its answers")
        self._drain()
        self.owed_s()
        starved = self.program.out_of_memory()
        self.program.stop()
        if starved:
            return Stop(*STARVED)
        assert self.program.code is not None
        if self.program.lost:
            return Stop(wire.KILLED, LOST)
        return death(self.program.code, self._last_words())

    def death_of_fork(self, code: int) -> Stop:
        """The same of a fork of it that ended with this exit code."""
        assert self.program is not None
        self._drain()
        return Stop(*STARVED) if self.program.out_of_memory() else death(code, self._last_words())

    def _last_words(self) -> str:
        words = self.output["stderr"][-LAST_WORDS_BYTES:].decode("utf-8", "replace").strip()
        return words.splitlines()[-1] if words else ""

    # --------------------------------------------------------------------------------------------- the loop

    def _wait(self) -> None:
        """Sleep until something arrives or something may be late, and see to it."""
        began = time.monotonic()
        at_most_s = max(0.0, self._look_at - began)
        arrived = self._poll.poll(ceil(at_most_s * 1e3))
        late_s = time.monotonic() - began - at_most_s
        if late_s > TICK_S:
            self._late_s += late_s
        for fd, _ in arrived:
            if fd in self._on:
                self._on[fd]()
        if time.monotonic() >= self._look_at:
            self._look()

    def _look(self) -> None:
        """Check every clock, and set the time at which one can next have run out."""
        if self._closed.is_set():
            raise SandboxError("the sandbox was closed while a program was running")
        now = time.monotonic()
        if self.wall_s >= self._deadline_s:
            raise Stop(wire.TIME_LIMIT, f"over {self._deadline_s:g} wall seconds")
        wall_left_s = self._wall_cap_s - (self.wall_s - self.owed_s())
        if wall_left_s <= 0:
            raise Stop(wire.TIME_LIMIT, f"over {self.limits.wall_backstop_s:g} wall seconds")
        soonest = min(self._soonest(inf), wall_left_s, self._deadline_s - self.wall_s)
        for process, before_s, cap_s, role in self._clocks:
            pids = process.pids()
            used_s = cpu_s(pids) - before_s
            if used_s >= cap_s:
                raise Stop(wire.TIME_LIMIT, f"over {cap_s:g} CPU seconds in the process of the {role}")
            soonest = min(soonest, self._soonest(cap_s - used_s))
            if self.limits.processes and process is self.program:
                self._count(process, pids)
        self._notice_death(now)
        self._look_at = now + max(MIN_LOOK_S, soonest)

    def _soonest(self, cpu_left_s: float) -> float:
        """Seconds in which this much CPU time can be used up, at most a tick."""
        tick_s = CROWD_TICK_S if self.limits.processes else TICK_S
        return min(tick_s, cpu_left_s / CORES)  # threads can use all cores at once

    def _count(self, program: Process, pids: list[int]) -> None:
        """Check what no limit of a single process bounds."""
        if program.out_of_memory():
            raise Stop(*STARVED)
        if len(pids) > 1 + self.limits.processes:
            raise Stop(wire.KILLED, f"more than {self.limits.processes} processes besides its own")
        if memory_bytes(pids) > self.limits.memory_bytes:
            raise Stop(wire.MEMORY_LIMIT, f"over {self.limits.memory_bytes} bytes in all its processes")

    def _notice_death(self, now: float) -> None:
        """A dead program's stream stays open if a descendant holds it: kill those, then stop waiting."""
        if self.program is None or not self.program.ended():
            return
        if self._dead_since is None:
            self._dead_since = now
            self.program.kill()
        elif now - self._dead_since > LINGER_S:
            self._open = False

    def _hear(self) -> None:
        assert self._channel is not None
        if self._outgoing:
            self._flush()
        try:
            data = os.read(self._channel, CHUNK_BYTES)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            self._open = False
            self._unregister(self._channel)
            return
        self._inbox.feed(data)

    def _flush(self) -> None:
        assert self._channel is not None
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self._channel, self._outgoing)]
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):  # the end of the stream is found by reading
            self._outgoing.clear()
        if self._open and bool(self._outgoing) != self._writing:
            self._writing = bool(self._outgoing)
            self._poll.modify(self._channel, select.POLLIN | (select.POLLOUT if self._writing else 0))

    def _reader(self, fd: int, kept: bytearray) -> Callable[[], None]:
        def read() -> None:
            try:
                data = os.read(fd, CHUNK_BYTES)
            except BlockingIOError:
                return
            if not data:
                self._unregister(fd)
                return
            self._written += len(data)
            kept.extend(data)
            if self._written > self.limits.output_bytes:
                raise Stop(wire.OUTPUT_LIMIT, f"wrote more than {self.limits.output_bytes} bytes")

        return read

    def _drain(self) -> None:
        """Read what the ended process had still written."""
        assert self.program is not None
        while ready := [fd for fd, _ in self._poll.poll(0) if fd in self.program.outputs]:
            for fd in ready:
                self._on[fd]()
