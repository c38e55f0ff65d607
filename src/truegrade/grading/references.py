"""What the reference programs of data sets show: found once a machine, and kept out of the reach of programs."""

from __future__ import annotations

import hashlib
import marshal
import os
import platform
import sys
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any, Generic, TypeVar

from truegrade.errors import UserError
from truegrade.files.kept import KeptOnDisk, LastKept, user_cache
from truegrade.grading.executor import Executor
from truegrade.records import OracleTask

Found = TypeVar("Found")

REFERENCES = "TRUEGRADE_REFERENCES"
"""Environment variable: the folder that keeps what references return."""
REFERENCES_MB = "TRUEGRADE_REFERENCES_MB"
"""Environment variable: most megabytes that it may hold; 0 keeps nothing on disk."""
_MOST_MB = 2000.0
_CONFINED = 2
"""The lowest protection level at which a program cannot open the user's files."""


def references_kept() -> KeptOnDisk:
    """Where outputs of references are kept: `REFERENCES`, else ``truegrade/references`` under ``XDG_CACHE_HOME``
    or ``~/.cache``.

    Raises:
        UserError: `REFERENCES_MB` is no number of megabytes.
    """
    given = os.environ.get(REFERENCES_MB) or _MOST_MB
    try:
        most = int(float(given) * 1e6)
    except (ValueError, OverflowError):
        raise UserError(f"{REFERENCES_MB} is {given!r}; write a number of megabytes, 0 to keep nothing") from None
    return KeptOnDisk(user_cache("references", REFERENCES), most)


class References(Generic[Found]):
    """What reference programs show, found once a machine; kept on disk, and in memory for those asked for last.

    On disk nothing is kept or looked for at protection level 1, where a program could read and write it.

    Args:
        find: runs the reference of a task.
        encode: of what was found.
        decode: what `encode` was given.
        kept: problems of which it stays in memory.
    """

    def __init__(
        self,
        find: Callable[[OracleTask, Executor], Found],
        encode: Callable[[Found], bytes],
        decode: Callable[[bytes], Found],
        kept: int = 32,
    ) -> None:
        self._find, self._encode, self._decode = find, encode, decode
        self._memory = LastKept[Found](kept)

    def of(self, key: str, task: OracleTask, executor: Executor) -> Found:
        """What the reference of a task shows; ``key`` identifies the problem.

        Raises:
            ReferenceFailed: the reference itself fails.
        """
        return self._memory.of(key, lambda: self._once_a_machine(task, executor))

    def _once_a_machine(self, task: OracleTask, executor: Executor) -> Found:
        key = _key(self._find, task, executor) if executor.level >= _CONFINED else None
        if key is None:
            return self._find(task, executor)
        return self._decode(references_kept().of(key, lambda: self._encode(self._find(task, executor))))


def _key(find: Callable[..., Any], task: OracleTask, executor: Executor) -> str | None:
    """Hash of all on which depends what a reference shows; None where inputs have no bytes of their own."""
    decides = [
        *(find.__module__, find.__qualname__, _own_code(), executor.conditions),
        *(sys.implementation.name, platform.python_version(), platform.machine()),
        *(task.reference, task.entry_point, task.base_inputs, task.plus_inputs),
        *(task.comparator, task.atol, task.cpu_s),
    ]
    try:
        return hashlib.sha256(marshal.dumps(decides, 2)).hexdigest()  # of the version without references
    except ValueError:
        return None


_MODULES = ("references.py", "functions.py", "evalplus.py")


@cache
def _own_code() -> str:
    """Hash of the modules that make something of what a reference returns."""
    sources = [files("truegrade.grading").joinpath(name).read_bytes() for name in _MODULES]
    return hashlib.sha256(b"".join(sources)).hexdigest()
