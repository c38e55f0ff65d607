"""``log.txt`` of a run: what a command did and was told, request by request.

Everything logs by the standard library under ``truegrade``. A command hangs a `RunLog` there; without one, in a
program that imports Truegrade, the records go wherever that program sends them.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TextIO

ROOT = logging.getLogger("truegrade")
CONSOLE = logging.getLogger("truegrade.console")
"""What the console shows anyway: notices, and the sentence that a command ends with."""

LOG = "log.txt"
WAITING = 1000
"""Records kept until the run is open that they belong to; of more, the latest."""

SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
SHORTEST_SECRET = 8
"""Characters; what is shorter may be a word of any sentence."""


class LogLine(logging.Formatter):
    """UTC time, level, logger, message; secrets of the environment are blotted out, whoever wrote them there."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        found = (value for name, value in os.environ.items() if SECRET.search(name))
        self._secrets = sorted({value for value in found if len(value) >= SHORTEST_SECRET}, key=len, reverse=True)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's name
        """The time of a record, in UTC."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))

    def format(self, record: logging.LogRecord) -> str:
        """The record as text; a message of several lines stays one record by its indented lines."""
        text = super().format(record)
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return text.replace("\n", "\n    ")


class RunLog(logging.Handler):
    """Appends to ``log.txt`` of the run that is worked on; what is said before it is open waits for it.

    Args:
        command: which one, with the version: the first line that every run gets of it.
    """

    def __init__(self, command: str) -> None:
        super().__init__()
        self.setFormatter(LogLine())
        self._command = command
        self._waiting: deque[logging.LogRecord] = deque(maxlen=WAITING)
        self._folder: Path | None = None
        self._stream: TextIO | None = None

    def begin(self, folder: Path) -> None:
        """Write to this folder from here on."""
        self.acquire()
        try:
            if folder == self._folder:
                return
            self.end()
            try:
                self._stream = (folder / LOG).open("a", encoding="utf-8", errors="backslashreplace")
            except OSError:
                return  # a run is worth more than its log
            self._folder = folder
            self.emit(logging.LogRecord(ROOT.name, logging.INFO, "", 0, self._command, None, None))
            while self._waiting:
                self.emit(self._waiting.popleft())
        finally:
            self.release()

    def end(self) -> None:
        """Close the file; what is said from here on waits for the next."""
        self.acquire()
        try:
            stream, self._stream, self._folder = self._stream, None, None
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        finally:
            self.release()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record at once, or keep it until a run is open."""
        if self._stream is None:
            self._waiting.append(record)
            return
        # A full disk stops the run by itself, with a sentence; its log must not do so first.
        with suppress(OSError):
            self._stream.write(self.format(record) + "\n")
            self._stream.flush()

    def close(self) -> None:
        """Close the file for good."""
        self.end()
        super().close()


def begin(folder: Path) -> None:
    """A run is open for writing: records go to its ``log.txt``, where a command keeps one."""
    for log in _logs():
        log.begin(folder)


def end() -> None:
    """What is said from here on belongs to the next run."""
    for log in _logs():
        log.end()


def _logs() -> list[RunLog]:
    return [handler for handler in ROOT.handlers if isinstance(handler, RunLog)]
