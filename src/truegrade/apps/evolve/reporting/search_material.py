"""Everything that a report of an evolution is made of, read from its folder once."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from truegrade.apps.evolve.finishing import FinalLook, looks
from truegrade.apps.evolve.folder import (
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
    SearchPlan,
    SelectedGenome,
)
from truegrade.apps.evolve.search_order import Archive, shortfall
from truegrade.errors import UserError
from truegrade.files.json_text import read_json
from truegrade.store.journal import read_journal

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """One search with one seed, from its first evaluation to its last so far."""

    plan: SearchPlan
    replicate: int
    events: tuple[Event, ...]
    archive: Archive


class SearchMaterial(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    folder: Path
    evolution: Evolution
    anchors: tuple[Anchor, ...]
    events: tuple[Event, ...]
    """In the order of the log."""
    tracks: tuple[Track, ...]
    """Of the search itself first; those that have not begun have no events."""
    front: tuple[Event, ...]
    """What no other evaluation of any search dominates."""
    volume: float
    """Hypervolume of that front."""
    constant: tuple[str, ...]
    """Objectives in which all genomes were equal."""
    clocks: Mapping[tuple[str, int, int, int], Clock]
    """By search, replicate, generation and slot."""
    looks: tuple[FinalLook, ...]
    final: Final | None
    """None until the search is over and reported."""

    @property
    def headline(self) -> str:
        """The first objective: what is improved before all others."""
        return self.evolution.objectives[0]

    @property
    def chosen(self) -> SelectedGenome | None:
        """What the search in question selected, the adapter in ``best/``; None until the final report.

        Of several replicates the one with the best score on the selection problems, the earlier among equals.
        """
        if self.final is None:
            return None
        own = (one for one in self.final.selected if one.search == self.final.chosen)
        return max(own, key=lambda one: one.selection, default=None)

    @property
    def planned(self) -> int | None:
        """Evaluations of all searches together, if all go on to the end of their budget; None where not known."""
        settings = self.evolution.settings
        population, generations = settings.get("population"), settings.get("generations")
        if not isinstance(population, int) or not isinstance(generations, int):
            return None
        return population * generations * len(self.tracks)

    def anchor(self, name: str) -> Anchor | None:
        """The scores of something that needs no search."""
        return next((anchor for anchor in self.anchors if anchor.name == name), None)


def gather(folder: Path) -> SearchMaterial:
    """Read an evolution, finished or not. A torn or damaged line is left out, and said in the log.

    Raises:
        UserError: the folder holds no evolution.
        BadRecord: a file of it is damaged.
    """
    if not (folder / EVOLUTION).is_file():
        raise UserError(f"{folder}: no {EVOLUTION} here; give the folder that `truegrade evolve` wrote")
    evolution = read_json(folder / EVOLUTION, Evolution)
    events = tuple(read_journal(folder / EVENTS, Event, notice=_LOG.warning))
    everything = _archive(evolution, events)
    first: dict[str, Event] = {}
    for event in events:
        if shortfall(event.evaluated) <= 0.0:
            first.setdefault(event.evaluated.genome.id, event)
    clocks = read_journal(folder / CLOCK, Clock, notice=_LOG.warning)
    return SearchMaterial(
        folder=folder,
        evolution=evolution,
        anchors=tuple(read_journal(folder / ANCHORS, Anchor, notice=_LOG.warning)),
        events=events,
        tracks=_tracks(evolution, events),
        front=tuple(first[one.genome.id] for one in everything.front),
        volume=everything.volume,
        constant=everything.constant,
        clocks={(c.search, c.replicate, c.generation, c.slot): c for c in clocks},
        looks=looks(folder),
        final=read_json(folder / FINAL, Final) if (folder / FINAL).is_file() else None,
    )


def _tracks(evolution: Evolution, events: tuple[Event, ...]) -> tuple[Track, ...]:
    by_track: dict[tuple[str, int], list[Event]] = {}
    for event in events:
        by_track.setdefault((event.search, event.replicate), []).append(event)
    plans = sorted(evolution.searches, key=lambda plan: plan.baseline)
    tracks = []
    for plan in plans:
        for replicate in range(evolution.replicates):
            own = tuple(by_track.get((plan.name, replicate), ()))
            archive = _archive(evolution, own)
            tracks.append(Track(plan=plan, replicate=replicate, events=own, archive=archive))
    return tuple(tracks)


def _archive(evolution: Evolution, events: tuple[Event, ...]) -> Archive:
    archive = Archive(evolution.objectives, evolution.reference_point)
    for event in events:
        archive.add(event.evaluated)
    return archive
