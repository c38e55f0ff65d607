"""The interface through which an evolution reports progress."""

from __future__ import annotations

from typing import Protocol

from truegrade.evolution.archive import Archive
from truegrade.evolution.events import Clock, Event


class SearchWatcher(Protocol):
    """Watches; a terminal and the silence of scripts both fit."""

    def stage(self, sentence: str) -> None:
        """Something begins that has no steps to count."""

    def search(self, name: str, replicate: int, done: int, total: int) -> None:
        """A search begins, or goes on after ``done`` of ``total`` evaluations of the whole evolution."""

    def evaluated(self, event: Event, clock: Clock, archive: Archive) -> None:
        """A genome was evaluated; the archive has it already."""

    def finish(self) -> None:
        """Nothing follows."""


class Unwatched:
    """Shows nothing."""

    def stage(self, sentence: str) -> None:
        """Show nothing."""

    def search(self, name: str, replicate: int, done: int, total: int) -> None:
        """Show nothing."""

    def evaluated(self, event: Event, clock: Clock, archive: Archive) -> None:
        """Show nothing."""

    def finish(self) -> None:
        """Show nothing."""
