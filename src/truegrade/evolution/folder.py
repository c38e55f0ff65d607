"""The folder of an evolution: opened for one process at a time, never mixed with another evolution's."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from truegrade.errors import UserError
from truegrade.evolution.events import (
    ANCHORS,
    CLOCK,
    EVENTS,
    EVOLUTION,
    FINAL,
    Anchor,
    Clock,
    Event,
    Evolution,
    Final,
)
from truegrade.files.json_text import encode, read_json
from truegrade.registry import refuse_another_file
from truegrade.store.folder_lock import alone_in
from truegrade.store.journal import Journal, Notice, ignore, read_journal
from truegrade.store.manifest import write_atomically

_LOCK = "evolution.lock"
BEST = "best"
_ADVICE = "is it what an evolution wrote?"


class EvolutionFolder:
    """Reads and appends.

    Args:
        path: of the folder.
        notice: told of torn lines and changed versions.
    """

    def __init__(self, path: Path, *, notice: Notice = ignore) -> None:
        self.path, self.notice = path, notice

    def locked(self) -> AbstractContextManager[None]:
        """Alone with the folder; the lock goes with its process, however that ends.

        Raises:
            UserError: another process is at work in it, or it cannot be made.
        """
        return alone_in(self.path, _LOCK, "evolving")

    def begin(self, evolution: Evolution) -> None:
        """Write down what this evolution is, or see that it is the one that began here.

        Raises:
            UserError: another one began here.
            NotComparable: a searcher's file is another than it was.
        """
        path = self.path / EVOLUTION
        if not path.exists():
            self.write(EVOLUTION, evolution)
            return
        before = read_json(path, Evolution, _ADVICE)
        for what, old, new in (
            ("settings", before.settings_sha256, evolution.settings_sha256),
            ("base model", before.base_sha256, evolution.base_sha256),
            ("problems", before.roles, evolution.roles),
        ):
            if old != new:
                raise UserError(
                    f"{self.path} holds another evolution: its {what} differ; resume it as it began, or begin this"
                    " one in a folder of its own (evaluations of the final problems are counted over all folders)"
                )
        for name, origin in (before.origins or {}).items():
            refuse_another_file(str(self.path), origin, (evolution.origins or {}).get(name))
        for name, version in evolution.versions.items():
            if before.versions.get(name) != version:
                began = before.versions.get(name, "absent")
                self.notice(f"{name} is {version}, and was {began} when this began: adapters may differ in bits")

    def anchors(self) -> list[Anchor]:
        """Those scored so far."""
        return list(read_journal(self.path / ANCHORS, Anchor, notice=self.notice))

    def events(self) -> list[Event]:
        """Every evaluation so far, in order."""
        return list(read_journal(self.path / EVENTS, Event, notice=self.notice))

    def append_anchors(self) -> Journal[Anchor]:
        """Open the journal of anchors; every line is on the disk before the next."""
        return Journal(self.path / ANCHORS, notice=self.notice, fsync_every=1)

    def append_events(self) -> Journal[Event]:
        """Open the journal of evaluations; every line is on the disk before the next."""
        return Journal(self.path / EVENTS, notice=self.notice, fsync_every=1)

    def append_clock(self) -> Journal[Clock]:
        """Open the journal of times."""
        return Journal(self.path / CLOCK, notice=self.notice)

    def final(self) -> Final | None:
        """The final report, if it was made."""
        path = self.path / FINAL
        return read_json(path, Final, _ADVICE) if path.exists() else None

    def write(self, name: str, content: object) -> None:
        """Write a JSON file in one step."""
        write_atomically(self.path / name, encode(content, indent=2) + b"\n")
