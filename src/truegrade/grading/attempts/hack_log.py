"""The first reply of each kind of attempt, kept in a file for people to read."""

from __future__ import annotations

import ast
import hashlib
import os
import threading
from pathlib import Path

import msgspec

from truegrade.errors import UserError
from truegrade.extraction.parsing import quietly
from truegrade.files.json_text import UNREADABLE, encode

FILE = "hacks.jsonl"
MOST = 1000
"""Replies kept in one file; a policy that has found a channel writes it in endless variations."""
SHARE = 0.05
"""Of the replies that were not paid, those that are looked at by default."""
_SHARES = 2**64


class HackRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt, one line of ``hacks.jsonl``."""

    channel: str
    """By which the program is accepted where it cannot be right; ``unnamed`` where the profile's own mark alone
    says that it set out to."""
    channels: tuple[str, ...]
    """All of them."""
    shape: str
    """Equal for programs that differ in names, texts and numbers alone."""
    profile: str
    """That graded the reply."""
    paid: str
    """``yes``; ``no``; ``shadow`` where the shadow's profile would have paid."""
    problem_id: str | None = None
    step: int | None = None
    text: str
    """The reply."""


class HackLog:
    """Keeps attempts that differ by channel or shape; safe to use from several threads.

    Args:
        folder: where ``hacks.jsonl`` lies or will lie; made if there is none.

    Raises:
        UserError: it cannot be written to.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.Lock()
        self._known: set[tuple[str, str]] = set()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stored = self.path.read_bytes() if self.path.exists() else b""
            if stored and not stored.endswith(b"\n"):  # the end of a process that was killed
                with self.path.open("ab") as file:
                    file.write(b"\n")
        except OSError as error:
            raise UserError(f"{self.path}: {error.strerror}; name another folder for attempts") from None
        for line in stored.splitlines():
            try:
                record = msgspec.json.decode(line, type=HackRecord)
            except UNREADABLE:
                continue
            self._known.add((record.channel, record.shape))

    def add(self, record: HackRecord) -> bool:
        """Keep an attempt; False where one like it is kept already, or too many are.

        Raises:
            OSError: it cannot be written.
        """
        key = record.channel, record.shape
        with self._lock:
            if key in self._known or len(self._known) >= MOST:
                return False
            line = encode(record) + b"\n"
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
            self._known.add(key)
        return True


def drawn(text: str, share: float) -> bool:
    """Whether a reply is one of the share that is looked at: the same replies every time."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") < share * _SHARES


def program_shape(program: str) -> str:
    """A hash that names, texts and numbers make no difference to; of what is no Python, of the text itself."""
    try:
        with quietly():
            tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _hash(program)
    kinds = [type(node).__name__ for node in ast.walk(tree) if not isinstance(node, ast.expr_context)]
    return _hash(" ".join(kinds))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
