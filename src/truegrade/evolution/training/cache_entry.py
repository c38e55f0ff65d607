"""One kept adapter: its manifest, and whether its files are those that were written."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec

from truegrade.datasets.learned import FILE as LEARNED
from truegrade.errors import BadRecord
from truegrade.evolution.training.base import Trained
from truegrade.files.json_text import UNREADABLE
from truegrade.records import SCHEMA_VERSION, sha256_json
from truegrade.store.manifest import now, write_atomically

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
    return {str(path.relative_to(folder)): _kept(path) for path in paths}


def _kept(path: Path) -> KeptFile:
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
