"""One process at a time in a folder of results."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from truegrade.errors import UserError
from truegrade.files import run_log


@contextmanager
def alone_in(folder: Path, lock: str, doing: str) -> Iterator[None]:
    """Alone with a folder, which is made if missing; the lock goes with its process, however that ends.

    Args:
        folder: of the results; it gets the log of what is done meanwhile.
        lock: name of the file in it that is locked.
        doing: what another process that holds the lock is doing, for the message.

    Raises:
        UserError: another process is at work in it, or it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / lock).open("a")
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}; choose another `out`") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{folder}: another process is {doing} there; wait, or choose another `out`") from None
        run_log.begin(folder)
        yield
