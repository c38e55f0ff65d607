"""What a full disk or a folder without rights becomes: one sentence, as for any other wrong input."""

from __future__ import annotations

import base64
import errno
import hashlib
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from urllib.parse import unquote, unquote_plus

from truegrade.errors import BadRecord, UserError


class writing:  # noqa: N801 - a class for its speed: it surrounds each record that a journal appends
    """Name the file that could not be written.

    Raises:
        UserError: the disk is full, or the file or folder may not be written to.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OSError):
            raise UserError(
                f"{self._path}: cannot be written ({error.strerror or error}); make room, or choose a folder that"
                " may be written to with `out`. What was stored before is kept, and the same command goes on from"
                " there"
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


# ----------------------------------------------------------------------------------------------------------------
# Python files that a user names: run once, faults told with their line, and remembered as named by the user.
# What is remembered is the hash of every file that was named on this machine's command line or to its Python
# interface, in ``truegrade/named-files`` of ``XDG_STATE_HOME`` or ``~/.local/state``. A run's folder may come
# from elsewhere and name a file, or hold one: such a file is run only if its hash stands there (`was_named`).


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
        words = said if isinstance(error, UserError) else f"raised {type(error).__name__}: {said}; correct it"
        raise BadRecord(path, words, line=_line(path, error)) from error
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


# ----------------------------------------------------------------------------------------------------------------
# Addresses of services that may hold a key: what of them may be stored and shown, and what their keys are.


_USER = re.compile(r"(?P<scheme>\w+://)(?P<user>[^\s/?#]*)@")
_VALUE = re.compile(r"(?P<name>[?&](?!api-version=)[^=&\s#]*=)(?P<value>[^&\s#]+)")
"""A value of a query; a version of an interface (Azure's) is none to hide."""
HIDDEN = "[key]"


def without_keys(text: str) -> str:
    """An address, or a text with addresses, without user, password and values of queries."""
    if "://" not in text:
        return text
    return _VALUE.sub(rf"\g<name>{HIDDEN}", _USER.sub(r"\g<scheme>", text))


def keys_in(address: str) -> tuple[str, ...]:
    """What an address holds that may not be shown, in every form in which a service can echo it; longest first."""
    found: set[str] = set()
    for match in _USER.finditer(address):
        user = unquote(match["user"])
        found |= {match["user"], user, match["user"].partition(":")[2], user.partition(":")[2]}
        found.add(base64.b64encode(user.encode()).decode())  # of the header ``Authorization: Basic``
    for match in _VALUE.finditer(address):
        found |= {match["value"], unquote_plus(match["value"])}
    return tuple(sorted(found - {""}, key=len, reverse=True))
