"""Watches the processes of one run: passes messages, counts output, enforces the clocks.

A run may go on a tenth past each limit, to tell a program that needs slightly too long from one that never
ends; what it did past the limit never counts (`truegrade.sandbox.outcome.conclude`).
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import threading
import time
from collections import deque
from math import inf
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from truegrade.errors import SandboxError
from truegrade.sandbox import statuses
from truegrade.sandbox.frames import REQUEST_BYTES, Inbox, pack
from truegrade.sandbox.limits import Limits
from truegrade.sandbox.outcome import BAND, Stop, death
from truegrade.sandbox.process import Process
from truegrade.sandbox.procfs import cpu_s, memory_bytes
from truegrade.sandbox.wire import WireError
from truegrade.sandbox.worker import Worker

if TYPE_CHECKING:
    from truegrade.sandbox.frames import Message
    from truegrade.sandbox.zygotes import Zygote

TICK_S = 0.25
"""Longest time without a look at whether the processes still live and the sandbox is still open."""
LINGER_S = 1.0
"""How long a message may still be on its way after the program's process has ended."""
CROWD_TICK_S = 0.05
"""The same where a program may start processes, whose number and common memory only we can watch."""
MIN_LOOK_S = 0.01
CHUNK_BYTES = 1 << 16
LAST_WORDS_BYTES = 2048


class Gone(Exception):
    """The stream to the spawned process has ended."""


class Supervisor:
    """One run, from the start of its processes until nothing of them is left.

    Args:
        limits: of the program.
        closed: set when the sandbox closes; ends the run.
        worker: starts the processes.
    """

    def __init__(self, limits: Limits, closed: threading.Event, worker: Worker) -> None:
        self.limits = limits
        self._worker = worker
        self._zygotes: dict[str, Zygote] = {}
        self._closed = closed
        self._started = time.monotonic()
        self._wall_cap_s = limits.wall_backstop_s * (1 + BAND)
        self._clocks: list[tuple[Process, float, str]] = []
        self._selector = selectors.DefaultSelector()
        self._channel: socket.socket | None = None
        self._inbox = Inbox(limits.output_bytes)
        self._messages: deque[Message] = deque()
        self._outgoing = bytearray()
        self._open = True
        self._look_at = 0.0
        self._dead_since: float | None = None
        self._written = 0
        self.program: Process | None = None
        self.judge: Process | None = None
        self.output = {"stdout": bytearray(), "stderr": bytearray()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.stop()

    # ------------------------------------------------------------------------------------------ start, stop

    def prepare(self, **kinds: str) -> None:
        """Have a zygote for each role (``child``, ``judge``) of the given kind; the run's clock starts then."""
        self._zygotes = {role: self._worker.zygote(role, kind) for role, kind in kinds.items()}
        self._started = time.monotonic()

    def connect(self) -> socket.socket:
        """A stream to a process that is to be spawned: keeps one end and returns the other."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._channel = ours
        self._selector.register(ours, selectors.EVENT_READ, self._converse)
        return theirs

    def spawn_program(self, end: socket.socket, *, stdin: IO[bytes] | int = subprocess.DEVNULL) -> None:
        """Start the process of the program, with this end of a stream."""
        self.program = self._spawn("child", [end], self.limits.cpu_s * (1 + BAND), stdin=stdin, piped=True)
        for name, stream in zip(self.output, self.program.streams, strict=True):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, self._reader(stream, self.output[name]))

    def spawn_judge(self, report: socket.socket, link: socket.socket) -> None:
        """Start the process of the tests; it talks to us over ``report``, to the program over ``link``."""
        # The tests' own work is not the program's; their limit only keeps a run from hanging.
        self.judge = self._spawn("judge", [report, link], 2 * self.limits.cpu_s + 1, piped=False)

    def _spawn(self, role: str, ends: list[socket.socket], cpu_cap_s: float, **how: Any) -> Process:
        try:
            process = Process(self._zygotes[role], [end.fileno() for end in ends], **how)
        finally:
            for end in ends:
                end.close()
        self._clocks.append((process, cpu_cap_s, role))
        self._look_at = time.monotonic() + self._soonest(cpu_cap_s)
        return process

    def stop(self) -> None:
        """End every process of the run; what they used can then be read from them. May be called twice."""
        self._selector.close()
        if self._channel is not None:
            self._channel.close()
        for process, _, _ in self._clocks:
            process.stop()

    @property
    def wall_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._started

    # --------------------------------------------------------------------------------------------- messages

    def send(self, message: Message) -> None:
        """Send as much as the stream takes now, and the rest while waiting. Errors are those of `encode`."""
        self._outgoing += pack(message, REQUEST_BYTES, strict=True)
        self._flush()

    def receive(self) -> Message:
        """Wait for the next message.

        Raises:
            Stop: a limit was reached, or the message is forged.
            Gone: the other side has closed the stream, or has died.
            SandboxError: the sandbox was closed.
        """
        while not self._messages:
            if not self._open:
                raise Gone
            self._wait()
        return self._messages.popleft()

    def wait_for_end(self) -> None:
        """Hear no more, and wait until the program's process has ended; raises as `receive` does."""
        assert self.program is not None
        if self._open and self._channel is not None:
            self._open = False
            self._selector.unregister(self._channel)
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
            return Stop(statuses.RUNTIME_ERROR, "the program closed the stream that carries its answers")
        self._drain()
        self.program.stop()
        assert self.program.code is not None
        words = self.output["stderr"][-LAST_WORDS_BYTES:].decode("utf-8", "replace").strip()
        return death(self.program.code, words.splitlines()[-1] if words else "")

    # --------------------------------------------------------------------------------------------- the loop

    def _wait(self) -> None:
        """Sleep until something arrives or something may be late, and see to it."""
        for key, _ in self._selector.select(max(0.0, self._look_at - time.monotonic())):
            key.data()
        if time.monotonic() >= self._look_at:
            self._look()

    def _look(self) -> None:
        """Check every clock, and set the time at which one can next have run out."""
        if self._closed.is_set():
            raise SandboxError("the sandbox was closed while a program was running")
        now = time.monotonic()
        wall_left_s = self._wall_cap_s - self.wall_s
        if wall_left_s <= 0:
            raise Stop(statuses.TIME_LIMIT, f"over {self.limits.wall_backstop_s:g} wall seconds")
        soonest = min(self._soonest(inf), wall_left_s)
        for process, cap_s, role in self._clocks:
            pids = process.pids()
            used_s = cpu_s(pids)
            if used_s >= cap_s:
                raise Stop(statuses.TIME_LIMIT, f"over {cap_s:g} CPU seconds in the process of the {role}")
            soonest = min(soonest, self._soonest(cap_s - used_s))
            if self.limits.processes and process is self.program:
                self._count(pids)
        self._notice_death(now)
        self._look_at = now + max(MIN_LOOK_S, soonest)

    def _soonest(self, cpu_left_s: float) -> float:
        """Seconds in which this much CPU time can be used up, at most a tick."""
        tick_s = CROWD_TICK_S if self.limits.processes else TICK_S
        return min(tick_s, cpu_left_s / (os.cpu_count() or 1))  # threads can use all cores at once

    def _count(self, pids: list[int]) -> None:
        """Check what no limit of a single process bounds."""
        if len(pids) > 1 + self.limits.processes:
            raise Stop(statuses.KILLED, f"more than {self.limits.processes} processes besides its own")
        if memory_bytes(pids) > self.limits.memory_bytes:
            raise Stop(statuses.MEMORY_LIMIT, f"over {self.limits.memory_bytes} bytes in all its processes")

    def _notice_death(self, now: float) -> None:
        """A dead program's stream stays open if a descendant holds it: kill those, then stop waiting."""
        if self.program is None or not self.program.ended():
            return
        if self._dead_since is None:
            self._dead_since = now
            self.program.kill()
        elif now - self._dead_since > LINGER_S:
            self._open = False

    def _converse(self) -> None:
        assert self._channel is not None
        self._flush()
        try:
            data = self._channel.recv(CHUNK_BYTES)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            self._open = False
            self._selector.unregister(self._channel)
            return
        try:
            self._inbox.feed(data)
            while (message := self._inbox.pop()) is not None:
                self._messages.append(message)
        except WireError as error:
            raise Stop(statuses.TAMPERING, f"the program wrote to the stream of its answers: {error}") from error

    def _flush(self) -> None:
        assert self._channel is not None
        try:
            while self._outgoing:
                del self._outgoing[: self._channel.send(self._outgoing)]
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):  # the end of the stream is found by reading
            self._outgoing.clear()
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._outgoing else 0)
        if self._open and self._selector.get_key(self._channel).events != events:
            self._selector.modify(self._channel, events, self._converse)

    def _reader(self, stream: IO[bytes], kept: bytearray) -> Any:
        def read() -> None:
            data = stream.read(CHUNK_BYTES)
            if data == b"":
                self._selector.unregister(stream)
            elif data is not None:
                self._written += len(data)
                kept.extend(data)
                if self._written > self.limits.output_bytes:
                    raise Stop(statuses.OUTPUT_LIMIT, f"wrote more than {self.limits.output_bytes} bytes")

        return read

    def _drain(self) -> None:
        """Read what the ended process had still written."""
        assert self.program is not None
        while ready := [key for key, _ in self._selector.select(0) if key.fileobj in self.program.streams]:
            for key in ready:
                key.data()
