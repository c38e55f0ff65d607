"""The searches of an evolution, one after another: ask, evaluate, tell, until the budget is spent.

All randomness is drawn from seeds and all scores are deterministic, so what was killed goes on by telling fresh
searchers what the log holds: the log then ends with the same bytes as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from truegrade.errors import BadRecord
from truegrade.evolution.evaluation import Job, Result
from truegrade.evolution.folder import EVENTS, Clock, Event, EvolutionFolder, SearchWatcher
from truegrade.evolution.genomes import Evaluated, Fidelity, Genome, Scores, tokens_of
from truegrade.evolution.search_order import Archive
from truegrade.evolution.searchers import open_searcher
from truegrade.evolution.searchers.base import recipe
from truegrade.evolution.searching import Searcher
from truegrade.evolution.settings import EvolutionSettings, Search
from truegrade.evolution.workers import GenomeMap
from truegrade.store.journal import Journal

Key = tuple[object, ...]
"""What decides the scores of an evaluation."""


class Known(msgspec.Struct, frozen=True):
    """What an evaluation gave."""

    scores: Scores
    adapter_sha256: str


class Loop:
    """Runs the searches of an evolution.

    A genome that one search of a replicate has evaluated is not evaluated again by another: the numbers would be
    the same. It still counts into the budget of both.

    Args:
        settings: of the evolution.
        folder: holds the log, which is gone on with.
        evaluations: where genomes are evaluated.
        watcher: told of everything.
    """

    def __init__(
        self, settings: EvolutionSettings, folder: EvolutionFolder, evaluations: GenomeMap, watcher: SearchWatcher
    ) -> None:
        self.settings, self.folder, self.watcher = settings, folder, watcher
        self._evaluations = evaluations
        self.stored = folder.events()
        """The log as it was when this process began."""
        self._known = {
            _key(event.replicate, event.evaluated.genome, event.evaluated.fidelity): Known(
                event.evaluated.scores, event.adapter_sha256
            )
            for event in self.stored
        }

    def run(self) -> None:
        """Every replicate of every search, the search itself and then its baselines.

        Raises:
            TruegradeError: an evaluation failed; the log holds all that went before.
            BadRecord: the log is not one of this evolution.
        """
        with self.folder.append_events() as events, self.folder.append_clock() as clock:
            for replicate in range(self.settings.replicates):
                for search in self.settings.searches:
                    _Run(self, search, replicate, events, clock).to_the_end()

    def results(self, jobs: Sequence[Job], replicate: int) -> Iterator[tuple[Known, Clock | None]]:
        """What each job gives, in order; no time where nothing had to be done."""
        fresh = {
            _key(replicate, job.genome, job.fidelity): job
            for job in jobs
            if job.genome is not None and _key(replicate, job.genome, job.fidelity) not in self._known
        }
        arriving = self._evaluations.map(list(fresh.values()))
        for job in jobs:
            assert job.genome is not None
            key, clock = _key(replicate, job.genome, job.fidelity), None
            if key not in self._known:
                result = next(arriving)
                self._known[key] = Known(result.scores, result.adapter_sha256)
                clock = _clock(result)
            yield self._known[key], clock


class _Run:
    """One replicate of one search."""

    def __init__(
        self, loop: Loop, search: Search, replicate: int, events: Journal[Event], clock: Journal[Clock]
    ) -> None:
        settings = loop.settings
        self._loop, self._search, self._replicate = loop, search, replicate
        self._events, self._clock = events, clock
        self._seed = settings.seed + replicate
        self._searcher = open_plan(settings, search, replicate)
        self._archive = Archive(settings.objectives.names, settings.objectives.reference)
        self._before = [e for e in loop.stored if e.search == search.title and e.replicate == replicate]

    def to_the_end(self) -> None:
        """Ask until the budget is spent or the searcher has had enough."""
        settings = self._loop.settings
        self._loop.watcher.search(self._search.title, self._replicate, self._done(), _total(settings))
        spent, generation, tokens = 0, 0, 0.0
        while spent < settings.budget and (settings.tokens is None or tokens < settings.tokens):
            asked = self._searcher.ask(generation, min(settings.population, settings.budget - spent))
            if not asked:
                return
            told = self._generation(generation, spent, asked)
            self._searcher.tell(told)
            spent, generation = spent + len(told), generation + 1
            tokens += sum(tokens_of(one.scores) for one in told)

    def _generation(self, number: int, spent: int, asked: Sequence[Genome]) -> list[Evaluated]:
        fidelity = self._searcher.fidelity(number)
        before = self._before[spent : spent + len(asked)]
        told = []
        for slot, event in enumerate(before):
            evaluated = event.evaluated
            if (evaluated.genome, evaluated.generation, evaluated.slot) != (asked[slot], number, slot):
                raise BadRecord(
                    self._loop.folder.path / EVENTS,
                    f"{self._search.title}, replicate {self._replicate}, generation {number}, slot {slot} is not"
                    " what this search asks for: another version wrote it; start anew with another `out`",
                )
            told.append(evaluated)
            self._note(evaluated)
        jobs = [Job(genome=genome, seed=self._seed, fidelity=fidelity) for genome in asked[len(told) :]]
        for known, clock in self._loop.results(jobs, self._replicate):
            slot = len(told)
            told.append(
                Evaluated(generation=number, slot=slot, genome=asked[slot], scores=known.scores, fidelity=fidelity)
            )
            self._note(told[-1])
            self._log(told[-1], known.adapter_sha256, clock or _NOTHING)
        return told

    def _log(self, evaluated: Evaluated, adapter_sha256: str, clock: Clock) -> None:
        event = Event(
            search=self._search.title,
            replicate=self._replicate,
            adapter_sha256=adapter_sha256,
            evaluated=evaluated,
        )
        taken = msgspec.structs.replace(
            clock,
            search=event.search,
            replicate=event.replicate,
            generation=evaluated.generation,
            slot=evaluated.slot,
        )
        self._events.append(event)
        self._clock.append(taken)
        self._loop.watcher.evaluated(event, taken, self._archive)

    def _note(self, evaluated: Evaluated) -> None:
        self._archive.add(evaluated)

    def _done(self) -> int:
        """Evaluations of the whole evolution that come before this search's next one."""
        settings = self._loop.settings
        searches = [search.title for search in settings.searches]
        place = self._replicate * len(searches) + searches.index(self._search.title)
        return place * settings.budget + len(self._before)


def open_plan(settings: EvolutionSettings, search: Search, replicate: int) -> Searcher:
    """The searcher of a search, with the seed of a replicate.

    Raises:
        UserError: an argument does not fit, or a package is missing.
    """
    objectives = settings.objectives
    return open_searcher(
        search.searcher,
        settings.space,
        settings.seed + replicate,
        settings.population,
        objectives.names,
        objectives.reference,
        search.args,
    )


def _total(settings: EvolutionSettings) -> int:
    return settings.budget * len(settings.searches) * settings.replicates


def _key(replicate: int, genome: Genome | None, fidelity: Fidelity) -> Key:
    assert genome is not None
    return (replicate, recipe(genome), fidelity)


_NOTHING = Clock(search="", replicate=0, generation=0, slot=0, cpu_s=0.0, wall_s=0.0, cached=True)
"""What was known already takes no time."""


def _clock(result: Result) -> Clock:
    return msgspec.structs.replace(_NOTHING, cpu_s=result.cpu_s, wall_s=result.wall_s, cached=result.cached)
