"""The driver: hands batches to actors, takes verdicts back, and survives the loss of actors and machines."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping

from truegrade.errors import SandboxError, UserError
from truegrade.integrations.ray.actor import Cargo, GradingActor
from truegrade.integrations.ray.cluster import STARTED_HERE, connect, cores_of_cluster, disconnect
from truegrade.integrations.ray.crew import REVIVED, Crew
from truegrade.integrations.ray.queueing import Pace, Queue
from truegrade.integrations.ray.shipping import ship
from truegrade.pipeline.verdicts import limits_for
from truegrade.profiles import Profile
from truegrade.records import Completion, Problem, Verdict


class RayGrader:
    """A `truegrade.pipeline.grade.Grader` whose programs run on a Ray cluster, one actor a core.

    Args:
        address: of the cluster, as `truegrade.integrations.ray.cluster.parse_address` returns it.
        workers: actors; None for one a core that the cluster has when the grading begins. More than it has make
            a cluster grow that can; those that find no core wait.
        allow_unsafe: run programs even at protection level 1.
    """

    def __init__(
        self, address: str = STARTED_HERE, *, workers: int | None = None, allow_unsafe: bool = False
    ) -> None:
        self._address, self._workers, self._allow_unsafe = address, workers, allow_unsafe
        self._connected = False

    def verdicts(
        self, completions: Iterable[Completion], problems: Mapping[str, Problem], profile: Profile
    ) -> Generator[Verdict, None, None]:
        """See `truegrade.pipeline.grade.Grader.verdicts`; nothing is started if there is nothing to grade."""
        queue = Queue(completions)
        first = queue.take(1)
        if not first:
            return
        queue.give_back(first)
        crew = self._hire(problems, profile)
        try:
            yield from _by_batch(queue, crew)
        finally:
            crew.dismiss()

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if self._connected:
            self._connected = False
            disconnect()

    def _hire(self, problems: Mapping[str, Problem], profile: Profile) -> Crew:
        import ray

        if connect(self._address, self._workers or os.cpu_count() or 1):
            self._connected = True
        cargo: Cargo = (ray.put(ship(problems.values(), ray.put)),)
        crew = Crew(lambda actor, batch: actor.grade_batch.remote(batch, cargo))
        remote = ray.remote(GradingActor).options(num_cpus=1, **REVIVED)
        size = self._workers or cores_of_cluster()
        limits = limits_for(profile, problems.values())
        crew.join(remote.remote(type(profile), limits, self._allow_unsafe) for _ in range(size))
        return crew


def _by_batch(queue: Queue, crew: Crew) -> Iterator[Verdict]:
    """Batches out, verdicts in; what a batch did not get to waits again."""
    pace = Pace()
    for batch, graded in crew.work(lambda: queue.take(pace.size) or None, queue.lose):
        yield from graded.verdicts
        if graded.failure is not None:
            raise (UserError if graded.at_fault == "user" else SandboxError)(graded.failure)
        pace.learn(len(graded.verdicts), graded.wall_s)
        queue.give_back(batch[len(graded.verdicts) :])
