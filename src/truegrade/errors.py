"""What can go wrong, split by what the caller can do about it.

    TruegradeError              everything below
    ├── UserError               the input is at fault: one line, exit code 2
    │   ├── BadRecord           a line or field of a file does not hold what it must
    │   ├── UnknownName         no benchmark, profile, model, ... of that name
    │   │   └── RemovedName     an earlier version had it
    │   ├── DataMissing         the data of a benchmark are not on this machine
    │   └── NotComparable       two runs that must not be compared
    ├── ModelError              a model service failed after all attempts
    └── SandboxError            the machine that runs programs failed, not the program

A failed sample is a record, never an exception: only what stops a whole command is raised.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from traceback import extract_tb

SHOWN_NAMES = 20
"""Known names that a message lists before it says how many more there are."""


def first_few(names: Sequence[str], shown: int) -> str:
    """The first names, and how many more there are."""
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f", and {more} more" if more > 0 else "")


def raised(error: BaseException) -> str:
    """What a person needs to find a fault: the exception and where it was raised."""
    place = extract_tb(error.__traceback__)[-1]
    message = " ".join(str(error)[:300].split())
    return f"{type(error).__name__}: {message} ({Path(place.filename).name}, line {place.lineno})"


class TruegradeError(Exception):
    """Base of every error that Truegrade raises on purpose."""


class UserError(TruegradeError):
    """The input is at fault; the message names it and says what to do.

    Messages, those of the other errors and of notices too, name an argument as Python has it, between backquotes:
    `` `limit` ``, or with a truth value, `` `allow_unsafe=True` ``. The command line prints its option instead.
    """


class BadRecord(UserError):
    """A file does not hold what it must.

    Args:
        path: the file.
        problem: what is wrong and what to do, as a sentence.
        line: 1-based line number, if the file has lines.
        field: dotted name of the field, if one is at fault.
    """

    def __init__(self, path: object, problem: str, *, line: int | None = None, field: str | None = None) -> None:
        self.path, self.line, self.field = str(path), line, field
        place = str(path)
        if line is not None:
            place += f", line {line}"
        if field is not None:
            place += f", field {field!r}"
        super().__init__(f"{place}: {problem}")


class UnknownName(UserError):
    """No such benchmark, profile, model or option; the message offers the closest names.

    Args:
        kind: what was looked up, e.g. ``"profile"``.
        name: the name that is not known.
        known: the names that are.
        hint: a closing sentence, e.g. which command lists them all.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        close = get_close_matches(name, self.known, n=3, cutoff=0.5)
        if close:
            guess = f"did you mean {' or '.join(close)}?{' ' + hint if hint else ''}"
        else:
            guess = f"known: {first_few(self.known, SHOWN_NAMES)}" if self.known else "none is known"
            guess += f" ({hint})" if hint else ""
        super().__init__(f"no {kind} {name!r}; {guess}")


_STILL_READ = "runs that name it are still read and shown, and nothing is asked or graded with it anew"


class RemovedName(UnknownName):
    """An earlier version had it; what was made with it is still read and shown.

    Args:
        kind: what was looked up.
        name: its name.
        last: the last commit that has it.
        instead: what holds or is done instead, as a sentence ends.
    """

    def __init__(self, kind: str, name: str, last: str, instead: str = _STILL_READ) -> None:
        self.kind, self.name, self.known = kind, name, []
        said = f"this version has no {kind} {name!r} any more: commit {last} has it last"
        UserError.__init__(self, f"{said}; {instead}")


class DataMissing(UserError):
    """The data of a benchmark are not on this machine, or not where they should be; it says how to get them."""


class NotComparable(UserError):
    """Two runs differ in something that makes their numbers incomparable."""


class ModelError(TruegradeError):
    """A model service failed in a way that asking again does not mend."""


class SandboxError(TruegradeError):
    """The machinery that runs programs failed; never a verdict on the program."""
