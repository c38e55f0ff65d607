"""The directory programs run in where they have no file system of their own."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from truegrade.sandbox.sweep import empty


def make_scratch() -> Path:
    """A new empty directory that only this user can enter."""
    return Path(tempfile.mkdtemp(prefix="truegrade-"))


def remove_scratch(root: Path) -> None:
    """Remove the directory and everything in it.

    Not covered: files that a process which outlived the run keeps creating.
    """
    empty(str(root))
    with contextlib.suppress(OSError):
        root.rmdir()
