"""Files of a repository's snapshot: a git directory without a work tree, or a folder."""

from __future__ import annotations

import os
import posixpath
import subprocess
from pathlib import Path
from types import TracebackType

_LINK = "120000"


class Snapshot:
    """Reads files of a commit, or of a folder; nothing of it is run.

    Args:
        path: a git directory (bare or ``.git``), or a folder that holds the files themselves.
        revision: of a git directory.

    Raises:
        OSError: there is no such folder, or git cannot read it.
    """

    def __init__(self, path: Path, revision: str = "HEAD") -> None:
        if not path.is_dir():
            raise OSError(f"there is no folder {path}")
        self.path, self._revision = path, revision
        self._git = (path / "objects").is_dir() and (path / "HEAD").is_file()
        self._batch: subprocess.Popen[bytes] | None = None
        self._entries = self._listed() if self._git else self._walked()
        """Path to mode, blob and bytes; the first two empty of a folder."""

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._batch is not None:
            self._batch.communicate()

    @property
    def paths(self) -> list[str]:
        """Of every file and link, sorted, with slashes."""
        return sorted(self._entries)

    @property
    def commit(self) -> str:
        """Short name of the commit; empty of a folder."""
        if not self._git:
            return ""
        return self._run("rev-parse", "--short", self._revision).decode().strip()

    def read(self, path: str) -> bytes | None:
        """A file's content, through links; None where the snapshot lacks it."""
        for _ in range(9):
            entry = self._entries.get(path)
            if entry is None:
                return None
            if not self._git:
                file = self.path / path
                return file.read_bytes() if file.is_file() else None
            mode, blob, _ = entry
            content = self._blob(blob)
            if mode != _LINK or content is None:
                return content
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), content.decode()))
        return None

    def size(self, path: str) -> int:
        """Bytes of a file, of a link those of its text; 0 where the snapshot lacks it."""
        return self._entries[path][2] if path in self._entries else 0

    def text(self, path: str) -> str | None:
        """A file's content as UTF-8, what is none replaced; None where the snapshot lacks it."""
        content = self.read(path)
        return None if content is None else content.decode("utf-8", "replace")

    def _run(self, *arguments: str) -> bytes:
        command = ["git", f"--git-dir={self.path}", *arguments]
        done = subprocess.run(command, capture_output=True, check=False, env=_environment())
        if done.returncode:
            raise OSError(f"{self.path}: {done.stderr.decode('utf-8', 'replace').strip()}")
        return done.stdout

    def _listed(self) -> dict[str, tuple[str, str, int]]:
        listed = {}
        for line in self._run("ls-tree", "-r", "-l", "-z", self._revision).decode("utf-8", "replace").split("\0"):
            if line:
                facts, _, path = line.partition("\t")
                mode, kind, blob, size = facts.split()
                if kind == "blob":
                    listed[path] = (mode, blob, int(size) if size.isdecimal() else 0)
        return listed

    def _walked(self) -> dict[str, tuple[str, str, int]]:
        walked = {}
        for folder, folders, names in os.walk(self.path):
            folders[:] = [name for name in folders if name != ".git"]
            for name in names:
                file = Path(folder, name)
                size = file.stat().st_size if file.is_file() else 0
                walked[file.relative_to(self.path).as_posix()] = ("", "", size)
        return walked

    def _blob(self, blob: str) -> bytes | None:
        """A blob, None where it is absent: the largest files of a snapshot may be."""
        if self._batch is None:
            command = ["git", f"--git-dir={self.path}", "cat-file", "--batch"]
            self._batch = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment()
            )
        assert self._batch.stdin is not None and self._batch.stdout is not None
        self._batch.stdin.write(blob.encode() + b"\n")
        self._batch.stdin.flush()
        head = self._batch.stdout.readline().split()
        if len(head) < 3:
            return None
        content = self._batch.stdout.read(int(head[2]))
        self._batch.stdout.read(1)
        return content


def _environment() -> dict[str, str]:
    """Nothing is fetched that the snapshot lacks."""
    return {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
