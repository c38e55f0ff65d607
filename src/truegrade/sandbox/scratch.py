"""The directory programs run in where they have no file system of their own."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from truegrade.errors import SandboxError
from truegrade.sandbox.sweep import empty


def make_scratch() -> Path:
    """A new empty directory that only this user can enter.

    Raises:
        SandboxError: no directory for temporary files can be written, as in a container with a read-only root.
    """
    try:
        return Path(tempfile.mkdtemp(prefix="truegrade-"))
    except OSError as error:
        raise SandboxError(
            f"programs have nowhere to write: {error.strerror}; set TMPDIR to a directory that can be written "
            "(in a read-only container: `--tmpfs /tmp`)"
        ) from error


def remove_scratch(root: Path) -> None:
    """Remove the directory and everything in it.

    Not covered: files that a process which outlived the run keeps creating.
    """
    empty(str(root))
    with contextlib.suppress(OSError):
        root.rmdir()
