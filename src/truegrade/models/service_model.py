"""A model behind a service's address: attempts, waiting, learning what the service takes, accounting.

A `ServiceClient` speaks the vendor's protocol. The clients' own retries are off: every request is made, timed and
recorded here, so that a run can say what each answer took. Samples are separate requests with their own seeds,
because not every service honours ``n``, and those that do derive the seeds of its choices each in its own way.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Generic, Protocol, TypeVar

from truegrade.errors import ModelError
from truegrade.models.base import BatchService, Reply, refuse_in_process_only
from truegrade.models.providers import ModelEndpoint, Price
from truegrade.models.service_errors import (
    BUSY_STATUS,
    CONNECT_TIMEOUT_S,
    FIRST_CONNECT_TIMEOUT_S,
    NO_CONNECTION,
    Body,
    Gate,
    RequestFailure,
    explain,
    log_adapted,
    log_attempt,
    log_unreached,
    log_wait,
    without_secrets,
)
from truegrade.models.service_parameters import Parameters, Route, ServiceOptions
from truegrade.records import Attempt, Message, Prompt, Usage
from truegrade.records.config import RequestPolicy, Sampling

T = TypeVar("T")
ConnectionT = TypeVar("ConnectionT")


class ServiceClient(ABC, Generic[ConnectionT]):
    """One request over the library of a vendor: sent once, timed out by the wall clock, read or classified.

    Args:
        endpoint: where, and with which key.
        model: the model's id at the service.
        timeout_s: wall seconds for one request.
        extra_body: fields added to every request's body.
    """

    def __init__(
        self, endpoint: ModelEndpoint, model: str, *, timeout_s: float, extra_body: Mapping[str, Any]
    ) -> None:
        self._endpoint, self._model = endpoint, model
        self._timeout_s, self._extra_body = timeout_s, dict(extra_body)
        self._connection: ConnectionT | None = None
        self.reached = False
        """Whether a connection was ever made."""

    @property
    def name(self) -> str:
        """``provider/name``, as messages call the model."""
        return f"{self._endpoint.provider}/{self._model}"

    @abstractmethod
    def check(self, route: Route, sampling: Sampling) -> None:
        """See, before anything is sent, that such a request can be put at all.

        Raises:
            UserError: it cannot; the message says what to change.
        """

    @abstractmethod
    async def send(
        self, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]
    ) -> Body | RequestFailure:
        """Send one request; a failure is returned, never raised (cancellation passes through).

        Args:
            route: a chat, or one text to continue.
            messages: the prompt.
            parameters: as `Parameters.build` makes them; ``model`` among them replaces the model's name.
        """

    @abstractmethod
    def open(self) -> ConnectionT:
        """The library's client, with `settings`."""

    def connected(self) -> ConnectionT:
        """The library's client, made at the first call."""
        if self._connection is None:
            self._connection = self.open()
        return self._connection

    def settings(self, library: Any) -> dict[str, Any]:
        """Arguments that the clients of OpenAI's and Anthropic's libraries, two of one make, are given alike."""
        return {
            "api_key": self._endpoint.api_key or "none",  # the clients insist, or look for other credentials
            "max_retries": 0,
            "timeout": library.Timeout(self._timeout_s, connect=min(self._timeout_s, FIRST_CONNECT_TIMEOUT_S)),
            # a proxy cannot reach this machine's own addresses: its environment variables are not for them
            "http_client": library.DefaultAsyncHttpxClient(trust_env=not self._endpoint.local),
        }

    def note_outcome(self, outcome: T | RequestFailure) -> T | RequestFailure:
        """The outcome of a request, with keys taken out of it; and whether there was a connection is noted."""
        failure = outcome if isinstance(outcome, RequestFailure) else None
        if not (self.reached or (failure and failure.unreachable)):
            self.reached = True
            self.connected().timeout.connect = min(self._timeout_s, CONNECT_TIMEOUT_S)  # type: ignore[attr-defined]
        return without_secrets(failure, self._endpoint.secrets) if failure else outcome

    async def close(self) -> None:
        """Close the connections."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()  # type: ignore[attr-defined]


class ServiceOpener(Protocol):
    """How a back end makes a model of an address; nothing is sent yet."""

    def __call__(
        self,
        endpoint: ModelEndpoint,
        model: str,
        request_policy: RequestPolicy,
        args: Mapping[str, Any],
        listed_price: Price | None,
    ) -> ServiceModel:
        """Open a model.

        Args:
            endpoint: where, and with which key.
            model: the model's id at the service.
            request_policy: concurrency, time-out and retries.
            args: model arguments; reserved keys are the back end's options, the rest goes into the request.
            listed_price: price unless ``args`` give one; None leaves costs unknown.

        Raises:
            UserError: a model argument is not understood, or the vendor's client is not installed.
        """


class ServiceModel:
    """A model behind an address; use it within one event loop.

    Args:
        endpoint: where, and with which key.
        model: the model's id at the service.
        client: speaks the vendor's protocol; closed with the model.
        fresh_parameters: parameters of a route that nothing was learnt of yet.
        request_policy: concurrency, time-out and retries.
        options: the model arguments that concern every service.
        price: None leaves costs unknown.
        batch_n: whether several samples are asked for in one request.
        batches: makes the batch interface of the model, where its service has one.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        model: str,
        client: ServiceClient[Any],
        *,
        fresh_parameters: Callable[[Route], Parameters],
        request_policy: RequestPolicy,
        options: ServiceOptions,
        price: Price | None = None,
        batch_n: bool = False,
        batches: Callable[[ServiceModel], BatchService] | None = None,
    ) -> None:
        self._endpoint, self._model, self._client = endpoint, model, client
        self._request_policy, self._options, self._price, self._batch_n = request_policy, options, price, batch_n
        self._batches = batches
        self.fresh_parameters = fresh_parameters
        """Parameters of a route that nothing was learnt of yet."""
        self._parameters: dict[Route, Parameters] = {
            "chat": fresh_parameters("chat"),
            "text": fresh_parameters("text"),
        }
        self._gate = Gate(request_policy.max_connections)
        self._jitter = Random(self.name)
        self._warned_unreached = False

    @property
    def name(self) -> str:
        """``provider/name``."""
        return f"{self._endpoint.provider}/{self._model}"

    @property
    def base_url(self) -> str:
        """Where it is served."""
        return self._endpoint.base_url

    @property
    def request_policy(self) -> RequestPolicy:
        """Concurrency and retries in force."""
        return self._request_policy

    @property
    def price(self) -> Price | None:
        """What costs are computed from, or None."""
        return self._price

    @property
    def adaptations(self) -> tuple[str, ...]:
        """Parameters that the service did not take as asked, and what was sent instead; for the manifest."""
        return tuple(note for parameters in self._parameters.values() for note in parameters.adaptations)

    @property
    def batch_n(self) -> bool:
        """Whether the user wants several samples in one request and the service has not refused ``n``."""
        return self._batch_n and all(parameters.accepts("n") for parameters in self._parameters.values())

    @property
    def reached(self) -> bool:
        """Whether a connection was ever made."""
        return self._client.reached

    def batch_service(self) -> BatchService | None:
        """Its batch interface; see `truegrade.models.base.BatchableModel`."""
        return None if self._batches is None else self._batches(self)

    def parameters(self, route: Route) -> Parameters:
        """What is sent along a route, with what was learnt of the service."""
        return self._parameters[route]

    async def generate(self, prompt: Prompt, sampling: Sampling) -> Reply:
        """Answer a prompt; see `truegrade.models.base.Model`."""
        return (await self._ask(prompt, sampling, None))[0]

    async def generate_many(self, prompt: Prompt, sampling: Sampling, n: int) -> list[Reply]:
        """Ask for ``n`` samples in one request and return as many as came, at least one.

        Attempts, usage and cost concern the request as a whole; they stand on the first reply only.

        Raises:
            ModelError: as `generate`.
        """
        return await self._ask(prompt, sampling, n)

    def route(self, prompt: Prompt) -> Route:
        """Which endpoint a prompt goes to."""
        return "text" if prompt.style == "text" and not self._options.text_as_chat else "chat"

    def check(self, route: Route, sampling: Sampling) -> None:
        """See, before anything is sent, that a request can be put at all.

        Raises:
            UserError: it cannot; the message says what to change.
        """
        refuse_in_process_only(self.name, sampling)
        self._client.check(route, sampling)

    async def send(
        self, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]
    ) -> Body | RequestFailure:
        """One request as it stands, for the probe: not repeated, not adapted, in no account."""
        async with self._gate.enter():
            return await self._client.send(route, messages, parameters)

    def explain(self, failure: RequestFailure, route: Route) -> str:
        """Who failed, where, how, and what to do."""
        return explain(failure, self._endpoint, self._model, route)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _ask(self, prompt: Prompt, sampling: Sampling, n: int | None) -> list[Reply]:
        """Attempt until there is text, an acceptable emptiness, or no attempt is left.

        A request that only taught us which parameters the service takes is recorded but does not count against
        ``max_attempts``; there can be no more of them than parameters.
        """
        route = self.route(prompt)
        self.check(route, sampling)
        attempts: list[Attempt] = []
        counted = empties = 0
        empty_body: Body | None = None
        while counted < self._request_policy.max_attempts:
            attempt, outcome, adapted = await self._attempt(route, prompt, sampling, n)
            attempts.append(attempt)
            log_attempt(self.name, len(attempts), attempt)
            if adapted:
                log_adapted(self.name, self.adaptations)
                continue
            counted += 1
            if isinstance(outcome, Body):
                if not outcome.empty_by_chance:
                    return self.replies(route, outcome, attempts)
                empties, empty_body = empties + 1, outcome
                if empties == self._options.max_empty:
                    break
            elif outcome.kind == "refused":
                break
            else:
                await self._wait_after(outcome, route, counted)
        return self.replies(route, empty_body, attempts)

    async def _attempt(
        self, route: Route, prompt: Prompt, sampling: Sampling, n: int | None
    ) -> tuple[Attempt, Body | RequestFailure, bool]:
        """One request: its record, what came of it, and whether the next will be put differently.

        Raises:
            ModelError: the failure concerns every request.
        """
        async with self._gate.enter():
            sent = self.parameters(route).build(prompt, sampling, n)
            started = time.perf_counter()
            outcome = await self._client.send(route, prompt.messages, sent)
            latency_s = time.perf_counter() - started
            # inside the gate: whoever gets this place next must already know what the service said
            adapted = isinstance(outcome, RequestFailure) and self._react(outcome, route, sent)
        accounts: dict[str, Any] = {
            "latency_s": latency_s,
            "usage": outcome.usage,
            "cost_usd": self._cost_usd(outcome.usage),
        }
        if isinstance(outcome, Body):
            attempt = Attempt(outcome="empty" if outcome.empty else "ok", status=200, **accounts)
        else:
            attempt = Attempt(outcome="error", status=outcome.status, error=outcome.error, **accounts)
        return attempt, outcome, adapted

    def _react(self, failure: RequestFailure, route: Route, sent: Mapping[str, Any]) -> bool:
        """Stop the run, change the parameters, or hold back every next request, as the failure demands.

        Returns:
            Whether the parameters changed.
        """
        if failure.kind == "stopping":
            raise ModelError(self.explain(failure, route))
        if failure.kind == "refused":
            return self.parameters(route).learn(failure, sent)
        wait_s = failure.wait_s or 0.0
        if wait_s > self._request_policy.timeout_s:
            raise ModelError(
                f"{self.name} at {self.base_url} asks to be left alone for {wait_s:.0f} s, longer than one "
                "request may take: run the same command again after that time; what is stored is kept"
            )
        if failure.status in BUSY_STATUS:
            self._gate.pause(wait_s)
        return False

    async def _wait_after(self, failure: RequestFailure, route: Route, counted: int) -> None:
        """Wait after a passing failure: as long as the service asks, else an exponential back-off.

        The jitter comes from one stream a model: no two samples wait in step, and a run can be repeated.

        Raises:
            ModelError: that was the last attempt, and no connection was ever made.
        """
        unreached = failure.unreachable and not self._client.reached
        if counted >= self._request_policy.max_attempts:
            if unreached:
                raise ModelError(self.explain(failure, route))
            return
        if unreached and not self._warned_unreached:
            self._warned_unreached = True
            left = range(counted, self._request_policy.max_attempts)
            connect_s = FIRST_CONNECT_TIMEOUT_S if failure.error == NO_CONNECTION else 0.0
            most_s = sum(self._longest_wait_s(each) + connect_s for each in left)
            log_unreached(self.name, self.base_url, most_s, failure.error)
        wait_s = failure.wait_s
        if wait_s is None:
            wait_s = self._longest_wait_s(counted) * self._jitter.uniform(0.5, 1.0)
        log_wait(self.name, wait_s, failure.error)
        await asyncio.sleep(wait_s)

    def _longest_wait_s(self, counted: int) -> float:
        policy = self._request_policy
        return min(policy.backoff_max_s, float(policy.backoff_s * 2 ** (counted - 1)))

    def _cost_usd(self, usage: Usage | None) -> float | None:
        return self._price.cost_usd(usage) if self._price and usage else None

    def replies(self, route: Route, body: Body | None, attempts: Sequence[Attempt]) -> list[Reply]:
        """The choices of the answering request, or one reply without text; accounts stand on the first."""
        total_usd = self._total_usd(attempts)
        if body is None:
            return [Reply(text=None, model=self._model, attempts=tuple(attempts), cost_usd=total_usd)]
        answering = next(attempt for attempt in reversed(attempts) if attempt.outcome != "error")
        return [
            Reply(
                text=choice.text,
                form="completion" if route == "text" else "reply",
                reasoning=choice.reasoning,
                finish_reason=choice.finish_reason,
                usage=body.usage if i == 0 else None,
                latency_s=answering.latency_s,
                model=body.model or self._model,
                attempts=tuple(attempts) if i == 0 else (),
                cost_usd=total_usd if i == 0 else None,
            )
            for i, choice in enumerate(body.choices)
        ]

    def _total_usd(self, attempts: Sequence[Attempt]) -> float | None:
        """Cost of all attempts; None without a price, or where an answer came without usage."""
        if self._price is None or any(a.usage is None for a in attempts if a.outcome != "error"):
            return None
        return sum(attempt.cost_usd or 0.0 for attempt in attempts)
