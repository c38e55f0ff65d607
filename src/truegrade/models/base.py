"""The protocols that back ends speak: one request, or batches that are answered within a day."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

import msgspec

from truegrade.errors import ModelError, UserError
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


# ---------------- Batches: many requests handed to a service together, answered within a day at a lower price.
# A model that can be asked so offers a `BatchService`, in which the differences between vendors lie; what is
# asked when, and what is done with the answers, is `truegrade.pipeline.generate_in_batches`.

LISTED_BEFORE_S = 24 * 3600.0
"""A lost batch is looked for among those that the service dates up to so much before its submission: the clocks of
two machines differ, and the time within which batches are answered is a day."""


class BatchQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a batch."""

    custom_id: str
    """``TOKEN-i``; the service gives it back with the answer."""
    prompt: Prompt
    sampling: Sampling
    """The seed is already the sample's own."""


class EncodedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it is sent."""

    content: bytes
    """JSON, without a newline."""
    endpoint: str
    """All requests of a batch have the same."""
    bound_usd: float | None
    """What it can cost at most; None where the price is not known or no token limit is set."""


class BatchState(msgspec.Struct, frozen=True, kw_only=True):
    """How far a batch is, as the service says."""

    id: str
    status: Literal["running", "ended", "expired", "cancelled", "failed"]
    """``expired``, ``cancelled``: some requests may have been answered before; ``failed``: none was begun."""
    total: int = 0
    """Requests."""
    answered: int = 0
    failed: int = 0
    reason: str | None = None
    """Why it failed, in the service's words."""


class PassingFailure(ModelError):
    """A request about a batch failed in a way that may pass; whether it had an effect is not known."""


class BatchService(Protocol):
    """The batch interface of one model at one service.

    Every method that asks the service raises PassingFailure where asking again may help, and otherwise ModelError,
    one line that says what to do.
    """

    @property
    def max_requests(self) -> int:
        """Requests that a batch may hold."""

    @property
    def max_bytes(self) -> int:
        """Bytes that the requests of a batch may have together."""

    @property
    def learnt(self) -> int:
        """Results so far that taught which parameters the service does not take: asking again may bring more."""

    def encode(self, question: BatchQuestion) -> EncodedQuestion:
        """A request with the parameters that an ordinary one would have."""

    async def submit(self, token: str, requests: Sequence[EncodedQuestion]) -> str:
        """Hand over a batch that can be found again by its token.

        Returns:
            The id that the service gives it.
        """

    async def find(self, token: str, since: float) -> str | None:
        """Look for a batch whose id was lost.

        Args:
            token: what it was submitted with.
            since: seconds since the epoch, when its submission began by the clock of this machine.

        Returns:
            Its id; None if there is none.
        """

    async def state(self, id_: str) -> BatchState:
        """Ask how far a batch is."""

    def results(self, id_: str, questions: Mapping[str, BatchQuestion]) -> AsyncIterator[tuple[str, Reply]]:
        """Stream what a batch that has ended brought, in any order.

        Args:
            id_: the service's.
            questions: what was asked, by custom id.

        Yields:
            Custom id and reply; a request that failed has a reply without text.
        """


@runtime_checkable
class BatchableModel(Protocol):
    """A model that can be asked in batches."""

    def batch_service(self) -> BatchService | None:
        """Its batch interface; None where the service at this address has none that is known."""
