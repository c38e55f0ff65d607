"""The small protocol that every back end speaks."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec

from truegrade.errors import UserError
from truegrade.records import Attempt, Form, Problem, Prompt, Usage
from truegrade.records.config import Patience, Sampling


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One sample to ask for."""

    problem: Problem
    """For baselines and replay only: a real model sees ``prompt`` and nothing else."""
    prompt: Prompt
    sample: int
    """0-based."""
    sampling: Sampling
    """Parameters of the run; ``sampling.seed`` is already this sample's own seed."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a request, all attempts included. Failure is data: ``text`` is None."""

    text: str | None
    form: Form = "reply"
    reasoning: str | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    latency_s: float | None = None
    model: str
    attempts: tuple[Attempt, ...] = ()
    cost_usd: float | None = None


class Model(Protocol):
    """A model, wherever it runs. Back ends live one a file in `truegrade.models`."""

    @property
    def name(self) -> str:
        """``provider/name``."""

    @property
    def base_url(self) -> str | None:
        """Where it is served, or None in-process."""

    @property
    def patience(self) -> Patience:
        """Concurrency and retries in force."""

    async def generate(self, request: Request) -> Reply:
        """Answer one request. A failure after all attempts is a Reply without text.

        Raises:
            ModelError: nothing asked of this service can succeed (wrong key, no such model).
            UserError: the request cannot be made (no key set, no stored answer to replay).
        """

    async def close(self) -> None:
        """Release connections."""


@runtime_checkable
class BatchModel(Model, Protocol):
    """A model that can bring several samples of one problem in one request."""

    @property
    def batch_n(self) -> bool:
        """Whether the user asked for that."""

    async def generate_many(self, request: Request, n: int) -> list[Reply]:
        """Ask for ``n`` samples at once; however many came back, in order."""


def refuse_in_process_only(name: str, sampling: Sampling) -> None:
    """See that a model is asked for nothing that it would not even be told.

    Args:
        name: of a model that does not run in this process.
        sampling: what is asked of it.

    Raises:
        UserError: a parameter is set that only models in this process follow.
    """
    for parameter, value in sampling.in_process_only.items():
        raise UserError(
            f"{name} cannot be asked for {parameter} {value}, which only models in this process follow: leave it"
            f" out, or send it to a service that takes it as `model_args` {parameter}={value}"
        )
