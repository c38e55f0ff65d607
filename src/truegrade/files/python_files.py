"""Python files that a user names: run once, faults told with their line, and remembered as named by the user.

What is remembered is the hash of every file that was named on this machine's command line or to its Python
interface, in ``truegrade/named-files`` of ``XDG_STATE_HOME`` or ``~/.local/state``. A run's folder may come from
elsewhere and name a file, or hold one: such a file is run only if its hash stands there (`was_named`).
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from pathlib import Path
from traceback import walk_tb
from types import ModuleType

from truegrade.errors import BadRecord, UserError

REMEMBERED = "named-files"


def read_source(path: Path) -> tuple[bytes, str]:
    """The bytes of a file and their SHA-256.

    Raises:
        UserError: there is no such file, or it cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise UserError(f"{path}: {why}; check the path") from None
    return content, hashlib.sha256(content).hexdigest()


def run_source(path: Path, content: bytes, digest: str) -> ModuleType:
    """The module that a file's bytes make; the same bytes under the same path are run once a process.

    The bytes are compiled as they were hashed: Python's own loader would read the file, or its cache, again.

    Raises:
        BadRecord: running it raised something; names the line of the file.
    """
    name = f"truegrade_file_{hashlib.sha256(f'{path.resolve()} {digest}'.encode()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # records and dataclasses look their annotations up there
    try:
        exec(compile(content, str(path), "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        said = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
        raise BadRecord(
            path, f"raised {type(error).__name__}: {said}; correct it", line=_line(path, error)
        ) from error
    return module


def _line(path: Path, error: BaseException) -> int | None:
    """The line of the file on which something was raised, or that cannot be parsed."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == str(path)]
    return lines[-1] if lines else None


def remember(path: Path, digest: str) -> None:
    """Note that the user named this file. Where nothing can be noted, it has to be named again."""
    if not was_named(digest):
        with suppress(OSError):
            _remembered().parent.mkdir(parents=True, exist_ok=True)
            with _remembered().open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{digest}  {str(path.resolve())!r}\n")  # a line, whatever the path holds


def was_named(digest: str) -> bool:
    """Whether the user of this machine has named a file of these bytes before."""
    try:
        lines = _remembered().read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return digest in {line.partition(" ")[0] for line in lines}


def _remembered() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "truegrade" / REMEMBERED
