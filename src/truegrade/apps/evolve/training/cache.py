"""Trained adapters by their content: what decides an adapter is its key, and what is found is verified.

    <folder>/<key>/entry.json                   what it was trained from, and the sha256 of every other file
    <folder>/<key>/adapter_config.json, ...     as the trainer wrote them
    <folder>/.partial/<key>/                    being written
    <folder>/.locks/<key>                       held by the process that trains or reads it

An entry gets its name once all its bytes are on the disk. One that is damaged nevertheless is never a hit.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from truegrade import __version__
from truegrade.apps.evolve.training.lessons import Lesson, Trained, Trainer, TrainingOrder
from truegrade.datasets.learned import FILE, LearnedFrom, encoded
from truegrade.datasets.learned import FILE as LEARNED
from truegrade.errors import BadRecord, UserError
from truegrade.files.json_text import UNREADABLE
from truegrade.files.kept import user_cache
from truegrade.models.local import CONFIG, WEIGHTS
from truegrade.models.micro.micro_adapters import encode_tensors
from truegrade.records import SCHEMA_VERSION, sha256_json
from truegrade.store.journal import Notice, ignore
from truegrade.store.manifest import now, write_atomically

if TYPE_CHECKING:
    from numpy.typing import NDArray


# -------------------------- One kept adapter: its manifest, and whether its files are those that were written.


ENTRY = "entry.json"


class KeptFile(msgspec.Struct, frozen=True):
    """A file as it was written."""

    sha256: str
    bytes: int


class CacheEntry(msgspec.Struct, frozen=True, kw_only=True):
    """``entry.json``."""

    key: str
    facts: dict[str, Any]
    """What the key is the hash of."""
    trained: Trained
    problems: tuple[str, ...]
    """Ids of what it learned from: what it must never be tested on."""
    files: dict[str, KeptFile]
    """By path inside the entry, every file but this one."""
    created: str
    """UTC, ISO 8601."""
    schema: int = SCHEMA_VERSION

    @property
    def sha256(self) -> str:
        """Of the files but the record of its training: the adapter's identity, wherever it was trained."""
        return sha256_json({name: file.sha256 for name, file in self.files.items() if name != LEARNED})

    @property
    def bytes(self) -> int:
        """Of all files but the manifest."""
        return sum(file.bytes for file in self.files.values())


def write_entry(
    folder: Path, key: str, facts: dict[str, Any], trained: Trained, problems: list[str]
) -> CacheEntry:
    """Complete what a trainer wrote by a manifest, and force all of it to the disk.

    Raises:
        OSError: the disk refuses.
    """
    entry = CacheEntry(
        key=key,
        facts=facts,
        trained=msgspec.structs.replace(trained, folder=Path(key)),
        problems=tuple(problems),
        files=_files(folder),
        created=now(),
    )
    content = msgspec.json.format(msgspec.json.encode(entry, enc_hook=str), indent=2) + b"\n"
    write_atomically(folder / ENTRY, content)
    _sync_all(folder)
    return entry


def read_sound(folder: Path, key: str) -> CacheEntry:
    """The manifest of an entry of which every byte is as it was written.

    Raises:
        BadRecord: one is not, or the entry is another's.
    """
    entry = read_entry(folder, verify=True)
    if entry.key != key:
        raise BadRecord(folder / ENTRY, f"it is the entry of {entry.key[:16]}", field="key")
    return entry


def read_entry(folder: Path, *, verify: bool) -> CacheEntry:
    """The manifest of an entry.

    Args:
        folder: of the entry.
        verify: read every file and compare.

    Raises:
        BadRecord: it is missing or torn, or a file is not the one that was written.
    """
    path = folder / ENTRY
    try:
        entry = msgspec.json.decode(path.read_bytes(), type=CacheEntry, dec_hook=lambda kind, value: kind(value))
    except OSError as error:
        raise BadRecord(path, f"cannot be read: {error.strerror or error}") from None
    except UNREADABLE as error:
        raise BadRecord(path, f"not the manifest of an adapter: {error}") from None
    if verify:
        _verify(folder, entry)
    return entry


def _verify(folder: Path, entry: CacheEntry) -> None:
    found = _files(folder)
    for name in sorted(entry.files.keys() | found.keys()):
        if name not in found:
            raise BadRecord(folder / name, "missing")
        if name not in entry.files:
            raise BadRecord(folder / name, "not there when the adapter was kept")
        if found[name] != entry.files[name]:
            raise BadRecord(folder / name, "not the bytes that were kept")


def _files(folder: Path) -> dict[str, KeptFile]:
    """Every file but the manifest, by its path in the folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / ENTRY)
    return {str(path.relative_to(folder)): _hash_file(path) for path in paths}


def _hash_file(path: Path) -> KeptFile:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return KeptFile(digest, path.stat().st_size)


def _sync_all(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        sync(path)


def sync(path: Path) -> None:
    """Force a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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

    def trained(self, trainer: Trainer, order: TrainingOrder, lessons: Sequence[Lesson]) -> Cached:
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
            trained = trainer.train(order, lessons, partial)
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
    return user_cache("adapters", "TRUEGRADE_ADAPTERS")


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


# --------------------------------------- An adapter's folder, written so that it is there whole or not at all.


def write_adapter(
    folder: Path,
    order: TrainingOrder,
    tensors: Mapping[str, NDArray[Any]],
    metadata: Mapping[str, str],
    learned: LearnedFrom,
) -> None:
    """Write an adapter as PEFT does, beside its place, and rename it there.

    Args:
        folder: empty or absent.
        order: what the adapter was trained to.
        tensors: its weights under PEFT's names; stored as float32.
        metadata: texts stored beside them.
        learned: what it was trained on.

    Raises:
        UserError: the folder holds something, or cannot be written.
    """
    files = {
        CONFIG: msgspec.json.format(msgspec.json.encode(peft_config(order)), indent=2),
        WEIGHTS: encode_tensors(tensors, metadata),
        FILE: encoded(learned),
    }
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            partial.chmod(0o755)  # mkdtemp's own is for one user only
            for name, content in files.items():
                (partial / name).write_bytes(content)
                sync(partial / name)
            sync(partial)
            partial.rename(folder)  # over an empty folder too, never over a full one
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        sync(folder.parent)
    except OSError as error:
        raise UserError(f"adapter folder {folder}: {error.strerror}; name one that is empty or absent") from error


def peft_config(order: TrainingOrder) -> dict[str, Any]:
    """``adapter_config.json`` (huggingface/peft@v0.21.2 ``tuners/lora/config.py``)."""
    genes = order.adapter
    return {
        "base_model_name_or_path": None,  # PEFT would look for any other name on the Hub
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
        "init_lora_weights": True,
        "lora_alpha": int(genes.alpha) if genes.alpha == int(genes.alpha) else genes.alpha,
        "lora_dropout": genes.dropout,
        "peft_type": "LORA",
        "r": genes.rank,
        "target_modules": sorted(set(genes.modules)),
        "task_type": "CAUSAL_LM",
        "use_dora": genes.kind == "dora",
        "use_rslora": False,
    }
