"""The response cache: what services answered, by everything that decided the answer, in one SQLite file.

WAL mode: a kill leaves a whole record or none, and several processes read and write at once. A reply is a fact
that does not change, so the first one stored under a key stays; losing the file loses money, never a result.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from truegrade.files.kept import user_cache
from truegrade.store.journal import Notice, ignore

FILE = "responses.sqlite"

_BUSY_S = 30.0
"""Seconds that a write waits for another process's write."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS responses (
    key TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    asked TEXT NOT NULL,
    entry BLOB NOT NULL
) STRICT
"""


class CacheState(msgspec.Struct, frozen=True, kw_only=True):
    """What `truegrade doctor` says of the cache."""

    path: Path
    replies: int
    bytes: int
    """On disk, the write-ahead log included."""


class ResponseCache:
    """Entries by key. Trouble with the file is told once, and from then on nothing is found or kept.

    Args:
        path: the file; its folder is made if needed.
        notice: told why the cache cannot be used, where that is so.
    """

    def __init__(self, path: Path, *, notice: Notice = ignore) -> None:
        self.path = path
        self._notice = notice
        self._connection: sqlite3.Connection | None = None
        with self._bearing():
            path.parent.mkdir(parents=True, exist_ok=True)
            # a notebook opens it in one thread and asks in another, one at a time
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(_SCHEMA)

    @property
    def usable(self) -> bool:
        """Whether anything is found or kept."""
        return self._connection is not None

    def get(self, key: str) -> bytes | None:
        """The entry stored under a key."""
        row = None
        with self._bearing():
            if self._connection is not None:
                query = "SELECT entry FROM responses WHERE key = ?"
                row = self._connection.execute(query, (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def put(self, key: str, entry: bytes, *, model: str, asked: str) -> None:
        """Store an entry, unless one stands under the key already.

        Args:
            key: hash of the request.
            entry: the reply.
            model: who answered, for people who look into the file.
            asked: when; UTC, ISO 8601.
        """
        with self._bearing():
            if self._connection is not None:
                row = (key, model, asked, entry)
                self._connection.execute("INSERT OR IGNORE INTO responses VALUES (?, ?, ?, ?)", row)

    def close(self) -> None:
        """Let go of the file; safe to call twice."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _bearing(self) -> Iterator[None]:
        """A run never fails for its cache: say what is wrong, and go on without."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self.close()
            self._notice(
                f"{self.path}: the response cache cannot be used ({error}); replies are not cached this time."
                " If the file is damaged, delete it"
            )


def responses_path() -> Path:
    """``responses.sqlite`` in ``TRUEGRADE_CACHE``, else in ``truegrade`` of ``XDG_CACHE_HOME`` or ``~/.cache``."""
    return user_cache("", "TRUEGRADE_CACHE") / FILE


def cache_state(path: Path) -> CacheState | None:
    """Look at a cache without changing it; None if there is none.

    Raises:
        OSError: it is there and cannot be read as one.
    """
    if not path.is_file():
        return None
    parts = (path.with_name(path.name + end) for end in ("", "-wal"))
    size = sum(part.stat().st_size for part in parts if part.exists())
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)) as db:
            count: int = db.execute("SELECT count(*) FROM responses").fetchone()[0]
    except sqlite3.Error as error:
        raise OSError(f"{path}: not a response cache ({error}); delete it") from None
    return CacheState(path=path, replies=count, bytes=size)
