"""What lies in a folder of runs, told by names, sizes and times alone; no file is opened, no link is followed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

Kind = Literal["run", "evolution"]

MAX_DEPTH = 3
"""Folders between the root and a run: ``runs/experiment/seed-1/run`` is found."""
LOCK = ".lock"
"""Held by the process that writes to a run (`truegrade.store.Run.locked`)."""
_MARKERS: tuple[tuple[str, Kind], ...] = (("manifest.json", "run"), ("evolution.json", "evolution"))


class Stamp(NamedTuple):
    """What changes when a file does."""

    size: int
    mtime_ns: int
    inode: int


class Folder(msgspec.Struct, frozen=True, kw_only=True):
    """A run or an evolution."""

    id: str
    """Its path below the root; the only name by which a client can ask for it."""
    path: Path
    kind: Kind
    files: Mapping[str, Stamp]
    """Of its regular files."""

    def newest_ns(self, *suffixes: str) -> int:
        """When a file with one of these endings last changed; 0 where there is none."""
        return max((stamp.mtime_ns for name, stamp in self.files.items() if name.endswith(suffixes)), default=0)

    @property
    def verdict_files(self) -> list[str]:
        """Names of the journals of verdicts."""
        return sorted(name for name in self.files if name.startswith("verdicts.") and name.endswith(".jsonl"))

    @property
    def journals_ns(self) -> int:
        """When a completion or a verdict was last written."""
        names = ("completions.jsonl", *self.verdict_files)
        return max((self.files[name].mtime_ns for name in names if name in self.files), default=0)


def walk(root: Path) -> Iterator[Folder]:
    """Every run and evolution below a folder, or the folder itself; nothing is looked for inside one of them."""
    yield from _walk(root, root, MAX_DEPTH + 1)


def look(root: Path, folder: Path) -> Folder | None:
    """One folder as it is now; None if it is no run and no evolution, or gone."""
    files, _ = _scan(folder)
    for marker, kind in _MARKERS:
        if marker in files:
            return Folder(id=_id(root, folder), path=folder, kind=kind, files=files)
    return None


def locked_inodes() -> frozenset[int] | None:
    """Inodes of the files that a process has locked; None where the system does not tell (``/proc/locks``, Linux).

    Asking for the lock would tell everywhere, but a run that begins in that instant would find it taken.
    """
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    fields = (line.split() for line in lines if " FLOCK " in line and "->" not in line)
    return frozenset(int(field[5].rpartition(":")[2]) for field in fields)


def _walk(root: Path, folder: Path, depth: int) -> Iterator[Folder]:
    found = look(root, folder)
    if found is not None:
        yield found
    elif depth:
        for name in sorted(_scan(folder)[1]):
            yield from _walk(root, folder / name, depth - 1)


def _scan(folder: Path) -> tuple[dict[str, Stamp], list[str]]:
    """Regular files with their stamps, and names of visible folders."""
    files: dict[str, Stamp] = {}
    folders: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith("."):
                        folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    files[entry.name] = Stamp(status.st_size, status.st_mtime_ns, status.st_ino)
    except OSError:  # removed meanwhile, or not ours to read
        return {}, []
    return files, folders


def _id(root: Path, folder: Path) -> str:
    return root.resolve().name if folder == root else folder.relative_to(root).as_posix()
