"""Trained adapters by their content: what decides an adapter is its key, and what is found is verified.

    <folder>/<key>/entry.json                   what it was trained from, and the sha256 of every other file
    <folder>/<key>/adapter_config.json, ...     as the trainer wrote them
    <folder>/.partial/<key>/                    being written
    <folder>/.locks/<key>                       held by the process that trains or reads it

An entry gets its name once all its bytes are on the disk. One that is damaged nevertheless is never a hit.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from truegrade import __version__
from truegrade.errors import BadRecord, UserError
from truegrade.evolution.training.base import Lesson, Trained, Trainer, TrainingOrder
from truegrade.evolution.training.cache_entry import ENTRY, CacheEntry, read_entry, read_sound, sync, write_entry
from truegrade.records import sha256_json
from truegrade.store.journal import Notice, ignore

_PARTIAL, _LOCKS = ".partial", ".locks"

FORMAT = 1
"""Of the cache; a change of what the key covers raises it."""


class Cached(msgspec.Struct, frozen=True, kw_only=True):
    """An adapter that can be trusted."""

    key: str
    sha256: str
    """Of the adapter's files: to be recorded with everything that it answers."""
    trained: Trained
    hit: bool
    """Whether it was there already."""


class AdapterCache:
    """Adapters on disk; safe to use from several processes at once.

    Args:
        folder: None for ``TRUEGRADE_ADAPTERS``, else the user's cache; see `adapters_folder`.
        notice: told of every entry that is damaged or taken out.

    Raises:
        UserError: the folder cannot be made.
    """

    def __init__(self, folder: Path | None = None, *, notice: Notice = ignore) -> None:
        self.folder = folder or adapters_folder()
        self._notice = notice
        try:
            for name in (_PARTIAL, _LOCKS):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"{self.folder}: adapters cannot be kept there: {error.strerror or error};"
                " name another folder in TRUEGRADE_ADAPTERS"
            ) from None

    def trained(
        self,
        trainer: Trainer,
        order: TrainingOrder,
        lessons: Sequence[Lesson],
        on_epoch: Callable[[int, float], None] | None = None,
    ) -> Cached:
        """The adapter of an order: as it was kept, else trained and kept.

        Of several processes that want the same one, the first trains and the others wait for it.

        Raises:
            UserError: the order is not the trainer's, it fails, or the disk does.
        """
        if order.base != trainer.base:
            raise UserError(f"the order is for {order.base}, but {trainer.base} is loaded")
        key = adapter_key(trainer, order, lessons)
        with self._alone_with(key):
            entry = self._sound(key)
            if entry is not None:
                return self._cached(entry, hit=True)
            partial = self.folder / _PARTIAL / key
            shutil.rmtree(partial, ignore_errors=True)
            trained = trainer.train(order, lessons, partial, on_epoch)
            facts = adapter_facts(trainer, order, lessons)
            try:
                entry = write_entry(partial, key, facts, trained, sorted({each.problem for each in lessons}))
                partial.rename(self.folder / key)
                sync(self.folder)
            except OSError as error:
                raise UserError(f"{self.folder}: {error.strerror or error}; the adapter is not kept") from None
            return self._cached(entry, hit=False)

    def entries(self) -> Iterator[CacheEntry]:
        """Every entry that says what it is, least recently used first; their files are not verified here."""
        found = [path for path in self.folder.iterdir() if (path / ENTRY).is_file()]
        for path in sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name)):
            try:
                yield read_entry(path, verify=False)
            except BadRecord as error:
                self._notice(f"adapter cache: {error}")

    def shrink(self, max_bytes: int) -> tuple[str, ...]:
        """Take the least recently used entries out until the rest fits, each with a notice; their keys.

        What another process verifies or trains at the moment stays. An adapter that was handed out and is not
        loaded yet may go: do this between searches.
        """
        entries = list(self.entries())
        total, removed = sum(entry.bytes for entry in entries), []
        for entry in entries:
            if total <= max_bytes:
                break
            with self._alone_with(entry.key, wait=False) as mine:
                if mine:
                    self._remove(entry.key)
                    total -= entry.bytes
                    removed.append(entry.key)
                    self._notice(
                        f"adapter cache: {entry.key[:16]} ({entry.bytes} bytes) is taken out to make room"
                    )
        return tuple(removed)

    def _sound(self, key: str) -> CacheEntry | None:
        """The entry, if every byte of it is as it was written; what is damaged is removed, with a notice."""
        path = self.folder / key
        if not path.exists():
            return None
        try:
            entry = read_sound(path, key)
        except BadRecord as error:
            self._notice(f"adapter cache: {error}; the adapter is trained again")
            self._remove(key)
            return None
        os.utime(path)
        return entry

    def _remove(self, key: str) -> None:
        """Take an entry out; it loses its name first, so that no half of it is ever found under it."""
        doomed = self.folder / _PARTIAL / f"{key}.removed"
        shutil.rmtree(doomed, ignore_errors=True)
        (self.folder / key).rename(doomed)
        shutil.rmtree(doomed)

    def _cached(self, entry: CacheEntry, *, hit: bool) -> Cached:
        trained = msgspec.structs.replace(entry.trained, folder=self.folder / entry.key)
        return Cached(key=entry.key, sha256=entry.sha256, trained=trained, hit=hit)

    @contextmanager
    def _alone_with(self, key: str, *, wait: bool = True) -> Iterator[bool]:
        """Hold the lock of a key, which goes with the process, however that ends; False if another holds it."""
        with (self.folder / _LOCKS / key).open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            yield True


def adapters_folder() -> Path:
    """``TRUEGRADE_ADAPTERS``, else ``truegrade/adapters`` under ``XDG_CACHE_HOME`` or ``~/.cache``."""
    if configured := os.environ.get("TRUEGRADE_ADAPTERS"):
        return Path(configured).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "truegrade" / "adapters"


def adapter_key(trainer: Trainer, order: TrainingOrder, lessons: Sequence[Lesson]) -> str:
    """Hash of everything that decides an adapter."""
    return sha256_json(adapter_facts(trainer, order, lessons))


def adapter_facts(trainer: Trainer, order: TrainingOrder, lessons: Sequence[Lesson]) -> dict[str, object]:
    """Everything that decides an adapter. The base counts by its bytes, not by where it lies."""
    settings = msgspec.to_builtins(order)
    del settings["base"]
    return {
        "format": FORMAT,
        "base_sha256": trainer.base_sha256,
        "lessons_sha256": sha256_json(list(lessons)),
        "order": settings,
        "versions": {**trainer.versions, "truegrade": __version__},
    }
