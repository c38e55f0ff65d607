"""A run as one file: a zip of the files that its numbers rest on, the same bytes for the same run.

``pack.json`` stands first and names the run, the layout's version and the SHA-256 of every member. Data sets are
not in a pack, because their licences differ: the manifest's hash names the data, and grading looks for them as it
does for any run.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec
from msgspec import UNSET

from truegrade.errors import BadRecord, UserError
from truegrade.files.json_text import UNREADABLE, encode, read_json
from truegrade.files.kept import user_cache
from truegrade.files.unpacking import InflationMeter, UnpackedTooLarge
from truegrade.files.writing import writing
from truegrade.store.importers.reading import DamagedMember, member_pieces
from truegrade.store.journal import Notice, ignore

if TYPE_CHECKING:
    from truegrade.store.manifest import Manifest
    from truegrade.store.run import Run

ENDING = ".truegrade"
"""Of a pack's name; any other is read too."""
PACK_SCHEMA = 1
"""Version of the layout; another one is refused."""
HEAD = "pack.json"
MARK = ".pack"
"""In the folder of a run that was unpacked to be graded: the pack's SHA-256."""

_MEMBER = re.compile(
    r"(?:manifest|summary|audit)\.json|(?:completions|prompts|steps|verdicts\.[\w.+@-]{1,150})\.jsonl", re.ASCII
)
"""What a pack may hold besides its head; nothing else is taken out of one."""
_NAME = re.compile(r"[A-Za-z0-9][\w.+@-]{0,200}", re.ASCII)
_LOCAL_HEAD = b"PK\x03\x04"
_NAME_AT = 30
"""Where the first member's name stands in a zip."""
_PIECE = 1 << 20
_MOST_HEAD_BYTES = 1 << 20
_WRITTEN = (1980, 1, 1, 0, 0, 0)
"""The time of every member: zip's earliest."""


class PackHead(msgspec.Struct, frozen=True, kw_only=True):
    """``pack.json``, the first member of a pack."""

    schema: int = PACK_SCHEMA
    truegrade: str
    """Version that wrote it."""
    run: str
    """Name of the run's folder."""
    files: dict[str, str]
    """Name of every other member -> SHA-256 of its content."""


def pack_run(run: Run, out: Path | None = None, *, notice: Notice = ignore) -> Path:
    """Write a run as one file and return its path.

    Args:
        run: graded or not.
        out: the file; None for the run's name in the working folder.
        notice: told what of this machine stays in the pack, because the run's identity rests on it.

    Raises:
        UserError: the run cannot be packed, another process is writing to it, or the file cannot be written.
    """
    name = run.path.resolve().name
    if not _NAME.fullmatch(name):
        raise UserError(
            f"{run.path}: a pack bears the name of the run's folder; rename it to letters, digits, . _ -"
        )
    path = out or Path(f"{name}{ENDING}")
    if path.is_dir():
        raise UserError(f"{path}: is a folder; give the pack's file with `out`")
    for private in _private(run.manifest):
        notice(f"{private} stays in the pack: it belongs to the run's identity")
    partial = path.with_name(path.name + ".partial")
    with run.locked() if run.pack is None else nullcontext(), writing(path):
        try:
            with partial.open("wb") as file:
                _write(run, name, file)
            partial.replace(path)
        finally:
            with suppress(OSError):
                partial.unlink()
    return path


def is_run(path: Path) -> bool:
    """Whether it is a run: the folder of one, or a pack."""
    return is_pack(path) or (path / "manifest.json").is_file()


def is_pack(path: Path) -> bool:
    """Whether a file is a pack, whole or not: whether a zip with a pack's head begins there.

    Others than those with a zip's endings are not opened: a pipe could not be read again.
    """
    if path.suffix not in (ENDING, ".zip"):
        return False
    try:
        with path.open("rb") as file:
            begin = file.read(_NAME_AT + len(HEAD))
    except OSError:
        return False
    return begin.startswith(_LOCAL_HEAD) and begin[_NAME_AT:] == HEAD.encode()


def opened_pack(path: Path) -> Path:
    """The folder of a pack's run, for reading: in the cache under the pack's hash, unpacked there the first time.

    Raises:
        BadRecord: the pack is damaged, of another version, or holds what a pack does not.
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


# -------------------------------------------------------------------------------------------- writing


def _write(run: Run, name: str, file: BinaryIO) -> None:
    """The members by name, behind the head."""
    paths = sorted(path for path in run.path.iterdir() if _MEMBER.fullmatch(path.name) and path.is_file())
    said = {path.name: told for path in paths if (told := _without_paths(run, path)) is not None}
    files = {
        path.name: sha256(said[path.name]).hexdigest() if path.name in said else _digest(path) for path in paths
    }
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        head = PackHead(truegrade=version("truegrade"), run=name, files=files)
        archive.writestr(_member(HEAD, stored=True), encode(head, indent=2) + b"\n")
        for path in paths:
            with archive.open(_member(path.name), "w", force_zip64=True) as target:
                if path.name in said:
                    target.write(said[path.name])
                else:
                    with path.open("rb") as source:
                        shutil.copyfileobj(source, target, _PIECE)


def _member(name: str, *, stored: bool = False) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _WRITTEN)
    member.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    member.create_system, member.external_attr = 3, 0o644 << 16  # the same on every system
    return member


def _without_paths(run: Run, path: Path) -> bytes | None:
    """A member that names files of this machine, with their names alone; None where it stays as it is."""
    if path.name == "manifest.json":
        manifest = run.manifest
        source = msgspec.structs.replace(manifest.benchmark, source=_bare(manifest.benchmark.source))
        places = manifest.origins if manifest.origins is not UNSET else {}
        origins = {of: msgspec.structs.replace(each, place=_bare(each.place)) for of, each in places.items()}
        told = msgspec.structs.replace(manifest, benchmark=source, origins=origins or UNSET)
        return encode(told, indent=2) + b"\n"
    if path.name == "audit.json":
        audit = read_json(path, dict)
        return encode({**audit, "file": _bare(str(audit.get("file", "")))}, indent=2) + b"\n"
    return None


def _bare(place: str) -> str:
    return Path(place).name if Path(place).is_absolute() else place


def _private(manifest: Manifest) -> Iterator[str]:
    """Settings of the model that name places of this machine: they are hashed into every completion."""
    config = manifest.generation
    if config is None:
        return
    settings = {
        "the model's name": config.model,
        **{f"`model_args` {name}": of for name, of in config.model_args.items()},
    }
    for what, value in settings.items():
        tail = str(value).partition(":")[2] if str(value).startswith("replay:") else str(value)
        if Path(tail.removeprefix("hf/")).is_absolute():
            yield f"{what}, {value},"
    if config.base_url:
        yield f"the address of the model, {config.base_url},"


# -------------------------------------------------------------------------------------------- reading


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
            raise BadRecord(path, f"the pack is damaged ({error}); copy it again") from None
        try:
            self.head = self._read_head()
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
        if hasher.hexdigest() != self.head.files[name]:
            raise self._damaged("its content is not the one that the pack's head names", name)

    def _pieces(self, name: str) -> Iterator[bytes]:
        unit = "line" if name.endswith(".jsonl") else "document"
        meter = InflationMeter(unit, size=self._path.stat().st_size)
        try:
            yield from member_pieces(self._archive, self._archive.getinfo(name), meter)
        except KeyError:
            raise self._damaged("it is missing", name) from None
        except UnpackedTooLarge as error:
            raise BadRecord(self._path, f"{error}; the pack is not unpacked", field=name) from None
        except (DamagedMember, ImportError) as error:
            raise self._damaged(str(error), name) from None

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
        return BadRecord(self._path, f"the pack is damaged ({why}); copy it again", field=field)
