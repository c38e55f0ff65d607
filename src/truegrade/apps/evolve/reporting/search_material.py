"""Everything that a report of an evolution is made of, read from its folder once.

Hypervolume of a search by budget, with the range over replicates.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path

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
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart, number_axis
from truegrade.report.charts.svg_lines import Steps, step_lines
from truegrade.report.document import Section
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import drawn_section, figure, table
from truegrade.store.journal import read_journal

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


class Budgeted(msgspec.Struct, frozen=True, kw_only=True):
    """Hypervolume of one search over its budget, on the part that all its replicates have spent."""

    search: str
    budget: tuple[float, ...]
    """Spent, rising."""
    mean: tuple[float, ...]
    """Over replicates, from this budget on until the next."""
    low: tuple[float, ...]
    """The least of the replicates."""
    high: tuple[float, ...]
    replicates: int


def by_evaluations(material: SearchMaterial) -> list[Budgeted]:
    """Volume after 1, 2, ... evaluations, those at a lower fidelity counted in full."""
    return _by_search(material, [list(map(float, range(1, len(t.events) + 1))) for t in material.tracks])


def by_cpu_s(material: SearchMaterial) -> list[Budgeted]:
    """Volume after CPU seconds; nothing where the clock knows no evaluation.

    One that it does not know, because a kill came between the two lines, is charged the mean of the others.
    """
    if len(untimed(material)) == len(material.events):
        return []
    made = _first_costs(material)
    return _by_search(material, [_spent_s(material, track, made) for track in material.tracks])


def untimed(material: SearchMaterial) -> list[Event]:
    """Evaluations that the clock does not know."""
    return [event for event in material.events if _key(event) not in material.clocks]


def total_cpu_s(material: SearchMaterial) -> float:
    """What all evaluations took, as far as the clock knows."""
    return sum(clock.cpu_s for clock in material.clocks.values())


def cached(material: SearchMaterial) -> int:
    """Evaluations whose adapter was there already."""
    return sum(clock.cached for clock in material.clocks.values())


def spent_s(material: SearchMaterial, track: Track) -> float | None:
    """CPU seconds of a whole track, each adapter charged whoever made it; None where the clock lacks some."""
    if any(_key(event) not in material.clocks for event in track.events):
        return None
    return _spent_s(material, track, _first_costs(material))[-1]


def _by_search(material: SearchMaterial, spent: Sequence[Sequence[float]]) -> list[Budgeted]:
    found = []
    for plan in dict.fromkeys(track.plan.name for track in material.tracks):
        own = [
            (budget, track.archive.trace)
            for track, budget in zip(material.tracks, spent, strict=True)
            if track.plan.name == plan and track.events
        ]
        if own:
            found.append(_band(plan, own))
    return found


def _band(search: str, tracks: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Budgeted:
    start = max(budget[0] for budget, _ in tracks)
    end = max(start, min(budget[-1] for budget, _ in tracks))  # replicates of one evaluation each share no stretch
    budget = sorted({spent for track, _ in tracks for spent in track if start <= spent <= end})
    columns = [[_at(spent, *track) for track in tracks] for spent in budget]
    return Budgeted(
        search=search,
        budget=tuple(budget),
        mean=tuple(sum(column) / len(column) for column in columns),
        low=tuple(map(min, columns)),
        high=tuple(map(max, columns)),
        replicates=len(tracks),
    )


def _at(spent: float, budget: Sequence[float], volumes: Sequence[float]) -> float:
    """The volume that a budget had bought; none before the first evaluation was over."""
    place = bisect_right(budget, spent)
    return volumes[place - 1] if place else 0.0


def _spent_s(material: SearchMaterial, track: Track, made: dict[str, float]) -> list[float]:
    """CPU seconds after each evaluation.

    An adapter that another search had already made is charged what it cost there: otherwise whoever runs later
    would seem to be the cheaper strategy.
    """
    own: set[str] = set()
    costs = []
    for event in track.events:
        clock = material.clocks.get(_key(event))
        if clock is None:
            costs.append(total_cpu_s(material) / len(material.clocks))
        else:
            borrowed = clock.cached and event.adapter_sha256 not in own
            costs.append(max(clock.cpu_s, made.get(event.adapter_sha256, 0.0)) if borrowed else clock.cpu_s)
        own.add(event.adapter_sha256)
    return list(accumulate(costs))


def _first_costs(material: SearchMaterial) -> dict[str, float]:
    """By adapter: what the evaluation that made it took."""
    costs: dict[str, float] = {}
    for event in material.events:
        clock = material.clocks.get(_key(event))
        if clock is not None and not clock.cached:
            costs.setdefault(event.adapter_sha256, clock.cpu_s)
    return costs


def _key(event: Event) -> tuple[str, int, int, int]:
    return event.search, event.replicate, event.evaluated.generation, event.evaluated.slot


# ------------------------------------------------------------------ Hypervolume over budget, for every search.


def budget_section(material: SearchMaterial) -> Section | None:
    """The section of the page; empty before the first evaluation."""
    found = by_evaluations(material)
    if not found:
        return None
    timed = by_cpu_s(material)
    figures = [figure(budget_chart(found, "evaluations"), el("b", "By evaluations"), _table(found, "evaluations"))]
    if timed:
        caption = [el("b", "By CPU seconds."), f" {_timing(material)}"]
        figures.append(figure(budget_chart(timed, "CPU seconds"), caption, _table(timed, "CPU seconds")))
    point = ", ".join(f"{name} {fmt.quantity(v)}" for name, v in material.evolution.reference_point.items())
    words = (
        "Hypervolume is the volume of objective space that the front dominates, above the reference point"
        f" ({point}), which was fixed before the search. Only full evaluations count."
    )
    return drawn_section(
        "budget",
        "Hypervolume by budget",
        el("p", words, class_="note"),
        el("div", figures, class_="pair"),
        menu="Budget",
    )


def budget_chart(found: Sequence[Budgeted], unit: str) -> Chart:
    """A step line for every search; shaded: from the least to the greatest of its replicates."""
    drawn = [Steps(name=one.search, x=one.budget, y=one.mean, low=one.low, high=one.high) for one in found]
    x = number_axis(0.0, max(one.budget[-1] for one in found), unit)
    y = number_axis(0.0, max(max(one.high) for one in found), "hypervolume")
    banded = max(one.replicates for one in found) > 1
    words = "; shaded: all replicates" if banded else ""
    return step_lines(drawn, x, y, f"Hypervolume over {unit}{words}")


def _timing(material: SearchMaterial) -> str:
    reused, unknown = cached(material), len(untimed(material))
    words = [f"{fmt.seconds(total_cpu_s(material))} of CPU time in total."]
    if reused:
        found = fmt.plural(reused, "evaluation")
        words.append(f"{found} reused a trained adapter, and are charged the cost of its training.")
    if unknown:
        words.append(
            f"{fmt.plural(unknown, 'evaluation')} without a recorded time (interrupted) are charged the mean."
        )
    return " ".join(words)


def _table(found: Sequence[Budgeted], unit: str) -> Markup:
    rows: list[list[Child]] = [
        [
            one.search,
            fmt.count(one.replicates),
            fmt.quantity(one.budget[-1]),
            el("data", f"{one.mean[-1]:.6g}", value=repr(one.mean[-1])),
            f"{one.low[-1]:.6g} to {one.high[-1]:.6g}",
        ]
        for one in found
    ]
    head = ["search", "replicates", unit, "hypervolume, mean", "range over replicates"]
    return table("At the largest budget that all replicates have spent", head, rows, class_="numeric")
