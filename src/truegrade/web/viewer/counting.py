"""How far a run is, counted in its journals as they grow."""

from __future__ import annotations

import msgspec

from truegrade.web.viewer.following import Follower
from truegrade.web.viewer.run_folders import Folder


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How far a profile's grading is, counted in the journal; not an estimate."""

    profile: str
    graded: int
    passed: int


class _Asked(msgspec.Struct, frozen=True):
    text: str | None = None
    cost_usd: float | None = None


class _Judged(msgspec.Struct, frozen=True):
    profile: str
    passed: bool


class Counts:
    """Running totals of the journals of one run; each look reads what is new."""

    def __init__(self, folder: Folder) -> None:
        self._path = folder.path
        self._clear()

    def _clear(self) -> None:
        self._asked = Follower(self._path / "completions.jsonl", _Asked)
        self._judged: dict[str, Follower[_Judged]] = {}
        self.answered = 0
        self.cost_usd: float | None = None
        self._tallies: dict[str, list[int]] = {}

    def update(self, folder: Folder) -> None:
        """Read on.

        Raises:
            BadRecord: a line is no record.
        """
        for name in folder.verdict_files:
            self._judged.setdefault(name, Follower(self._path / name, _Judged))
        replaced = [follower.replaced() for follower in self._judged.values()]
        if self._asked.replaced() or any(replaced):
            self._clear()
            return self.update(folder)
        for _, asked in self._asked.news():
            self.answered += asked.text is not None
            if asked.cost_usd is not None:
                self.cost_usd = (self.cost_usd or 0.0) + asked.cost_usd
        for follower in self._judged.values():
            for _, judged in follower.news():
                tally = self._tallies.setdefault(judged.profile, [0, 0])
                tally[0] += 1
                tally[1] += judged.passed
        return None

    @property
    def standings(self) -> tuple[Standing, ...]:
        """By profile."""
        return tuple(Standing(profile=name, graded=n, passed=c) for name, (n, c) in self._tallies.items())
