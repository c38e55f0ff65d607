"""Finding a cluster, or starting one of this machine's cores."""

from __future__ import annotations

import logging
import os
import pickle
import re
import socket
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from truegrade import __version__
from truegrade.errors import SandboxError, TruegradeError, UserError
from truegrade.grading.contests.tests import stored_text
from truegrade.pipeline.verdicts import verdict_on
from truegrade.profiles import Profile
from truegrade.records import Completion, ContestTask, FileSpan, Problem, SampleKey, Verdict
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
    task = problem.task
    if not isinstance(task, ContestTask) or not isinstance(task.private_tests, FileSpan):
        return problem
    held = msgspec.structs.replace(task, private_tests=stored_text(task.private_tests))
    return msgspec.structs.replace(problem, task=held)


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
