"""The searches of an evolution, one after another until the budget is spent, and workers that evaluate genomes."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Protocol

import msgspec

from truegrade.apps.evolve.evaluation import Evaluator, Job, Result, as_error, in_words
from truegrade.apps.evolve.folder import EVENTS, Clock, Event, EvolutionFolder, SearchWatcher
from truegrade.apps.evolve.genomes import Evaluated, Fidelity, Genome, Scores, tokens_of
from truegrade.apps.evolve.search_order import Archive
from truegrade.apps.evolve.searchers import open_searcher
from truegrade.apps.evolve.settings import EvolutionSettings, Search
from truegrade.apps.evolve.strategies import Searcher, recipe
from truegrade.apps.evolve.subject import Workplace
from truegrade.errors import BadRecord, SandboxError
from truegrade.sandbox import Sandbox
from truegrade.store.journal import Journal

# -------------- Workers that evaluate genomes: this process, or several, each with the base model loaded once.
# Results come in the order of the jobs and do not depend on the map.


class GenomeMap(Protocol):
    """Evaluates jobs somewhere."""

    def map(self, jobs: Sequence[Job]) -> Iterator[Result]:
        """The results, in the order of the jobs, each as soon as those before it are there.

        Raises:
            TruegradeError: a job failed; what was yielded before stands.
        """

    def close(self) -> None:
        """End everything that was started."""


class InThisProcess:
    """One after another.

    Args:
        evaluator: closed by whoever made it.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def map(self, jobs: Sequence[Job]) -> Iterator[Result]:
        """See `GenomeMap`."""
        return map(self._evaluator.evaluate, jobs)

    def close(self) -> None:
        """Nothing was started."""


class Processes:
    """Fresh interpreters on this machine, one job each at a time.

    Args:
        workplace: sent to each once.
        workers: how many.
    """

    def __init__(self, workplace: Workplace, workers: int) -> None:
        self._workplace, self._wanted = workplace, workers
        self._processes: list[SpawnProcess] = []
        self._pipes: list[Connection] = []

    def map(self, jobs: Sequence[Job]) -> Iterator[Result]:
        """See `GenomeMap`."""
        self._start(min(self._wanted, len(jobs)))
        waiting = deque(enumerate(jobs))
        busy: dict[Connection, int] = {}
        results: dict[int, Result] = {}
        following = 0
        while following < len(jobs):
            for pipe in self._pipes:
                if waiting and pipe not in busy:
                    busy[pipe], job = waiting.popleft()
                    pipe.send(job)
            ready = wait(list(busy))
            for pipe in [pipe for pipe in busy if pipe in ready]:
                results[busy.pop(pipe)] = self._received(pipe)
            while following in results:
                yield results.pop(following)
                following += 1

    def close(self) -> None:
        """End the processes; whoever is at work is killed, and has nothing that is not kept elsewhere."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.kill()
            process.join()
        self._pipes, self._processes = [], []

    def _start(self, count: int) -> None:
        context = get_context("spawn")
        while len(self._processes) < count:
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(self._workplace, theirs), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._pipes.append(ours)

    def _received(self, pipe: Connection) -> Result:
        try:
            answer = pipe.recv()
        except EOFError:
            process = self._processes[self._pipes.index(pipe)]
            process.join()
            raise SandboxError(
                f"a worker process ended with exit code {process.exitcode} (out of memory?);"
                " the same command goes on from here, `workers` 1 needs the least memory"
            ) from None
        if isinstance(answer, Result):
            return answer
        raise as_error(answer)


def _work(workplace: Workplace, pipe: Connection) -> None:
    """The life of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told too, and ends this process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    evaluator: Evaluator | None = None
    try:
        while True:
            job = pipe.recv()
            try:
                evaluator = evaluator or Evaluator(workplace)
                pipe.send(evaluator.evaluate(job))
            except Exception as error:  # whatever it is, the parent must hear of it
                pipe.send(in_words(error))
    except (EOFError, OSError):
        pass  # the parent has closed its end, or is gone
    finally:
        if evaluator is not None:
            evaluator.close()


def _end_with_parent() -> None:
    """A parent that was killed closes nothing: without this, a training would outlive it."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def open_map(workplace: Workplace, evaluator: Evaluator, workers: int | None = None) -> GenomeMap:
    """Where genomes are evaluated.

    Args:
        workplace: what is evaluated.
        evaluator: this process' own.
        workers: processes; None for one a core, and for none besides this one where the model is run by
            transformers, which uses all cores or the accelerator itself.
    """
    alone = workplace.settings.model.startswith("hf/")
    count = workers or workplace.settings.workers or (1 if alone else Sandbox().workers)
    return InThisProcess(evaluator) if count == 1 else Processes(workplace, count)


# ------------ The searches of an evolution, one after another: ask, evaluate, tell, until the budget is spent.
# All randomness is drawn from seeds and all scores are deterministic, so what was killed goes on by telling fresh
# searchers what the log holds: the log then ends with the same bytes as if nothing had happened.


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
