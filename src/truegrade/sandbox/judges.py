"""The supervisor's side of the tests' process, which lives on from one sample to the next.

Why that is safe, and when it ends, is told in `truegrade.sandbox.judge`.
"""

from __future__ import annotations

import socket
from mmap import mmap
from tempfile import TemporaryFile

from truegrade.sandbox.process import Process
from truegrade.sandbox.statuses import TURN_OF_PROGRAM, TURN_OF_TESTS

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
