"""The final problems are evaluated once: each access to the test split is logged first.

The record lies in the folder of the search and, so that another folder is no way round it, in the user's ledger.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from truegrade.errors import UserError
from truegrade.store.journal import Journal, Notice, ignore, read_journal
from truegrade.store.manifest import now

FILE = "final-looks.jsonl"
_LOCK = "final-looks.lock"


class FinalLook(msgspec.Struct, frozen=True, kw_only=True):
    """One access to the final problems."""

    subject: str
    """Hash of what is evaluated: adapters, problems, sampling. The same subject again is a resumption."""
    number: int
    """From 1; reports of later accesses state the number, because choices may have been made after the first."""
    created: str
    """UTC, ISO 8601."""


class LedgerLine(msgspec.Struct, frozen=True, kw_only=True):
    """One access, as the ledger records it."""

    problems: str
    """Hash of the final problems and of the base model."""
    settings: str
    """Hash of the settings of the search."""
    subject: str
    """As `FinalLook.subject`."""
    folder: str
    created: str
    """UTC, ISO 8601."""


class Ledger:
    """A user's accesses to final problems, over all folders of searches.

    Args:
        problems: hash of the final problems and of the base model of the search in question.
        settings: hash of its settings.
        path: the ledger; None for the usual one.
        notice: told of a torn line, and where the ledger cannot be written.
    """

    def __init__(self, problems: str, settings: str, *, path: Path | None = None, notice: Notice = ignore) -> None:
        self.problems, self.settings = problems, settings
        self.path, self.notice = path or ledger_path(), notice

    def looks(self) -> list[LedgerLine]:
        """The accesses to these problems in order, each subject once."""
        lines = read_journal(self.path, LedgerLine, notice=self.notice) if self.path.exists() else ()
        first: dict[str, LedgerLine] = {}
        for line in lines:
            if line.problems == self.problems:
                first.setdefault(line.subject, line)
        return list(first.values())

    def refuse_other(self) -> None:
        """Check, before training, that no other search has accessed these problems.

        Raises:
            UserError: one has.
        """
        for line in self.looks():
            if line.settings != self.settings:
                raise UserError(_refusal(line.folder, line.created))

    def note(self, subject: str, folder: Path) -> None:
        """Log an access."""
        line = LedgerLine(
            problems=self.problems, settings=self.settings, subject=subject, folder=str(folder.resolve()),
            created=now(),
        )  # fmt: skip
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with (
                _locked(self.path.parent / _LOCK),
                Journal[LedgerLine](self.path, notice=self.notice, fsync_every=1) as journal,
            ):
                journal.append(line)
        except (OSError, UserError) as error:
            self.notice(f"{self.path}: the access to the final problems cannot be logged there ({error})")


def ledger_path() -> Path:
    """``final-looks.jsonl`` in ``truegrade`` of ``XDG_STATE_HOME`` or ``~/.local/state``."""
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "truegrade" / FILE


def look_at_final(
    folder: Path, subject: str, *, ledger: Ledger | None = None, again: bool = False, notice: Notice = ignore
) -> FinalLook:
    """Log an access; it is on disk before this returns.

    A killed report asks with the same subject and goes on: what it scores was decided before the first look. So
    does the same search in another folder: it has chosen the same.

    Args:
        folder: of the search.
        subject: hash of what is to be evaluated.
        ledger: the user's looks at the same problems from other folders; None to count this folder's alone.
        again: whether another subject may be looked at after the first.
        notice: told of a torn line, and of a second look.

    Raises:
        UserError: something else was looked at before, and ``again`` is not given.
        BadRecord: the record of the looks is damaged.
    """
    with _locked(folder / _LOCK):
        own = {look.subject: look for look in looks(folder, notice=notice)}
        if subject in own:
            return own[subject]
        before = {look.subject: (str(folder), look.created) for look in own.values()}
        for line in ledger.looks() if ledger else ():
            before.setdefault(line.subject, (line.folder, line.created))
        others = [place for other, place in before.items() if other != subject]
        if others and not again:
            raise UserError(_refusal(*others[0]))
        number = [*before, subject].index(subject) + 1
        look = FinalLook(subject=subject, number=number, created=now())
        if number > 1:
            notice(f"{folder}: evaluation {number} of the final problems; the report states this")
        if ledger is not None:
            ledger.note(subject, folder)
        with Journal[FinalLook](folder / FILE, notice=notice, fsync_every=1) as journal:
            journal.append(look)
        return look


def _refusal(folder: str, created: str) -> str:
    return (
        f"the final problems were already evaluated on {created} for another result, in {folder}, so a new choice"
        " may depend on them; report that result, search with another seed, or give `again=True`, which marks the"
        " report"
    )


def looks(folder: Path, *, notice: Notice = ignore) -> tuple[FinalLook, ...]:
    """All accesses so far, in order."""
    return tuple(read_journal(folder / FILE, FinalLook, notice=notice))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Alone with the record of the looks; the lock goes with its process, however that ends."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
