"""What the batches of all services share: requests put as ordinary ones are, replies, their cost at half price."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import IO, Any, ClassVar, TypeVar

import msgspec

from truegrade.errors import ModelError
from truegrade.files.json_text import encode
from truegrade.models.base import BatchQuestion, BatchState, EncodedQuestion, FoundBatch, PassingFailure, Reply
from truegrade.models.service_errors import Body, RequestFailure
from truegrade.models.service_model import ServiceModel
from truegrade.models.service_parameters import Route
from truegrade.records import Attempt, Message, Usage

T = TypeVar("T")

SHARE_OF_PRICE = 0.5
"""Of the list price, input and output alike.

Sources: OpenAI, guide "Batch API" ("50% cost discount compared to synchronous APIs"); Anthropic, "Batch
processing" ("All usage is charged at 50% of the standard API prices").
"""


class ServiceBatches(ABC):
    """A `truegrade.models.base.BatchService` of a `ServiceModel`; each vendor's is derived from it.

    Args:
        model: whose parameters, price and connection are used.
    """

    max_requests: ClassVar[int]
    max_bytes: ClassVar[int]

    def __init__(self, model: ServiceModel) -> None:
        self._model = model
        self.learnt = 0
        """See `truegrade.models.base.BatchService`."""
        self._price = model.price.times(SHARE_OF_PRICE) if model.price else None

    @abstractmethod
    def envelope(
        self, custom_id: str, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A request as the vendor's batches hold it."""

    @abstractmethod
    async def submit(self, token: str, requests: Sequence[EncodedQuestion]) -> str:
        """See `truegrade.models.base.BatchService`."""

    @abstractmethod
    async def find(self, token: str, requests: int, since: float, besides: Collection[str]) -> FoundBatch | None:
        """See `truegrade.models.base.BatchService`."""

    @abstractmethod
    async def state(self, id_: str) -> BatchState:
        """See `truegrade.models.base.BatchService`."""

    @abstractmethod
    def outcomes(self, id_: str) -> AsyncIterator[tuple[str, Body | RequestFailure]]:
        """Stream what a batch brought, by custom id."""

    def encode(self, question: BatchQuestion) -> EncodedQuestion:
        """A request with the parameters that an ordinary one would have."""
        prompt, sampling = question.prompt, question.sampling
        route = self._model.route(prompt)
        parameters = self._model.parameters(route).build(prompt, sampling)
        content = encode(self.envelope(question.custom_id, route, prompt.messages, parameters))
        bound_usd = None
        if self._price is not None and sampling.max_tokens is not None:
            # a token stands for at least one byte of text, and the names around it outweigh a chat's template
            most = Usage(input_tokens=len(content), output_tokens=sampling.max_tokens)
            bound_usd = self._price.cost_usd(most)
        return EncodedQuestion(content=content, endpoint=route, bound_usd=bound_usd)

    async def results(self, id_: str, questions: Mapping[str, BatchQuestion]) -> AsyncIterator[tuple[str, Reply]]:
        """See `truegrade.models.base.BatchService`; a refused parameter is learnt for the next batch."""
        sent = {
            custom_id: self._model.parameters(self._model.route(asked.prompt)).build(asked.prompt, asked.sampling)
            for custom_id, asked in questions.items()
        }
        async for custom_id, outcome in self.outcomes(id_):
            if custom_id not in questions:
                continue
            route = self._model.route(questions[custom_id].prompt)
            if isinstance(outcome, RequestFailure) and outcome.kind == "refused":
                self.learnt += self._model.parameters(route).learn(outcome, sent[custom_id])
            yield custom_id, self._reply(route, outcome)

    def result_or_raise(self, outcome: T | RequestFailure, advice: str) -> T:
        """What a request about a batch brought.

        Args:
            outcome: of the request.
            advice: what to do where it failed for good.

        Raises:
            PassingFailure: asking again may help.
            ModelError: it will not.
        """
        if not isinstance(outcome, RequestFailure):
            return outcome
        if outcome.kind == "passing" and not (outcome.unreachable and not self._model.reached):
            raise PassingFailure(f"{self._model.name} at {self._model.base_url}: {outcome.error}")
        if outcome.status in {400, 404, 413}:
            outcome = msgspec.structs.replace(outcome, advice=advice)
        raise ModelError(self._model.explain(outcome, "chat"))

    @staticmethod
    def unknown(id_: str) -> str:
        """What to do where a service does not know a batch."""
        return (
            f"batch {id_} is not known there with this key: use the key that it was submitted with, or, where it"
            " is gone, remove its lines from batches.jsonl"
        )

    def _reply(self, route: Route, outcome: Body | RequestFailure) -> Reply:
        """An emptiness by chance is a reply without text, as is a failure: the sample is asked again."""
        cost_usd = self._price.cost_usd(outcome.usage) if self._price and outcome.usage else None
        if isinstance(outcome, RequestFailure):
            failed = Attempt(
                outcome="error", status=outcome.status, error=outcome.error, usage=outcome.usage, cost_usd=cost_usd
            )
            return self._model.replies(route, None, [failed])[0]
        attempt = Attempt(
            outcome="empty" if outcome.empty else "ok", status=200, usage=outcome.usage, cost_usd=cost_usd
        )
        return self._model.replies(route, None if outcome.empty_by_chance else outcome, [attempt])[0]


async def written(file: IO[bytes], streamed: AbstractAsyncContextManager[Any]) -> None:
    """Write what a vendor's client streams, piece by piece."""
    async with streamed as response:
        async for piece in response.iter_bytes():
            file.write(piece)
