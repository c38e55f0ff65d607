"""What is made once and kept: in memory for what was asked for last, on disk for every process of a machine."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


def user_cache(name: str, variable: str = "") -> Path:
    """What an environment variable names, else ``truegrade/NAME`` in ``XDG_CACHE_HOME`` or ``~/.cache``."""
    if configured := os.environ.get(variable):
        return Path(configured).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "truegrade" / name


class LastKept(Generic[T]):
    """The last few things that were made, by key; safe to use from several threads.

    Args:
        most: how many stay in memory.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, T] = OrderedDict()
        self._making: dict[str, threading.Event] = {}
        self._lock = threading.Lock()

    def of(self, key: str, make: Callable[[], T]) -> T:
        """What is kept under a key, made if there is nothing; raises what making it raises.

        A thread that asks while another makes it waits for that one, and makes it itself where that one failed.
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            begun = self._making.get(key)
            if begun is None:
                self._making[key] = threading.Event()
        if begun is not None:
            begun.wait()
            with self._lock:
                if key in self._kept:
                    return self._kept[key]
            return make()  # by each that waited, at the same time: what fails may take long
        try:
            made = make()
            self.keep(key, made)
            return made
        finally:
            with self._lock:
                self._making.pop(key).set()

    def keep(self, key: str, made: T) -> None:
        """Keep this under a key, in place of what was."""
        with self._lock:
            self._kept[key] = made
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


_DIGEST = hashlib.sha256().digest_size
_LOOK_S = 0.05
"""Seconds between two looks at a lock that another process holds."""
_PART = ".part"
_ABANDONED_S = 3600.0
"""Seconds after which an unfinished file belongs to nobody."""


class KeptState(msgspec.Struct, frozen=True):
    """What a folder holds."""

    entries: int
    bytes: int


class KeptOnDisk:
    """Bytes by key in a folder of the user's alone, made once by all threads and processes that use it.

    An entry is a file that is named as its key: the SHA-256 of key and content, then the content. It takes its
    name when it is whole, and is not used unless the hash is right, so that a kill or a damaged disk costs
    computing it anew. What makes an entry holds a lock of the operating system's, which ends with its process.
    Trouble with the folder costs time and nothing else.

    Args:
        folder: made where it is missing.
        most_bytes: of all entries together; those that were asked for least recently go. 0 keeps nothing.
        wait_s: wall seconds to wait for another process, before making the same beside it.
    """

    def __init__(self, folder: Path, most_bytes: int, *, wait_s: float = 600.0) -> None:
        self.folder, self.most_bytes = folder, most_bytes
        self._wait_s = wait_s

    def of(self, key: str, make: Callable[[], bytes]) -> bytes:
        """What is kept under a key, made if there is nothing; raises what making it raises.

        Args:
            key: hexadecimal digits, at least two.
            make: called by one process at a time.
        """
        if self.most_bytes <= 0:
            return make()
        found = self.read(key)
        if found is not None:
            return found
        with self._locked(key):
            found = self.read(key)  # another process may have made it meanwhile
            if found is None:
                found = make()
                self._write(key, found)
        return found

    def read(self, key: str) -> bytes | None:
        """What is kept under a key, as it was written; None if there is nothing, or not that."""
        path = self.folder / key
        try:
            with path.open("rb") as file:
                digest, content = file.read(_DIGEST), file.read()
        except OSError:
            return None
        if digest != _digest(key, content):
            return None
        with suppress(OSError):
            os.utime(path)
        return content

    def state(self) -> KeptState:
        """How much is kept."""
        sizes = [size for _, size, _ in self._files()]
        return KeptState(len(sizes), sum(sizes))

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        """Hold the lock of a key, one of 256 files."""
        import fcntl

        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = (self.folder / f"{key[:2]}.lock").open("ab")
        except OSError:
            yield
            return
        with lock:
            until = time.monotonic() + self._wait_s
            while time.monotonic() < until:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(_LOOK_S)
                except OSError:  # a file system without locks
                    break
            yield

    def _write(self, key: str, content: bytes) -> None:
        if _DIGEST + len(content) > self.most_bytes:
            return
        part = self.folder / f"{key}{_PART}"
        try:
            with part.open("wb") as file:
                file.write(_digest(key, content))
                file.write(content)
            part.replace(self.folder / key)
            self._remove_oldest()
        except OSError:
            with suppress(OSError):
                part.unlink()

    def _remove_oldest(self) -> None:
        files = sorted(self._files())
        size = sum(size for _, size, _ in files)
        for used, each, path in files:
            left = path.suffix == _PART and used < time.time() - _ABANDONED_S
            if size > self.most_bytes or left:
                path.unlink(missing_ok=True)
                size -= each

    def _files(self) -> list[tuple[float, int, Path]]:
        """When each was used last, its size and path; unfinished ones too."""
        found = []
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if not entry.name.endswith(".lock"):
                    with suppress(OSError):  # another process removed it
                        status = entry.stat(follow_symlinks=False)
                        found.append((status.st_mtime, status.st_size, Path(entry.path)))
        return found


def _digest(key: str, content: bytes) -> bytes:
    hashed = hashlib.sha256(key.encode())
    hashed.update(content)
    return hashed.digest()
