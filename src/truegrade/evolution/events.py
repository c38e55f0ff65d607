"""What an evolution leaves on disk: the formats of its folder.

    evolution.json    `Evolution`: settings, versions, roles, contamination; written once, before all training
    anchors.jsonl     `Anchor`: base model, the buggy program given back, a stub, the reference, on the selection
                      problems
    events.jsonl      `Event`: one evaluated genome a line, in the order of slots; a search resumes from it
    final-looks.jsonl `truegrade.evolution.final_look.FinalLook`
    final.json        `Final`: what was selected, and how it does on problems that no choice has seen
    best/             the selected adapter in PEFT's format
    report.html       the page

Lines hold no wall times, so that the same settings give the same bytes; what took how long is in ``clock.jsonl``
(`Clock`), which nothing is computed from.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from truegrade.evolution.contamination import OverlapReport
from truegrade.evolution.genomes import Evaluated, Genome, Scores
from truegrade.records import Estimate
from truegrade.registry import Origin

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
