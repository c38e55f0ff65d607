"""A run as one file, to be read in its place: a zip of its folder, or a pack of an earlier version.

In a pack ``pack.json`` stands first and names the run, the layout's version and the SHA-256 of every member. Data
sets are in neither: the manifest's hash names the data, and grading looks for them as it does for any run.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from stat import S_ISLNK
from typing import BinaryIO

import msgspec

from truegrade.errors import BadRecord, UserError
from truegrade.files.json_text import UNREADABLE
from truegrade.files.kept import user_cache
from truegrade.files.unpacking import InflationMeter, UnpackedTooLarge
from truegrade.files.writing import writing
from truegrade.store.importers.reading import DamagedMember, member_pieces

ENDING = ".truegrade"
"""Of a pack's name; a zip of a folder ends in ``.zip``."""
PACK_SCHEMA = 1
"""Version of a pack's layout; another one is refused."""
HEAD = "pack.json"
MARK = ".pack"
"""In the folder of a run that was unpacked to be graded: the file's SHA-256."""

_MEMBER = re.compile(
    r"(?:manifest|summary|audit)\.json|(?:completions|prompts|steps|verdicts\.[\w.+@-]{1,150})\.jsonl", re.ASCII
)
"""What is taken out of such a file; a pack holds nothing else besides its head."""
_FOLDER = re.compile(r"(?:\./)?(?:[^/]+/)?manifest\.json")
_NAME = re.compile(r"[A-Za-z0-9][\w.+@-]{0,200}", re.ASCII)
_LOCAL_HEAD = b"PK\x03\x04"
_NAME_AT = 30
"""Where the first member's name stands in a zip."""
_PIECE = 1 << 20
_MOST_HEAD_BYTES = 1 << 20


class PackHead(msgspec.Struct, frozen=True, kw_only=True):
    """``pack.json``, the first member of a pack; of a zip of a folder, what is found of it."""

    schema: int = PACK_SCHEMA
    run: str
    """Name of the run's folder."""
    files: dict[str, str]
    """Name of every other member -> SHA-256 of its content; empty in a zip of a folder, which names none."""


def is_run(path: Path) -> bool:
    """Whether it is a run: the folder of one, a zip of it, or a pack."""
    return is_pack(path) or (path / "manifest.json").is_file()


def is_pack(path: Path) -> bool:
    """Whether a file is a pack, whole or not, or a zip of one run's folder.

    Others than those with a zip's endings are not opened: a pipe could not be read again.
    """
    if path.suffix.lower() not in (ENDING, ".zip"):
        return False
    try:
        with path.open("rb") as file:
            begin = file.read(_NAME_AT + len(HEAD))
        if begin.startswith(_LOCAL_HEAD) and begin[_NAME_AT:] == HEAD.encode():
            return True
        with zipfile.ZipFile(path) as archive:
            return _folder_in(archive.namelist()) is not None
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError):
        return False


def _folder_in(names: list[str]) -> str | None:
    """Beginning of the names of a run's files: empty, or its folder; None where there is no run, or several."""
    found = [name.removesuffix("manifest.json") for name in names if _FOLDER.fullmatch(name)]
    return found[0] if len(found) == 1 and f"{found[0]}completions.jsonl" in names else None


def opened_pack(path: Path) -> Path:
    """The folder of a pack's run, for reading: in the cache under the pack's hash, unpacked there the first time.

    Raises:
        BadRecord: the file is damaged, of another version, or holds what a pack does not.
        UserError: the cache cannot be written to.
    """
    digest = _digest(path)
    with _Pack(path) as packed:
        folder = user_cache("packs") / digest[:32] / packed.head.run
        if not folder.exists():
            packed.unpack(folder)
        return folder


def unpack_for_grading(path: Path, out: Path | None, runs: Path) -> Path:
    """The folder in which a pack's run is graded: made the first time, gone on with after that.

    Args:
        path: the pack, which stays as it is.
        out: the folder; None for one in ``runs``, named by the run and the pack's hash.
        runs: where runs lie.

    Raises:
        BadRecord: as `opened_pack`.
        UserError: the folder holds something else.
    """
    digest = _digest(path)
    with _Pack(path) as packed:
        folder = out or runs / f"{packed.head.run}-{digest[:8]}"
        if folder.exists():
            mark = folder / MARK
            if not mark.is_file() or mark.read_text() != digest:
                raise UserError(f"{folder}: exists, and was not made of {path}; choose another `out`")
        else:
            packed.unpack(folder, mark=digest)
    return folder


def _digest(path: Path) -> str:
    """SHA-256 of a file."""
    hasher = sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                hasher.update(piece)
    except OSError as error:
        raise BadRecord(path, f"cannot be read ({error.strerror or error}); check the path") from None
    return hasher.hexdigest()


class _Pack:
    """A pack open for reading; a context manager.

    Raises:
        BadRecord: it is damaged, of another version, or holds what a pack does not.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise BadRecord(path, f"the file is damaged ({error}); copy it again") from None
        try:
            names = self._archive.namelist()
            self._prefix = "" if HEAD in names else _folder_in(names) or ""
            self.head = self._read_head() if HEAD in names else self._found_head(names)
        except BadRecord:
            self._archive.close()
            raise

    def __enter__(self) -> _Pack:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def unpack(self, folder: Path, *, mark: str | None = None) -> None:
        """Write the run's folder, in one step: a kill leaves nothing under its name.

        Raises:
            BadRecord: a member is damaged, too large, or not what the head says.
            UserError: the folder cannot be written.
        """
        with writing(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
            try:
                for name in self.head.files:
                    with (partial / name).open("xb") as target:
                        self._copy(name, target)
                if mark is not None:
                    (partial / MARK).write_text(mark)
                partial.chmod(0o755)
                self._settle(partial, folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)

    @staticmethod
    def _settle(partial: Path, folder: Path) -> None:
        try:
            partial.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process has unpacked it meanwhile
                raise

    def _copy(self, name: str, target: BinaryIO) -> None:
        hasher = sha256()
        for piece in self._pieces(name):
            hasher.update(piece)
            target.write(piece)
        if hasher.hexdigest() != (self.head.files[name] or hasher.hexdigest()):
            raise self._damaged("its content is not the one that the pack's head names", name)

    def _pieces(self, name: str) -> Iterator[bytes]:
        unit = "line" if name.endswith(".jsonl") else "document"
        meter = InflationMeter(unit, size=self._path.stat().st_size)
        try:
            yield from member_pieces(self._archive, self._archive.getinfo(self._prefix + name), meter)
        except KeyError:
            raise self._damaged("it is missing", name) from None
        except UnpackedTooLarge as error:
            raise BadRecord(self._path, f"{error}; nothing is unpacked", field=name) from None
        except (DamagedMember, ImportError) as error:
            raise self._damaged(str(error), name) from None

    def _found_head(self, names: list[str]) -> PackHead:
        own = [name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix)]
        times = Counter(names)
        for each in self._archive.infolist():
            if S_ISLNK(each.external_attr >> 16) or times[each.filename] > 1:
                raise self._damaged("it is a link, or there are several of that name", each.filename)
        folder = self._prefix.removeprefix("./").rstrip("/") or self._path.stem
        run = re.sub(r"[^\w.+@-]", "-", folder, flags=re.ASCII)
        return PackHead(run=run.lstrip(".-_") or "run", files={one: "" for one in own if _MEMBER.fullmatch(one)})

    def _read_head(self) -> PackHead:
        try:
            content = b""
            for piece in self._pieces(HEAD):
                content += piece
                if len(content) > _MOST_HEAD_BYTES:
                    raise BadRecord(self._path, "the head is too large; no pack of Truegrade", field=HEAD)
            schema = msgspec.json.decode(content, type=dict).get("schema")
            if schema != PACK_SCHEMA:
                raise BadRecord(
                    self._path,
                    f"the pack is of layout {schema}, and this Truegrade reads {PACK_SCHEMA}; use the version that"
                    " wrote it, or have the run packed again",
                    field=f"{HEAD}: schema",
                )
            head = msgspec.json.decode(content, type=PackHead)
        except (*UNREADABLE, zlib.error) as error:
            raise self._damaged(f"{error}", HEAD) from None
        strange = [name for name in (*head.files, *self._archive.namelist()) if not self._known(name, head)]
        if strange or not _NAME.fullmatch(head.run):
            what = repr((strange or [head.run])[0])[:100]
            raise BadRecord(self._path, f"holds {what}, which no pack does; nothing is unpacked")
        if "manifest.json" not in head.files:
            raise self._damaged("it has no manifest", HEAD)
        return head

    @staticmethod
    def _known(name: str, head: PackHead) -> bool:
        return name == HEAD or (_MEMBER.fullmatch(name) is not None and name in head.files)

    def _damaged(self, why: str, field: str) -> BadRecord:
        return BadRecord(self._path, f"the file is damaged ({why}); copy it again", field=field)
