"""Which files make up a release of LiveCodeBench's code generation set.

``release_vN`` holds the files 1 to N, ``vN`` the Nth, ``vM_vN`` those from M to N, ``release_latest`` all: the
loader of the data set livecodebench/code_generation_lite. Sizes are those that LiveCodeBench/LiveCodeBench@28fef95
README.md states.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from truegrade.errors import UnknownName, UserError

_CUMULATIVE = (400, 511, 612, 713, 880, 1055)
LATEST = "release_latest"


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """A range of upstream's files."""

    first: int
    last: int

    @property
    def files(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(f"test{number if number > 1 else ''}.jsonl" for number in range(self.first, self.last + 1))

    @property
    def problems(self) -> int:
        """How many problems they hold upstream."""
        return _CUMULATIVE[self.last - 1] - (_CUMULATIVE[self.first - 2] if self.first > 1 else 0)


def _releases() -> dict[str, Release]:
    numbers = range(1, len(_CUMULATIVE) + 1)
    whole = {f"release_v{last}": Release(first=1, last=last) for last in numbers}
    single = {f"v{number}": Release(first=number, last=number) for number in numbers}
    ranges = {f"v{a}_v{b}": Release(first=a, last=b) for a in numbers for b in range(a + 1, len(_CUMULATIVE) + 1)}
    return {LATEST: Release(first=1, last=len(_CUMULATIVE)), **whole, **single, **ranges}


RELEASES: Mapping[str, Release] = MappingProxyType(_releases())
"""By version tag."""


class SelectedRelease(msgspec.Struct, frozen=True, kw_only=True):
    """The files to read, and the release that they are, where they are one."""

    paths: tuple[Path, ...]
    release: Release | None = None


def select_files(data: Path, release: str | None) -> SelectedRelease:
    """The files that a path and a release tag name.

    Args:
        data: one file; or a folder with upstream's ``test.jsonl`` ..., with a folder per tag, or with other files
            of rows, all of which are read.
        release: a tag of `RELEASES`; None for all there is, which in upstream's layout must be all of it.

    Raises:
        UnknownName: no such release.
        UserError: nothing there, files of the release are missing, or a tag where there is nothing to choose.
    """
    if release is not None and release not in RELEASES:
        raise UnknownName("release", release, RELEASES)
    if data.is_file():
        if release is not None:
            raise UserError(
                f"`task_args` release={release} chooses among the files of a folder, and {data} is one file; leave"
                " it out"
            )
        return SelectedRelease(paths=(data,))
    if not data.is_dir():
        raise UserError(f"{data}: no such file or folder; give LiveCodeBench's rows with `data`")
    if any(_upstream(data, name) for name in RELEASES[LATEST].files):
        return _of_release(data, release)
    if release is not None and not (data / release).is_dir():
        names = ", ".join(RELEASES[release].files)
        raise UserError(
            f"the folder {data} holds neither {names} nor a folder {release};"
            " leave `task_args` release out to read all its files"
        )
    folder = data / release if release is not None else data
    return SelectedRelease(paths=_all_files(folder), release=RELEASES[release] if release is not None else None)


def _of_release(folder: Path, tag: str | None) -> SelectedRelease:
    release = RELEASES[tag or LATEST]
    found = {name: _upstream(folder, name) for name in release.files}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        whole = [name for name, other in RELEASES.items() if all(_upstream(folder, file) for file in other.files)]
        served = f"; `task_args` release={whole[0]} reads what is there" if tag is None else ""
        raise UserError(f"the folder {folder} lacks {', '.join(missing)} of {tag or LATEST}{served}")
    return SelectedRelease(paths=tuple(path for path in found.values() if path is not None), release=release)


def _upstream(folder: Path, name: str) -> Path | None:
    """A file of upstream's, plain or gzipped."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _all_files(folder: Path) -> tuple[Path, ...]:
    endings = (".jsonl", ".json", ".jsonl.gz", ".json.gz", ".parquet")
    paths = tuple(sorted(path for path in folder.iterdir() if path.is_file() and path.name.endswith(endings)))
    tags = [path.name for path in sorted(folder.iterdir()) if path.is_dir() and path.name in RELEASES]
    if not paths and tags:
        raise UserError(
            f"the folder {folder} holds a folder a release, and they overlap: `task_args`"
            f" release={tags[-1]} chooses one (there are {', '.join(tags)})"
        )
    if not paths:
        raise UserError(
            f"the folder {folder} holds no file of rows ({', '.join(endings)}); give the one that does"
        )
    return paths
