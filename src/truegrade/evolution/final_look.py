"""The final problems are evaluated once: each access to the test split is logged first.

The record lies in the folder of the search and, so that another folder is no way round it, in the user's ledger. A
further evaluation has to be asked for; it is counted, and its intervals are corrected for the count.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

import msgspec

from truegrade.errors import UserError
from truegrade.store.journal import Journal, Notice, ignore, read_journal
from truegrade.store.manifest import now

FILE = "final-looks.jsonl"
_LOCK = "final-looks.lock"

FAMILY_ERROR = 0.05
"""Probability, at most, that any of the intervals of several evaluations of the same problems misses its value."""
SHARED = 0.1
"""Share of the smaller of two sets of final problems from which on they count as the same problems: two draws of
micro-repair by different seeds share about 3 %."""


class FinalLook(msgspec.Struct, frozen=True, kw_only=True):
    """One access to the final problems."""

    subject: str
    """Hash of what is evaluated: adapters, problems, sampling. The same subject again is a resumption."""
    number: int
    """From 1, over all folders of the user; reports of later accesses state it and are corrected for it."""
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
    marks: tuple[str, ...] = ()
    """A short hash of each final problem with the base model, so that a part of the problems is recognised."""


class Ledger:
    """A user's accesses to final problems, over all folders of searches.

    Args:
        problems: hash of the final problems and of the base model of the search in question.
        settings: hash of its settings.
        marks: a hash of each of these problems with the base model; sets that share a tenth are one.
        path: the ledger; None for the usual one.
        notice: told of a torn line, and where the ledger cannot be written.
    """

    def __init__(
        self,
        problems: str,
        settings: str,
        *,
        marks: Collection[str] = (),
        path: Path | None = None,
        notice: Notice = ignore,
    ) -> None:
        self.problems, self.settings, self.marks = problems, settings, frozenset(marks)
        self.path, self.notice = path or ledger_path(), notice

    def looks(self) -> list[LedgerLine]:
        """The accesses to these problems in order, each subject once."""
        lines = read_journal(self.path, LedgerLine, notice=self.notice) if self.path.exists() else ()
        first: dict[str, LedgerLine] = {}
        for line in lines:
            if line.problems == self.problems or self._shares(line):
                first.setdefault(line.subject, line)
        return list(first.values())

    def _shares(self, line: LedgerLine) -> bool:
        shared = len(self.marks & set(line.marks))
        return shared > 0 and shared >= SHARED * min(len(self.marks), len(line.marks))

    def refuse_other(self) -> None:
        """Check, before training, that no other search has accessed these problems.

        Raises:
            UserError: one has.
        """
        found = self.looks()
        others = [line for line in found if line.settings != self.settings]
        if others and len(others) == len(found):
            raise UserError(_refusal(others[0].folder, others[0].created, len(found) + 1))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from logging an access meanwhile, where the ledger can be written."""
        with ExitStack() as stack:
            with suppress(OSError):  # `note` says so
                self.path.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(_locked(self.path.parent / _LOCK))
            yield

    def note(self, subject: str, folder: Path) -> None:
        """Log an access; the caller is `alone`."""
        line = LedgerLine(
            problems=self.problems, settings=self.settings, subject=subject, folder=str(folder.resolve()),
            created=now(), marks=tuple(sorted(self.marks)),
        )  # fmt: skip
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with Journal[LedgerLine](self.path, notice=self.notice, fsync_every=1) as journal:
                journal.append(line)
        except (OSError, UserError) as error:
            self.notice(f"{self.path}: the access to the final problems cannot be logged there ({error})")


def ledger_path() -> Path:
    """``final-looks.jsonl`` in ``truegrade`` of ``XDG_STATE_HOME`` or ``~/.local/state``."""
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "truegrade" / FILE


def corrected_confidence(look: int) -> float:
    """Confidence of every interval of the look-th evaluation, after Bonferroni: 1 - 0.05 / look."""
    return 1 - FAMILY_ERROR / look


def corrected_p(p_value: float, look: int) -> float:
    """A p-value of the look-th evaluation, after Bonferroni."""
    return min(1.0, look * p_value)


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
    with _locked(folder / _LOCK), ledger.alone() if ledger else nullcontext():
        own = {look.subject: look for look in looks(folder, notice=notice)}
        if subject in own:
            return own[subject]
        before = {line.subject: (line.folder, line.created) for line in (ledger.looks() if ledger else ())}
        for look in own.values():
            before.setdefault(look.subject, (str(folder), look.created))
        others = [place for other, place in before.items() if other != subject]
        number = [*before, subject].index(subject) + 1
        if others and subject not in before and not again:
            raise UserError(_refusal(*others[0], number))
        look = FinalLook(subject=subject, number=number, created=now())
        if number > 1:
            notice(
                f"{folder}: evaluation {number} of these final problems; the report says so, and its intervals"
                f" have {100 * corrected_confidence(number):.4g} % confidence"
            )
        if ledger is not None:
            ledger.note(subject, folder)
        with Journal[FinalLook](folder / FILE, notice=notice, fsync_every=1) as journal:
            journal.append(look)
        return look


def _refusal(folder: str, created: str, number: int) -> str:
    return (
        f"the final problems were already evaluated on {created} for another result, in {folder}, so this choice"
        " may depend on what they showed: report that result; to evaluate them once more nevertheless, give"
        f" `again=True`, which counts evaluation {number}, says so in the report and widens its intervals to"
        f" {100 * corrected_confidence(number):.4g} % confidence"
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
