"""The machines of a cluster for work of any kind: a function that each makes once, and orders for it."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

import msgspec

from truegrade.errors import SandboxError
from truegrade.integrations.ray.actor import Cargo
from truegrade.integrations.ray.cluster import accelerators_of_cluster, connect, cores_of_cluster, disconnect
from truegrade.integrations.ray.crew import REVIVED, Crew
from truegrade.integrations.ray.queueing import MOST_LOSSES
from truegrade.integrations.ray.ray_worker import WorkerActor


class RayTask(Protocol):
    """Something to do; `truegrade.evolution.machines.MachineTask` is one."""

    @property
    def name(self) -> str:
        """What it is called in messages."""

    def order(self) -> Any:
        """What is sent; asked for whenever it is sent."""


class RayStored(msgspec.Struct, frozen=True):
    """A value in Ray's object store; it is there as long as this is, and moves only where it is fetched."""

    reference: Any

    def fetch(self) -> Any:
        """The value."""
        import ray

        return ray.get(self.reference)


class RayMachines:
    """A `truegrade.evolution.machines.Machines` on a Ray cluster, one actor a core, or one an accelerator.

    Args:
        address: of the cluster, as `truegrade.integrations.ray.cluster.parse_address` returns it.
        workers: at most so many actors; None for one a core or accelerator that the cluster has when the work
            begins. More than it has make a cluster grow that can; those that find no room wait.
        accelerated: give each actor an accelerator, if the cluster has some.
    """

    def __init__(self, address: str, *, workers: int | None = None, accelerated: bool = False) -> None:
        self._address, self._workers, self._accelerated = address, workers, accelerated
        self._connected = False
        self._open_worker: Callable[[], Callable[[Any], Any]] | None = None
        self._crew: Crew[tuple[int, RayTask], Any] | None = None
        self._create: Callable[[], Any] | None = None
        """Creates an actor; None as long as no cluster was reached."""
        self._cargo: Cargo = (None,)
        self._most = 0

    def employ(self, open_worker: Callable[[], Callable[[Any], Any]]) -> None:
        """See `truegrade.evolution.machines.Machines.employ`."""
        self._open_worker = open_worker

    def put(self, value: Any) -> RayStored:
        """Store a value where every actor can fetch it."""
        import ray

        return RayStored(ray.put(value))

    def work(self, tasks: Sequence[RayTask]) -> Generator[tuple[int, Any], None, None]:
        """See `truegrade.evolution.machines.Machines.work`.

        Raises:
            UserError: there is no cluster at the address.
            SandboxError: no machine is left, or a task was lost too often.
        """
        if not tasks:
            return
        crew = self._staffed(len(tasks))
        waiting = deque(enumerate(tasks))
        losses: Counter[int] = Counter()

        def lose(task: tuple[int, RayTask], why: str) -> None:
            losses[task[0]] += 1
            if losses[task[0]] >= MOST_LOSSES:
                raise SandboxError(
                    f"{task[1].name}: {MOST_LOSSES} times in a row the process that worked on it was lost ({why});"
                    " what is finished is kept, the same command without `executor` goes on here"
                )
            waiting.appendleft(task)

        complete = False
        try:
            for (place, _), answer in crew.work(lambda: waiting.popleft() if waiting else None, lose):
                yield place, answer
            complete = True
        finally:
            if not complete:  # what is under way would else be answered to whoever asks next
                self._dismiss()

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        self._dismiss()
        self._create = None
        if self._connected:
            self._connected = False
            disconnect()

    def _staffed(self, wanted: int) -> Crew[tuple[int, RayTask], Any]:
        """The actors, as many as there are tasks if there may be so many."""
        if self._create is None:
            self._connect()
        assert self._create is not None
        if self._crew is None:
            self._crew = Crew(
                lambda actor, task: actor.work.remote(task[1].order(), self._cargo), ahead=1, done="finished"
            )
        self._crew.join(self._create() for _ in range(min(wanted, self._most) - len(self._crew)))
        return self._crew

    def _connect(self) -> None:
        """Reach the cluster, ship what every actor needs, and see how many there may be."""
        import ray

        if connect(self._address, self._workers or os.cpu_count() or 1):
            self._connected = True
        accelerators = accelerators_of_cluster() if self._accelerated else 0
        self._most = self._workers or accelerators or cores_of_cluster()
        self._cargo = (ray.put(self._open_worker),)
        remote = ray.remote(WorkerActor).options(num_cpus=1, num_gpus=1 if accelerators else 0, **REVIVED)
        self._create = remote.remote

    def _dismiss(self) -> None:
        if self._crew is not None:
            self._crew.dismiss()
            self._crew = None
