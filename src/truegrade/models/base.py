"""The small protocol that every back end speaks."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec

from truegrade.errors import UserError
from truegrade.records import Attempt, Form, Prompt, SampleKey, Usage
from truegrade.records.config import RequestPolicy, Sampling


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a question, all attempts included. Failure is data: ``text`` is None."""

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
    """A model, wherever it runs. Back ends live one a file in `truegrade.models`.

    A model is told the prompt and the parameters, and never the problem: it holds the reference and the tests.
    """

    @property
    def name(self) -> str:
        """``provider/name``."""

    @property
    def base_url(self) -> str | None:
        """Where it is served, or None in-process."""

    @property
    def request_policy(self) -> RequestPolicy:
        """Concurrency and retries in force."""

    async def generate(self, prompt: Prompt, sampling: Sampling) -> Reply:
        """Answer a prompt. A failure after all attempts is a Reply without text.

        Args:
            prompt: all that the model sees.
            sampling: parameters of the run; the seed is already the sample's own.

        Raises:
            ModelError: nothing asked of this service can succeed (wrong key, no such model).
            UserError: the prompt cannot be answered (no key set, a parameter that cannot be followed).
        """

    async def close(self) -> None:
        """Release connections."""


@runtime_checkable
class MultiSampleModel(Model, Protocol):
    """A model that can bring several samples of one problem in one request."""

    @property
    def batch_n(self) -> bool:
        """Whether the user asked for that."""

    async def generate_many(self, prompt: Prompt, sampling: Sampling, n: int) -> list[Reply]:
        """Ask for ``n`` samples at once; however many came back, in order."""


@runtime_checkable
class SampleModel(Model, Protocol):
    """A model whose reply depends on which sample of which problem is asked for, whatever the prompt says.

    Stored replies are found by the sample's key, an agent's steps are stored under it, and weights in this process
    draw by the sample's number where no seed is given.
    """

    async def generate_sample(self, key: SampleKey, prompt: Prompt, sampling: Sampling) -> Reply:
        """Answer one sample of a run; otherwise as `generate`."""


async def generate_sample(model: Model, key: SampleKey, prompt: Prompt, sampling: Sampling) -> Reply:
    """Ask a model for one sample of a run; only a `SampleModel` is told which.

    Raises:
        ModelError, UserError: as `Model.generate`.
    """
    if isinstance(model, SampleModel):
        return await model.generate_sample(key, prompt, sampling)
    return await model.generate(prompt, sampling)


def no_sample(name: str) -> UserError:
    """The refusal of a question that is no sample of a run, by a model that answers nothing else."""
    return UserError(f"{name} answers the samples of a run and no other question: name a model that generates")


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
