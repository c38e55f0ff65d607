"""What a full disk or a folder without rights becomes: one sentence, as for any other wrong input."""

from __future__ import annotations

import errno
import os
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
            " written to with `out`. What was stored before is kept, and the same command goes on from there"
        ) from error


def require_writable(folder: Path) -> None:
    """See that files can be made in a folder, or the folder itself where it is not there yet; nothing is made.

    Raises:
        UserError: they cannot; the message names the folder that forbids it.
    """
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise UserError(f"{nearest}: is a file, not a folder; choose another `out`")
    with writing(nearest):
        if not os.access(nearest, os.W_OK | os.X_OK):
            reason = errno.EROFS if os.statvfs(nearest).f_flag & os.ST_RDONLY else errno.EACCES
            raise OSError(reason, os.strerror(reason))
