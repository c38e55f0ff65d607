"""Workers that evaluate genomes: this process, or several, each with the base model loaded once.

Results come in the order of the jobs and do not depend on the map.
"""

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

from truegrade.errors import SandboxError
from truegrade.evolution.evaluation import Evaluator, Job, Result, as_error, in_words
from truegrade.evolution.workplace import Workplace
from truegrade.sandbox import Sandbox


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
