"""How the probe asks: a service by single requests as they stand, any other model through its one method.

A refusal that names a parameter is noted and the request repeated without it, by the same rules as in a run. What
may pass (too many requests, a broken connection) is tried `TRIES` times.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import msgspec

from truegrade.errors import ModelError, UserError
from truegrade.models.base import Model
from truegrade.models.service_errors import Body, RequestFailure
from truegrade.models.service_model import ServiceModel
from truegrade.models.service_parameters import Parameters, Route
from truegrade.records import Prompt
from truegrade.records.config import Sampling

TRIES = 3
MAX_WAIT_S = 20.0


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What came back of one request."""

    texts: tuple[str, ...]
    """One a choice, thinking included: it is sampled like the rest."""
    finish_reason: str | None
    output_tokens: int | None
    logprobs: tuple[float, ...] | None = None

    @property
    def text(self) -> str:
        """The first choice."""
        return self.texts[0]


class Unanswered(Exception):
    """A request that brought nothing; the message is what the service said."""


class Port(Protocol):
    """Something that can be probed, and what the probe has cost."""

    requests: int
    output_tokens: int

    async def ask(
        self, prompt: Prompt, sampling: Sampling, *, n: int | None = None, logprobs: bool = False
    ) -> Seen:
        """Ask once.

        Raises:
            Unanswered: this request brought nothing.
            ModelError, UserError: none will.
        """

    def refusal(self, *names: str) -> str | None:
        """Why a parameter was not sent; None where one of these names was."""

    async def answers_to(self, model: str, prompt: Prompt) -> str | None:
        """What is said to a request for another model; None where it is answered.

        Raises:
            Unanswered: that cannot be told.
        """

    async def close(self) -> None:
        """Release connections."""


class ServicePort:
    """A model behind a service's address."""

    def __init__(self, model: ServiceModel) -> None:
        self._model = model
        self._parameters: dict[Route, Parameters] = {}
        self.requests = self.output_tokens = 0

    async def ask(
        self, prompt: Prompt, sampling: Sampling, *, n: int | None = None, logprobs: bool = False
    ) -> Seen:
        """See `Port`."""
        route = self._model.route(prompt)
        self._model.check(route, sampling)
        parameters = self._learnt(route)
        passing = 0
        while True:
            sent = parameters.build(prompt, sampling, n)
            if logprobs and parameters.accepts("logprobs"):
                sent["logprobs"] = True if route == "chat" else 1
            outcome = await self._send(route, prompt, sent)
            if isinstance(outcome, Body):
                return _seen_in_body(outcome)
            if outcome.kind == "stopping":
                raise ModelError(self._model.explain(outcome, route))
            if outcome.kind == "refused":
                if not parameters.learn(outcome, sent):
                    raise Unanswered(outcome.error)
                continue
            passing += 1
            if passing == TRIES:
                if outcome.unreachable:
                    raise ModelError(self._model.explain(outcome, route))
                raise Unanswered(outcome.error)
            await asyncio.sleep(min(outcome.wait_s or 0.5, MAX_WAIT_S))

    def refusal(self, *names: str) -> str | None:
        """See `Port`."""
        notes = [parameters.note(name) for parameters in self._parameters.values() for name in names]
        told = [note for note in notes if note is not None]
        return told[0] if len(told) == len(names) else None

    async def answers_to(self, model: str, prompt: Prompt) -> str | None:
        """See `Port`."""
        route = self._model.route(prompt)
        parameters = self._learnt(route).build(prompt, Sampling(max_tokens=1))
        outcome = await self._send(route, prompt, {**parameters, "model": model})
        if isinstance(outcome, Body):
            return None
        if outcome.kind == "passing":
            raise Unanswered(outcome.error)
        return outcome.error

    async def close(self) -> None:
        """See `Port`."""
        await self._model.close()

    def _learnt(self, route: Route) -> Parameters:
        return self._parameters.setdefault(route, self._model.fresh_parameters(route))

    async def _send(self, route: Route, prompt: Prompt, sent: dict[str, Any]) -> Body | RequestFailure:
        self.requests += 1
        outcome = await self._model.send(route, prompt.messages, sent)
        if outcome.usage is not None:
            self.output_tokens += outcome.usage.output_tokens
        return outcome


class ModelPort:
    """A model that runs in this process, or one of the caller's own. It stays open: a run may follow."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.requests = self.output_tokens = 0

    async def ask(
        self, prompt: Prompt, sampling: Sampling, *, n: int | None = None, logprobs: bool = False
    ) -> Seen:
        """See `Port`; one sample a request, without log probabilities."""
        self.requests += 1
        reply = await self._model.generate(prompt, sampling)
        if reply.text is None:
            why = next((attempt.error for attempt in reply.attempts if attempt.error), "no reason given")
            raise Unanswered(why)
        tokens = reply.usage.output_tokens if reply.usage else None
        self.output_tokens += tokens or 0
        text = (reply.reasoning or "") + reply.text
        return Seen(texts=(text,), finish_reason=reply.finish_reason, output_tokens=tokens)

    def refusal(self, *names: str) -> str | None:
        """See `Port`: an engine of this process that cannot honour something says so at once."""
        return None

    async def answers_to(self, model: str, prompt: Prompt) -> str | None:
        """See `Port`."""
        raise Unanswered("it runs in this process, so no server can take another model for it")

    async def close(self) -> None:
        """See `Port`."""


def port_of(model: Model) -> Port:
    """The way to probe a model.

    Raises:
        UserError: it writes no text of its own.
    """
    if isinstance(model, ServiceModel):
        return ServicePort(model)
    if model.name.startswith(("baseline/", "replay:")):
        raise UserError(f"{model.name} generates nothing, so there is nothing to probe: name another `model`")
    return ModelPort(model)


def _seen_in_body(body: Body) -> Seen:
    first = body.choices[0]
    return Seen(
        texts=tuple((choice.reasoning or "") + choice.text for choice in body.choices),
        finish_reason=first.finish_reason,
        output_tokens=body.usage.output_tokens if body.usage else None,
        logprobs=first.logprobs,
    )
