"""Files that tests and program both work with, though each lives in a process with a folder of its own.

Where a job says so, every call carries what the tests changed in their working folder since the last one, and
every answer what the program changed in its own: files by their bytes, with mode and time, folders, and what is
gone. So a test may write a file, have the program read it, and look at what the program wrote, and still share
nothing with it. The tests' side believes nothing: a path stays below its folder, and no link is followed or made.
Nor does it look for modules, settings or data there (`truegrade.sandbox.judge`). It says what the program changed:
of what the tests wrote its content, of all else that it is there, by its place among what the tests made. Where a
job says so, it changes nothing.

Not covered: links, pipes and devices; owners; files that are open on both sides; what the program changed in a
call that raised, until its next answer.
"""

from __future__ import annotations

import os
import stat

from truegrade.sandbox.wire import ValueTooLarge, WireError

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Entry = tuple[str, str, bytes, int, int]
    """Path below the folder; ``file``, ``folder`` or ``gone``; content; mode; time of change in ns."""

_LISTS = r"\b(listdir|scandir|f?walk|[ir]?glob|iterdir|copytree|make_archive|zipfile|ZipFile|tarfile|connect)\b"
"""By which tests find files that they do not name."""
_STATS = r"\b([lf]?stat|st_\w+|getsize|get[acm]time|utime|chmod|access|umask|disk_usage)\b"
"""By which tests ask for what of a file is not its content."""
FILES = "truegrade_files"
"""The function of a program's process that a call goes through where files cross."""
MAX_ENTRIES = 2000
"""Files and folders in a working folder; the names of more cost more than the tests."""
MAX_BYTES = 32 << 20
"""Of the files in one message."""


class Mirror:
    """One side of a folder that exists twice: this process's working folder."""

    def __init__(self, *, keeps: bool = False) -> None:
        self._root = os.getcwd()  # noqa: PTH109
        self._device = os.stat(self._root).st_dev  # noqa: PTH116 - `pathlib` is not loaded in a program's process
        self._known = {path: _version(status) for path, status in self._entries()}
        self._keeps = keeps
        self._own: dict[str, int] = {"": 0}
        """Of files and folders that this side made, the number of each: their names may be random."""
        self._written: set[str] = set()
        """Those that it wrote to."""
        self._tie: Callable[[bytes], None] | None = None
        self._tests, self._stats, self._finds = "", False, False

    def watch(self, tie: Callable[[bytes], None], tests: str) -> None:
        """Have ``tie`` told what the other side changes; what these tests do not ask for, no verdict hangs on."""
        import re  # of the tests' side alone

        self._tie, self._tests = tie, tests
        self._stats = re.search(_STATS, tests) is not None
        self._finds = self._stats or re.search(_LISTS, tests) is not None

    def changes(self) -> list[Entry]:
        """What this side changed since the last message, what is gone first, folders before what they hold.

        Raises:
            ValueTooLarge: more than `MAX_ENTRIES` or `MAX_BYTES`.
        """
        found = dict(self._entries())
        gone = [path for path in self._known if path not in found]
        said: list[Entry] = [(path, "gone", b"", 0, 0) for path in sorted(gone, reverse=True)]
        self._written.difference_update(gone)
        room = MAX_BYTES
        for path, status in found.items():
            if self._known.get(path) == _version(status):
                continue
            folder = stat.S_ISDIR(status.st_mode)
            content = b"" if folder else self._content(path, room)
            room -= len(content)
            kind = "folder" if folder else "file"
            self._own.setdefault(path, len(self._own))
            self._written.update([path] if content else [])
            said.append((path, kind, content, stat.S_IMODE(status.st_mode), status.st_mtime_ns))
        self._known = {path: _version(status) for path, status in found.items()}
        return said

    def apply(self, entries: list[Entry]) -> None:
        """Make the other side's changes here.

        Raises:
            WireError: they are none that the other side can have made.
            ValueTooLarge: there is no room for them.
        """
        for entry in entries:
            if type(entry) is not tuple or [*map(type, entry)] != [str, str, bytes, int, int]:
                raise WireError("a changed file of no known form")
            path, kind, content, mode, changed_ns = entry
            place = self._place(path)
            if self._tie is not None:
                self._note(path, kind, content, mode)
            try:
                if kind == "gone":
                    _remove(place)
                    self._known.pop(path, None)
                    continue
                if kind == "folder":
                    os.makedirs(place, exist_ok=True)  # noqa: PTH103
                else:
                    _write(place, content)
                os.chmod(place, mode & 0o777, follow_symlinks=os.chmod not in os.supports_follow_symlinks)  # noqa: PTH101
                os.utime(place, ns=(changed_ns, changed_ns))
                self._known[path] = _version(os.lstat(place))
            except (OSError, OverflowError, ValueError) as error:
                raise ValueTooLarge(
                    f"a file that cannot be laid beside the tests: {type(error).__name__}"
                ) from None

    def _note(self, path: str, kind: str, content: bytes, mode: int) -> None:
        """Say what the other side changed, without what is its own to choose: what is in its files, and times."""
        assert self._tie is not None, "somebody takes note"
        if path not in self._own:
            if not self._finds and path.rpartition("/")[2] not in self._tests:
                return
        elif kind == "file" and not self._stats and self._content(path, MAX_BYTES) == content:
            return
        above, below = path, ""
        while above not in self._own:
            above, _, name = above.rpartition("/")
            below = f"{name}/{below}"
        said = content if path in self._written else b"" if kind == "folder" or not content else b"..."
        noted = self._own[above], below, kind, mode & 0o777 if self._stats else 0, said
        self._tie(repr(noted).encode("utf-8", "surrogatepass"))

    def answered(self, answer: Any) -> Any:
        """What a call returned, of an answer by `MirroredCalls`; the other side's changes are made here.

        Raises:
            WireError, ValueTooLarge: as `apply`.
        """
        if type(answer) is bytes:
            return answer
        if type(answer) is not tuple or len(answer) != 2 or type(answer[1]) is not list:
            raise WireError("an answer without the files that changed")
        if not self._keeps:
            self.apply(answer[1])
        return answer[0]

    def _entries(self) -> Iterator[tuple[str, os.stat_result]]:
        """Files and folders below the root that are its own, folders first."""
        pending, count = [""], 0
        while pending:
            folder = pending.pop()
            try:
                names = sorted(os.listdir(f"{self._root}/{folder}"))  # noqa: PTH208
            except OSError:
                continue
            for name in names:
                path = f"{folder}/{name}" if folder else name
                try:
                    status = os.lstat(f"{self._root}/{path}")
                except OSError:
                    continue
                if status.st_dev != self._device or not (
                    stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)
                ):
                    continue
                count += 1
                if count > MAX_ENTRIES:
                    raise ValueTooLarge(f"more than {MAX_ENTRIES} files")
                yield path, status
                if stat.S_ISDIR(status.st_mode):
                    pending.append(path)

    def _content(self, path: str, room: int) -> bytes:
        try:
            with open(f"{self._root}/{path}", "rb") as file:  # noqa: PTH123
                content = file.read(room + 1)
        except OSError:
            return b""
        if len(content) > room:
            raise ValueTooLarge(f"files of more than {MAX_BYTES} bytes")
        return content

    def _place(self, path: str) -> str:
        """Where a path lies here.

        Raises:
            WireError: outside the folder, or behind a link.
        """
        parts = path.split("/")
        if "\0" in path or not {"", ".", ".."}.isdisjoint(parts) or len(path) > 1000:
            raise WireError("a changed file outside the working folder")
        place = self._root
        for part in parts:
            place = f"{place}/{part}"
            if os.path.islink(place):  # noqa: PTH114
                raise WireError("a changed file behind a link")
        return place


class MirroredCalls:
    """The program's side: makes the tests' changes, calls, and adds its own changes to the answer.

    Args:
        functions: by the names that are called.
        mirror: of the program's working folder.
    """

    def __init__(self, functions: dict[str, Any], mirror: Mirror) -> None:
        self._functions, self._mirror = functions, mirror

    def perform(self, changed: list[Entry], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the call returns, and the changes, unless it is bytes and there are none; raises what it raises."""
        self._mirror.apply(changed)
        if name not in self._functions:
            raise NameError(f"name {name!r} is not defined")
        value = self._functions[name](*args, **kwargs)
        changes = self._mirror.changes()
        return value if type(value) is bytes and not changes else (value, changes)


def _version(status: os.stat_result) -> tuple[int, ...]:
    """What differs once a file has changed; of a folder its mode alone, since files in it speak for themselves."""
    if stat.S_ISDIR(status.st_mode):
        return (stat.S_IMODE(status.st_mode),)
    return (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino)


def _write(place: str, content: bytes) -> None:
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(handle, "wb") as file:  # noqa: PTH123
        file.write(content)


def _remove(place: str) -> None:
    try:
        if os.path.isdir(place):  # noqa: PTH112
            try:
                os.rmdir(place)  # noqa: PTH106
            except OSError:  # what is in it is not the other side's
                import shutil

                shutil.rmtree(place)
        else:
            os.unlink(place)  # noqa: PTH108
    except FileNotFoundError:
        return
