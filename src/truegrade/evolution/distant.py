"""Genomes evaluated on other machines, which need not share a disk with this one.

The adapter cache of this machine, the driver's, is the one that counts. An order tells which adapters the driver
has: the worker takes them over unless it has the very same, and brings back those that the driver lacks. So every
adapter is trained once, whoever needs it later finds the files that were scored, and at the end the driver has
all that it exports. Where the caches are one folder, nothing moves.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial

import msgspec

from truegrade.errors import UserError
from truegrade.evolution.evaluation import Evaluator, Job, Result
from truegrade.evolution.failures import ExceptionRecord, as_error, in_words
from truegrade.evolution.machines import Machines, StoredValue
from truegrade.evolution.training.base import Trainer
from truegrade.evolution.training.cache_entry import Packed
from truegrade.evolution.workplace import Workplace


class Base(msgspec.Struct, frozen=True):
    """What has to be the same wherever one evolution is computed."""

    sha256: str
    versions: dict[str, str]


class Kept(msgspec.Struct, frozen=True):
    """An adapter that the driver has."""

    sha256: str
    packed: StoredValue


class Order(msgspec.Struct, frozen=True):
    """What is sent to a worker."""

    job: Job
    adapters: dict[str, Kept | None]
    """What the job needs, by key; None for what the driver lacks and is to be brought."""


class Delivery(msgspec.Struct, frozen=True):
    """What comes back."""

    outcome: Result | ExceptionRecord
    adapters: tuple[Packed, ...] = ()


class Distant:
    """A `truegrade.evolution.workers.GenomeMap` of other machines.

    Args:
        machines: nothing was employed there yet; closed with this.
        workplace: sent to each once.
        evaluator: the driver's own; closed by whoever made it.
    """

    def __init__(self, machines: Machines, workplace: Workplace, evaluator: Evaluator) -> None:
        self._machines, self._evaluator = machines, evaluator
        adapters = None if workplace.adapters is None else workplace.adapters.absolute()
        there = msgspec.structs.replace(workplace, adapters=adapters)
        machines.employ(partial(Bench, there, _base(evaluator.subject.trainer)))

    def map(self, jobs: Sequence[Job]) -> Iterator[Result]:
        """See `truegrade.evolution.workers.GenomeMap`."""
        results: dict[int, Result] = {}
        following = 0
        for places in self._rounds(jobs):
            tasks = [_Task(jobs[place], self._order) for place in places]
            with closing(self._machines.work(tasks)) as deliveries:
                for number, delivery in deliveries:
                    results[places[number]] = self._received(delivery)
                    while following in results:
                        yield results.pop(following)
                        following += 1

    def close(self) -> None:
        """End what is under way and give the machines back."""
        self._machines.close()

    def _rounds(self, jobs: Sequence[Job]) -> Iterator[list[int]]:
        """Places of jobs that may be under way together: no two of them would train the same adapter."""
        rest = list(range(len(jobs)))
        keys = [self._evaluator.keys(job) for job in jobs]
        while rest:
            cache, claimed, now, later = self._evaluator.cache(), set[str](), list[int](), list[int]()
            for place in rest:
                lacking = {key for key in keys[place] if not cache.holds(key)}
                (later if lacking & claimed else now).append(place)
                claimed |= lacking
            yield now
            rest = later

    def _order(self, job: Job) -> Order:
        cache = self._evaluator.cache()
        here = {key: cache.packed(key) for key in self._evaluator.keys(job)}
        return Order(
            job,
            {
                key: None if packed is None else Kept(packed.sha256, self._machines.put(packed))
                for key, packed in here.items()
            },
        )

    def _received(self, delivery: Delivery) -> Result:
        if isinstance(delivery.outcome, ExceptionRecord):
            raise as_error(delivery.outcome)
        for packed in delivery.adapters:
            self._evaluator.cache().adopt(packed)
        return delivery.outcome


class _Task(msgspec.Struct, frozen=True):
    """See `truegrade.evolution.machines.MachineTask`."""

    job: Job
    make: Callable[[Job], Order]

    @property
    def name(self) -> str:
        return "the bare base" if self.job.genome is None else f"genome {self.job.genome.id}"

    def order(self) -> Order:
        return self.make(self.job)


class Bench:
    """What stands on another machine.

    Args:
        workplace: what is evaluated.
        base: what the driver's results are computed with.
    """

    def __init__(self, workplace: Workplace, base: Base) -> None:
        self._workplace, self._base = workplace, base
        self._evaluator: Evaluator | None = None

    def __call__(self, order: Order) -> Delivery:
        """Follow an order; whatever fails, the driver hears of it."""
        try:
            evaluator = self._opened()
            cache = evaluator.cache()
            for key, kept in order.adapters.items():
                if kept is not None and not cache.holds(key, kept.sha256):
                    cache.adopt(kept.packed.fetch())
            result = evaluator.evaluate(order.job)
            made = [cache.packed(key) for key, kept in order.adapters.items() if kept is None]
            return Delivery(result, tuple(packed for packed in made if packed is not None))
        except Exception as error:
            return Delivery(in_words(error))

    def _opened(self) -> Evaluator:
        """The evaluator, once the base is known to be the driver's.

        Raises:
            UserError: it is not.
        """
        if self._evaluator is None:
            evaluator = Evaluator(self._workplace)
            try:
                _refuse_others(_base(evaluator.subject.trainer), self._base, self._workplace.settings.model)
            except BaseException:
                evaluator.close()
                raise
            self._evaluator = evaluator
        return self._evaluator


def _base(trainer: Trainer) -> Base:
    return Base(trainer.base_sha256, dict(trainer.versions))


def _refuse_others(there: Base, here: Base, model: str) -> None:
    """See that both compute alike; else one evolution would mix two.

    Raises:
        UserError: they do not.
    """
    machine = socket.gethostname()
    if there.sha256 != here.sha256:
        raise UserError(f"{machine} has other weights under {model} than this machine: put the same ones there")
    for name in sorted(there.versions.keys() | here.versions.keys()):
        one, other = there.versions.get(name, "none"), here.versions.get(name, "none")
        if one != other:
            raise UserError(
                f"{machine} computes with {name} {one}, this machine with {name} {other}: adapters and scores"
                " could differ; use machines with the same versions, processors and accelerators"
            )
