"""The actors of a cluster and what they have to do: who is free, who has which batch, who has yet to show life."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any

import msgspec

from truegrade import __version__
from truegrade.apps.ray.cluster import (
    STARTED_HERE,
    Cargo,
    GradedBatch,
    GradingActor,
    Pace,
    Queue,
    connect,
    cores_of_cluster,
    disconnect,
    parse_address,
    ship,
)
from truegrade.errors import SandboxError, UserError
from truegrade.pipeline.verdicts import limits_for
from truegrade.profiles import Profile
from truegrade.records import Completion, Problem, Verdict

PATIENCE_S = 300.0
"""How long no actor at all may be alive before the work ends: a cluster that grows needs minutes for a node."""

REVIVED = {"max_restarts": -1, "max_task_retries": 0}
"""Options of an actor. One that dies is started anew by Ray, wherever there is room. Its batches are sent again
by us, to others: an actor that waits for a machine must not keep them."""

AHEAD = 2
"""Batches that an actor has at a time: one that it grades and one that waits, so that it never does."""

Batch = list[Completion]


class AnswerLost(msgspec.Struct, frozen=True):
    """There is no answer: the actor died under the batch, or with it the machine that kept the answer."""

    why: str


class Crew:
    """Actors that take batches; those that die come back by themselves wherever there is room.

    Args:
        call: has an actor grade a batch; returns Ray's reference of the answer.
    """

    def __init__(self, call: Callable[[Any, Batch], Any]) -> None:
        self._call = call
        self._actors: list[Any] = []
        self._free: deque[Any] = deque()
        """Actors that take a batch; one stands here once for each batch that it takes."""
        self._busy: dict[Any, tuple[Any, Batch]] = {}
        """Reference of an answer to come -> its actor and batch."""
        self._asked: dict[Any, Any] = {}
        """Reference of a sign of life to come -> the actor that was asked for it."""

    def join(self, actors: Iterable[Any]) -> None:
        """Take in actors that were just created, perhaps not placed yet.

        Args:
            actors: of a class with a method ``version``, and with the options `REVIVED`.
        """
        for actor in actors:
            self._actors.append(actor)
            for _ in range(AHEAD):
                self._ask(actor)

    def work(
        self, take: Callable[[], Batch | None], lose: Callable[[Batch, str], None]
    ) -> Iterator[tuple[Batch, GradedBatch]]:
        """Keep every actor busy until nothing waits and nothing is under way.

        Args:
            take: the next batch; None if none waits at the moment. Called only when an actor is free.
            lose: told of a batch that was lost, and why; to be had from ``take`` again.

        Raises:
            SandboxError: no actor is able to start, or none was alive for `PATIENCE_S`.
        """
        while True:
            while self._free and (batch := take()) is not None:
                actor = self._free.popleft()  # the one that has been free for longest
                self._busy[self._call(actor, batch)] = (actor, batch)
            if not self._busy:
                if self._free:
                    return
                self._wait_for_life()
                continue
            for batch, answer in self._receive():
                if isinstance(answer, AnswerLost):
                    lose(batch, answer.why)
                else:
                    yield batch, answer

    def dismiss(self) -> None:
        """End every actor, and with it its programs."""
        import ray

        for actor in self._actors:
            ray.kill(actor)

    def _receive(self) -> Iterator[tuple[Batch, GradedBatch | AnswerLost]]:
        """Wait for news, then each finished batch with its answer, or with why there is none."""
        import ray
        from ray.exceptions import ObjectLostError, OutOfMemoryError, RayActorError

        for reference in self._news([*self._busy, *self._asked], None):
            if reference in self._asked:
                self._welcome(self._asked.pop(reference), reference)
                continue
            actor, batch = self._busy.pop(reference)
            try:
                answer: GradedBatch = ray.get(reference)
            except (RayActorError, ObjectLostError, OutOfMemoryError) as lost:
                self._ask(actor)
                yield batch, AnswerLost(str(lost).partition("\n")[0])
            else:
                self._free.append(actor)
                yield batch, answer

    def _wait_for_life(self) -> None:
        """Wait until an actor is alive.

        Raises:
            SandboxError: none is for minutes, or none is able to start.
        """
        news = self._news([*self._asked], PATIENCE_S)
        if not news:
            raise SandboxError(
                f"no machine of the Ray cluster has had room for a worker for {PATIENCE_S:.0f} s; what is"
                f" graded is kept, the same command goes on when there is some (`ray status` shows who has"
                " the cores)"
            )
        for reference in news:
            self._welcome(self._asked.pop(reference), reference)

    def _ask(self, actor: Any) -> None:
        """Have the actor answer as soon as it is placed and started; Ray keeps the question meanwhile."""
        self._asked[actor.version.options(max_task_retries=-1).remote()] = actor

    def _welcome(self, actor: Any, reference: Any) -> None:
        """An actor answered: it is alive, unless the answer is that it never will be."""
        import ray
        from ray.exceptions import RayActorError

        try:
            version = ray.get(reference)
        except RayActorError as error:
            if not (self._free or self._busy or self._asked):
                why = str(error).strip().splitlines()[-1]
                raise SandboxError(
                    f"Truegrade does not start on the machines of the Ray cluster: {why};"
                    f" install truegrade {__version__} there too"
                ) from error
            return
        if version != __version__:
            raise SandboxError(
                f"a machine of the Ray cluster has truegrade {version}, this one {__version__}: results could"
                " differ; install the same version everywhere"
            )
        self._free.append(actor)

    def _news(self, references: list[Any], timeout_s: float | None) -> list[Any]:
        """Those of the references that are ready, at least one unless the time is up first."""
        import ray

        ready, others = ray.wait(references, num_returns=1, timeout=timeout_s)
        if ready and others:
            ready += ray.wait(others, num_returns=len(others), timeout=0)[0]
        return list(ready)


# ----- The driver: hands batches to actors, takes verdicts back, and survives the loss of actors and machines.


class RayGrader:
    """A `truegrade.pipeline.grade.Grader` whose programs run on a Ray cluster, one actor a core.

    Args:
        address: of the cluster, as `truegrade.apps.ray.cluster.parse_address` returns it.
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
        given = type(profile), profile.timeout_s, limits, self._allow_unsafe
        crew.join(remote.remote(*given) for _ in range(size))
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


def open_ray(address: str, workers: int | None, allow_unsafe: bool) -> RayGrader:
    """``grade --executor ray[:ADDRESS]``; connects when something is graded.

    Raises:
        UserError: ray is not installed, or no cluster can have such an address.
    """
    if find_spec("ray") is None:
        raise UserError("`executor` ray needs the package ray: pip install 'truegrade[ray]'")
    return RayGrader(parse_address(address), workers=workers, allow_unsafe=allow_unsafe)
