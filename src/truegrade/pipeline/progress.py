"""How far a stage is, told to whoever watches."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Watches a stage; the terminal's bar and the silence of scripts both fit."""

    def start(self, stage: str, total: int, done: int) -> None:
        """A stage begins; ``done`` of ``total`` were finished earlier."""

    def beside(self) -> Progress:
        """What watches another stage at the same time, perhaps from another thread."""

    def advance(self, *, cost_usd: float | None = None, failed: bool = False) -> None:
        """One more is finished."""

    def finish(self) -> None:
        """The stage is over."""
