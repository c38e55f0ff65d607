"""A cluster, found or started of this machine's cores; its actors, and the batches that they have to grade."""

from __future__ import annotations

import logging
import os
import pickle
import re
import socket
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from truegrade import __version__
from truegrade.errors import SandboxError, TruegradeError, UserError
from truegrade.files.extras import require
from truegrade.kinds import kind_of
from truegrade.pipeline.verdicts import limits_for, verdict_on
from truegrade.profiles import Profile
from truegrade.records import Completion, Problem, SampleKey, Verdict
from truegrade.sandbox import Limits, Sandbox

# ------------------------------------------------ Which samples make the next batch: pure bookkeeping, no Ray.
# A batch is large where samples are short, so that handing it out costs little, and small where they are long, so
# that no core waits for another at the end. Samples that were lost with their actor go out one by one: if one of
# them ends whatever machine grades it, it is found out, and takes no other along.

MOST = 64
"""Samples of a batch. Handing out costs some 0.05 ms a sample in batches of 16 to 64, 1 ms one by one."""
FIRST = 16
"""Samples of a batch while nothing is known about how long they take."""
TARGET_S = 1.0
"""Wall time that a batch should take."""
MOST_LOSSES = 5
"""Times that one sample may be lost with its actor: machines fail, but not always under the same one."""
_SMOOTHING = 0.3


class Pace:
    """How many samples make a batch of about `TARGET_S`; learns from every batch."""

    def __init__(self) -> None:
        self._sample_s: float | None = None

    @property
    def size(self) -> int:
        """Samples of the next batch."""
        if self._sample_s is None:
            return FIRST
        return max(1, min(MOST, int(TARGET_S / max(self._sample_s, TARGET_S / MOST))))

    def learn(self, samples: int, wall_s: float) -> None:
        """Take note of how long so many samples took on one core; the newest count most."""
        newest = wall_s / samples
        known = newest if self._sample_s is None else self._sample_s
        self._sample_s = known + _SMOOTHING * (newest - known)


class Queue:
    """Samples that wait: those that came back first, then those not drawn yet, which are drawn when needed.

    Args:
        completions: to be graded, each once.
    """

    def __init__(self, completions: Iterable[Completion]) -> None:
        self._source = iter(completions)
        self._returned: deque[Completion] = deque()
        self._losses: Counter[SampleKey] = Counter()

    def take(self, size: int) -> list[Completion]:
        """The next batch, at most ``size`` long; empty if nothing waits at the moment."""
        batch: list[Completion] = []
        while len(batch) < size:
            completion = self._returned.popleft() if self._returned else next(self._source, None)
            if completion is None:
                break
            if self._losses[completion.key] and batch:
                self._returned.appendleft(completion)
                break
            batch.append(completion)
            if self._losses[completion.key]:
                break
        return batch

    def give_back(self, completions: Sequence[Completion]) -> None:
        """Samples of a batch that were not reached: they go first."""
        self._returned.extendleft(reversed(completions))

    def lose(self, completions: Sequence[Completion], why: str) -> None:
        """Samples whose actor died under them: they go out again, one by one.

        Raises:
            SandboxError: one of them was lost too often.
        """
        for completion in completions:
            self._losses[completion.key] += 1
            if self._losses[completion.key] >= MOST_LOSSES:
                raise SandboxError(
                    f"{completion.problem_id} sample {completion.sample}: {MOST_LOSSES} times in a row the process"
                    f" that graded it was lost ({why}); the verdicts so far are kept, grade it without `executor`"
                )
        self.give_back(completions)


# ----------------------------------------------------------------------------------------------------------------
# Problems on their way to the machines that grade: in groups, each moved to a machine once and kept there.
# What a problem expects travels to the actor, which is the supervisor's side; a program is given none of it.


GROUP_BYTES = 4 * 1024 * 1024
"""Pickled problems in one object: a small data set is one, so is a single contest problem with large tests."""
KEPT_BYTES = 16 * GROUP_BYTES
"""Groups that an actor keeps unpacked, by their packed size."""


class Shipment(msgspec.Struct, frozen=True):
    """Where each problem is; the references are Ray's."""

    group_of: dict[str, int]
    references: list[Any]


def ship(problems: Iterable[Problem], put: Callable[[bytes], Any]) -> Shipment:
    """Put every problem into the object store.

    Args:
        problems: each with tests of its own, or with the place of a file on this machine where they lie.
        put: stores bytes and returns a reference; `ray.put`.

    Raises:
        UserError: such a file is gone or was changed.
    """
    group_of: dict[str, int] = {}
    references = []
    for number, group in enumerate(_groups(problems)):
        group_of |= dict.fromkeys(group, number)
        references.append(put(pickle.dumps(group, protocol=pickle.HIGHEST_PROTOCOL)))
    return Shipment(group_of, references)


def _groups(problems: Iterable[Problem]) -> Iterator[dict[str, bytes]]:
    """Problems, each pickled, by id; as many together as fit."""
    group: dict[str, bytes] = {}
    size = 0
    for problem in problems:
        packed = pickle.dumps(_whole(problem), protocol=pickle.HIGHEST_PROTOCOL)
        if group and size + len(packed) > GROUP_BYTES:
            yield group
            group, size = {}, 0
        group[problem.id] = packed
        size += len(packed)
    if group:
        yield group


def _whole(problem: Problem) -> Problem:
    """The problem with what it left in a file: another machine does not have that."""
    return msgspec.structs.replace(problem, task=kind_of(problem.task).carried(problem.task))


class Received:
    """The problems as an actor sees them; the groups used last are kept.

    Args:
        shipment: what was sent.
        fetch: returns the bytes behind a reference; `ray.get`.
    """

    def __init__(self, shipment: Shipment, fetch: Callable[[Any], bytes]) -> None:
        self._shipment, self._fetch = shipment, fetch
        self._groups: OrderedDict[int, tuple[int, dict[str, Problem]]] = OrderedDict()
        self._bytes = 0

    def __getitem__(self, problem_id: str) -> Problem:
        number = self._shipment.group_of[problem_id]
        if number not in self._groups:
            self._load(number)
        self._groups.move_to_end(number)
        return self._groups[number][1][problem_id]

    def _load(self, number: int) -> None:
        packed = self._fetch(self._shipment.references[number])
        group = {key: pickle.loads(problem) for key, problem in pickle.loads(packed).items()}
        self._groups[number] = (len(packed), group)
        self._bytes += len(packed)
        while self._bytes > KEPT_BYTES and len(self._groups) > 1:
            _, (size, _) = self._groups.popitem(last=False)
            self._bytes -= size


STARTED_HERE = "local"
"""Ray's own name for a cluster that is started by, and ends with, the process that asks for it."""

_STORE_BYTES = 32 * GROUP_BYTES
"""Of a cluster started here: some groups of problems and the batches under way; Ray puts more on disk."""
_KNOCK_S = 10.0
_BY_DRIVER, _BY_CLIENT = "/ray.rpc.NodeInfoGcsService/CheckAlive", "/ray.rpc.RayletDriver/ClusterInfo"
"""A call that changes nothing, of a cluster's head node and of its client server: ray 2.60.0 ``src/ray/protobuf/``
``gcs_service.proto`` and ``ray_client.proto``."""
_ADDRESS = re.compile(r"(auto|local|ray://[^\s/:]+:\d+|[^\s/:]+:\d+)")


def parse_address(text: str) -> str:
    """What follows ``ray:`` on the command line, as `ray.init` wants it.

    Raises:
        UserError: no cluster can have such an address.
    """
    address = f"ray:{text}" if text.startswith("//") else text or STARTED_HERE
    if address.startswith("ray://") and re.fullmatch(r"ray://[^\s/:]+", address):
        address += ":10001"  # the port of Ray's client server, unless it was told otherwise
    if not _ADDRESS.fullmatch(address):
        raise UserError(
            f"`executor` ray:{text}: not the address of a cluster; write ray, ray:auto, ray:HOST:PORT or"
            " ray://HOST:PORT"
        )
    return address


def connect(address: str, cores: int) -> bool:
    """Connect this process to a cluster, unless it is connected; return whether `disconnect` is up to the caller.

    Args:
        address: as `parse_address` returns it.
        cores: of a cluster that is started here.

    Raises:
        UserError: there is no cluster at the address, or it runs another version of Python or Ray.
        SandboxError: a cluster cannot be started here.
    """
    import ray

    if ray.is_initialized():
        return False
    here = address == STARTED_HERE
    _knock(address)
    own: dict[str, Any] = {"num_cpus": cores, "include_dashboard": False, "object_store_memory": _STORE_BYTES}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # else Ray reports to its makers
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **(own if here else {}))
    except Exception as error:  # Ray raises many kinds, down to plain Exception where a node starts too slowly
        why = " ".join(str(error).split())
        if here:
            raise SandboxError(f"a Ray cluster cannot be started here: {why}; try again") from error
        raise UserError(
            f"`executor` ray:{address}: no connection to a cluster: {why}; see `ray status` on its head node"
        ) from error
    _keep_off_stdout()
    return True


def _knock(address: str) -> None:
    """Refuse an address where nothing listens, or that refuses our token: Ray itself would try on and on, and say
    no more than that there is no connection.

    Raises:
        UserError: nothing listens there, or the token is not the cluster's.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), timeout=_KNOCK_S).close()
    except OSError as error:
        raise UserError(
            f"`executor` ray:{address}: no connection to a cluster: {error.strerror or error}; see `ray status` on"
            " its head node"
        ) from None
    refused = _refusal_of_token(f"{host}:{port}", _BY_CLIENT if address.startswith("ray://") else _BY_DRIVER)
    if refused is not None:
        raise UserError(
            f"`executor` ray:{address}: the cluster asks for its token and refuses the connection ({refused}); set"
            " RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to what `ray get-auth-token` prints on its head node"
        )


def _refusal_of_token(place: str, method: str) -> str | None:
    """What a cluster says to a call with the token that Ray has been given, if it refuses that; else None."""
    try:
        import grpc
        from ray._raylet import AuthenticationTokenLoader
    except ImportError:  # Ray without the client, or older than token authentication
        return None
    try:
        loader = AuthenticationTokenLoader.instance()
        shown = tuple(loader.get_token_for_http_header().items()) if loader.has_token() else ()
        with grpc.insecure_channel(place) as channel:
            channel.unary_unary(method)(b"", timeout=_KNOCK_S, metadata=shown)
    except grpc.RpcError as error:
        return str(error.details()) if error.code() is grpc.StatusCode.UNAUTHENTICATED else None
    except Exception:  # of the loader, where a token is wanted and there is none: Ray says that well itself
        return None
    return None


def _keep_off_stdout() -> None:
    """Log what Ray prints on stdout when a machine or actor is lost: there it would be part of ``--json``.

    ``log_to_driver`` does not cover these messages (ray 2.60.0 ``python/ray/_private/worker.py``,
    ``listen_error_messages``), nor does any other option.
    """
    from ray._private import worker

    def log(data: dict[str, Any], **_: Any) -> None:
        logging.getLogger(__name__).info("%s", "\n".join(data["lines"]))

    worker.print_to_stdstream = log


def disconnect() -> None:
    """Leave the cluster; one that was started here ends, with all its processes."""
    import ray

    ray.shutdown()


def cores_of_cluster() -> int:
    """Cores that the cluster has at this moment.

    Raises:
        UserError: it has none.
    """
    import ray

    cores = int(ray.cluster_resources().get("CPU", 0))
    if cores < 1:
        raise UserError("the Ray cluster has no cores; add nodes, or give `workers` if it grows on demand")
    return cores


# -------------- What stands on a core of the cluster: a supervisor with a sandbox of its own, for one profile.


_ENOUGH_S = 2 * TARGET_S
"""Wall time after which a batch is handed back with what is done of it."""


Cargo = tuple[Any]
"""A reference by itself would be resolved by Ray before each call."""


class GradedBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a batch: verdicts of its first samples, of all unless time ran out or something failed."""

    verdicts: list[Verdict]
    wall_s: float
    failure: str | None = None
    """The sentence of a `TruegradeError`: it ends the grading, here as on one machine."""
    at_fault: Literal["user", "machine"] = "machine"
    """Whether it was a `UserError`; the error itself may not survive pickling."""


class GradingActor:
    """Grades batches, one sample at a time; Ray calls it.

    Args:
        profile: class of the rules; an opened one may hold locks and caches of its process.
        timeout_s: the profile's own time limit, CPU seconds; None for none.
        limits: of the programs.
        allow_unsafe: run programs even at protection level 1.
    """

    def __init__(
        self, profile: type[Profile], timeout_s: float | None, limits: Limits, allow_unsafe: bool
    ) -> None:
        self._profile = profile()
        self._profile.timeout_s = timeout_s
        self._problems: Received | None = None
        self._sandbox = Sandbox(limits, workers=1, allow_unsafe=allow_unsafe)

    def version(self) -> str:
        """Of Truegrade on this machine; an answer at all says that the actor is alive."""
        return __version__

    def grade_batch(self, batch: Sequence[Completion], cargo: Cargo) -> GradedBatch:
        """Give a batch its verdicts, in order, until they are all there or the time is up.

        Args:
            batch: samples of the problems shipped.
            cargo: reference to the `Shipment`. Each batch brings it, since an actor that died and was started
                anew has forgotten it; only the first of an actor's life opens it.
        """
        began = time.perf_counter()
        problems = self._problems or self._open(cargo)
        verdicts: list[Verdict] = []
        failure: TruegradeError | None = None
        for completion in batch:
            try:
                problem = problems[completion.problem_id]
                verdicts.append(verdict_on(completion, problem, self._profile, self._sandbox))
            except TruegradeError as error:
                failure = error
                break
            if time.perf_counter() - began > _ENOUGH_S:
                break
        return GradedBatch(
            verdicts=verdicts,
            wall_s=time.perf_counter() - began,
            failure=None if failure is None else str(failure),
            at_fault="user" if isinstance(failure, UserError) else "machine",
        )

    def _open(self, cargo: Cargo) -> Received:
        import ray

        self._problems = Received(ray.get(cargo[0]), ray.get)
        return self._problems


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
        address: of the cluster, as `truegrade.apps.ray.crew.parse_address` returns it.
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
    require("ray", "`executor` ray")
    return RayGrader(parse_address(address), workers=workers, allow_unsafe=allow_unsafe)
