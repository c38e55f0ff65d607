"""What a full disk or a folder without rights becomes: one sentence, as for any other wrong input."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from truegrade.errors import UserError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file that could not be written.

    Raises:
        UserError: the disk is full, or the file or folder may not be written to.
    """
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written ({error.strerror or error}); make room, or choose a folder that may be"
            " written to with --out. What was stored before is kept, and the same command goes on from there"
        ) from error
