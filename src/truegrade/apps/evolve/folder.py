"""The folder of an evolution: opened for one process at a time, never mixed with another evolution's."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from truegrade.apps.evolve.genomes import Evaluated, Genome, Scores
from truegrade.apps.evolve.roles import OverlapReport
from truegrade.apps.evolve.search_order import Archive
from truegrade.errors import UserError
from truegrade.files.json_text import encode, read_json
from truegrade.records import Estimate
from truegrade.registry import Origin, refuse_another_file
from truegrade.store.journal import Journal, Notice, alone_in, ignore, read_journal
from truegrade.store.manifest import write_atomically

# ------------------------------------------------ What an evolution leaves on disk: the formats of its folder.
#     evolution.json    `Evolution`: settings, versions, roles, contamination; written once, before all training
#     anchors.jsonl     `Anchor`: base model, the buggy program given back, a stub, the reference, on the
# selection
#                       problems
#     events.jsonl      `Event`: one evaluated genome a line, in the order of slots; a search resumes from it
#     final-looks.jsonl `truegrade.apps.evolve.finishing.FinalLook`
#     final.json        `Final`: what was selected, and how it does on problems that no choice has seen
#     best/             the selected adapter in PEFT's format
#     report.html       the page
#
# Lines hold no wall times, so that the same settings give the same bytes; what took how long is in
# ``clock.jsonl`` (`Clock`), which nothing is computed from.


EVOLUTION, ANCHORS, EVENTS, FINAL, CLOCK = (
    "evolution.json",
    "anchors.jsonl",
    "events.jsonl",
    "final.json",
    "clock.jsonl",
)

AnchorName = Literal["base", "identity", "stub", "reference"]


class SearchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One strategy of an evolution: the search itself, or a baseline at the same budget."""

    name: str
    """Of the searcher, with what tells it from another one of that name."""
    args: dict[str, Any] = {}
    baseline: bool = False


class Evolution(msgspec.Struct, frozen=True, kw_only=True):
    """What an evolution is."""

    name: str
    settings: dict[str, Any]
    """The configuration, defaults included."""
    settings_sha256: str
    versions: dict[str, str]
    base: str
    base_sha256: str
    benchmark: str
    profile: str
    """``name@version``."""
    objectives: tuple[str, ...]
    """Names, each to be maximised."""
    reference_point: dict[str, float]
    searches: tuple[SearchPlan, ...]
    replicates: int
    """Of each search, with seeds of their own."""
    roles: dict[str, tuple[str, ...]]
    """Ids of the problems: ``train``, ``selection``, ``final``, ``forgetting``."""
    notes: tuple[str, ...]
    contamination: OverlapReport
    origins: dict[str, Origin] | UnsetType = UNSET
    """Where searchers that are not built in were found, by what the settings call them."""


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """Something that needs no search, scored as genomes are."""

    name: AnchorName
    scores: Scores


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation."""

    search: str
    """Name of the plan."""
    replicate: int
    """From 0."""
    adapter_sha256: str
    evaluated: Evaluated


class Clock(msgspec.Struct, frozen=True, kw_only=True):
    """What an evaluation took."""

    search: str
    replicate: int
    generation: int
    slot: int
    cpu_s: float
    wall_s: float
    cached: bool
    """Whether its adapter was there already."""


class PassRateDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A paired difference of pass rates, with its interval."""

    value: float
    low: float
    high: float
    method: str
    tasks: int


class SelectedGenome(msgspec.Struct, frozen=True, kw_only=True):
    """The genome that one search chose, on problems that it was not chosen by."""

    search: str
    replicate: int
    genome: Genome
    adapter_sha256: str
    selection: float
    """Pass rate on the selection problems, those of the pool apart: flattered."""
    final: Estimate
    against_base: PassRateDifference
    forgetting: PassRateDifference | None
    """On problems that the base could do; negative is lost."""
    passed: dict[str, float]
    """By problem of the final and forgetting roles: share of samples passed."""


class Contest(msgspec.Struct, frozen=True, kw_only=True):
    """The search against one of its baselines, on the final problems."""

    baseline: str
    difference: PassRateDifference
    """Of pass rates, search minus baseline; of every problem the mean over replicates."""
    wins: int
    """Replicates in which what the search chose passed more."""
    losses: int
    sign_p: float
    """Two-sided exact sign test over replicates, corrected for `Final.look`; 1 where there is one."""


class Final(msgspec.Struct, frozen=True, kw_only=True):
    """The final report: one evaluation, at the end."""

    look: int
    """1, or more where the final problems were evaluated again, by whatever folder of the same user."""
    confidence: float = 0.95
    """Of every interval: 1 - 0.05 / look (Bonferroni), by which the p-values are corrected too."""
    rule: str
    """How each search chose, as a sentence."""
    chosen: str
    """Name of the search whose adapter is in ``best/``."""
    base: Estimate
    base_passed: dict[str, float]
    selected: tuple[SelectedGenome, ...]
    """Every search and replicate, the search itself first."""
    contests: tuple[Contest, ...] = ()
    """One for each baseline."""


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


# -------------------------------------------------- The interface through which an evolution reports progress.


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
