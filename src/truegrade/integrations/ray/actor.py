"""What stands on a core of the cluster: a supervisor with a sandbox of its own, for one profile."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from truegrade import __version__
from truegrade.errors import TruegradeError, UserError
from truegrade.integrations.ray.queueing import TARGET_S
from truegrade.integrations.ray.shipping import Received
from truegrade.pipeline.verdicts import verdict_on
from truegrade.profiles import Profile
from truegrade.records import Completion, Verdict
from truegrade.sandbox import Limits, Sandbox

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
        limits: of the programs.
        allow_unsafe: run programs even at protection level 1.
    """

    def __init__(self, profile: type[Profile], limits: Limits, allow_unsafe: bool) -> None:
        self._profile = profile()
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
