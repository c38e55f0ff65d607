"""One request over the official Anthropic client: streamed, timed out by the wall clock, read or classified.

Every request is streamed: the client refuses others that might take more than ten minutes, and a connection on
which nothing is sent for minutes is cut by what lies between. A stream without its last event is no answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from truegrade.errors import UserError
from truegrade.models.anthropic_errors import read_failure
from truegrade.models.anthropic_reply import read_message, usage_of
from truegrade.models.providers import ModelEndpoint
from truegrade.models.service_client import CONNECT_TIMEOUT_S, VendorClient
from truegrade.models.service_errors import RequestFailure, one_line
from truegrade.models.service_parameters import Route, refuse_full_thinking, refuse_text
from truegrade.models.service_reply import Body
from truegrade.records import Message, Usage
from truegrade.records.config import Sampling

if TYPE_CHECKING:
    import anthropic

T = TypeVar("T")

VERSION = "2023-06-01"
"""Of the API. The next one, 2026-10-21, refuses temperature and top_p also for the models that follow them."""

DEFAULT_MAX_TOKENS = 32_768
"""Sent where a run sets no limit, because the API insists on one: room for thinking and answer. Every model that
is served today takes 64,000 and more (Anthropic, models overview)."""

_BROKEN = (ValueError, TypeError, LookupError, AttributeError, RuntimeError, AssertionError)
"""What the client raises while it puts a message together from events that do not fit."""


class AnthropicClient(VendorClient):
    """A connection to one service, opened at the first request.

    Args:
        endpoint: where, and with which key.
        model: the model's id at the service.
        timeout_s: wall seconds for one request.
        thinking: the request's ``thinking``; None leaves it out.
        extra_body: fields added to every request's body.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        model: str,
        *,
        timeout_s: float,
        thinking: Mapping[str, Any] | None,
        extra_body: Mapping[str, Any],
    ) -> None:
        super().__init__(endpoint, model)
        self._timeout_s, self._thinking, self._extra_body = timeout_s, thinking, dict(extra_body)
        self._client: anthropic.AsyncAnthropic | None = None

    def check(self, route: Route, sampling: Sampling) -> None:
        """See `truegrade.models.service_model.ServiceClient`.

        Raises:
            UserError: text to continue, a temperature above 1, or a thinking budget that fills the token limit.
        """
        refuse_text(route, self.name)
        if (sampling.temperature or 0.0) > 1:
            raise UserError(f"{self.name}: `temperature` {sampling.temperature}: the Messages API takes 0 to 1")
        budget, limit = (self._thinking or {}).get("budget_tokens"), sampling.max_tokens or DEFAULT_MAX_TOKENS
        if isinstance(budget, int):
            refuse_full_thinking(self.name, budget, limit, " (for the short replies of a probe, leave it out)")

    async def send(
        self, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]
    ) -> Body | RequestFailure:
        """Send one request; a failure is returned, never raised (cancellation passes through)."""
        return self.noted(await self._streamed(self.request_body(messages, parameters)))

    def request_body(self, messages: Sequence[Message], parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a request in the API's own terms.

        Args:
            messages: the prompt; what its system messages say goes before all turns.
            parameters: by the names of `truegrade.models.service_parameters.Parameters.build`.
        """
        body: dict[str, Any] = {"model": self._model, **parameters}
        system = "\n\n".join(message.content for message in messages if message.role == "system")
        if system:
            body["system"] = system
        body["messages"] = [
            {"role": message.role, "content": message.content} for message in messages if message.role != "system"
        ]
        if "stop" in body:
            body["stop_sequences"] = body.pop("stop")
        if self._thinking is not None:
            body["thinking"] = dict(self._thinking)
        body |= self._extra_body
        if "reasoning_effort" in body:
            body["output_config"] = {**body.get("output_config", {}), "effort": body.pop("reasoning_effort")}
        return body

    async def call(self, ask: Callable[[anthropic.AsyncAnthropic], Awaitable[T]]) -> T | RequestFailure:
        """Whatever else is asked of the vendor's client; a failure is returned, never raised."""
        import anthropic
        import httpx2

        try:
            outcome: T | RequestFailure = await ask(self.connected())
        except (anthropic.AnthropicError, httpx2.HTTPError, TimeoutError, OSError) as error:
            outcome = read_failure(error)
        return self.noted(outcome)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    async def _streamed(self, body: Mapping[str, Any]) -> Body | RequestFailure:
        import anthropic
        import httpx2

        required = {key: body[key] for key in ("model", "max_tokens", "messages")}
        # the client's arguments are those of the newest version of the API: temperature is none of them
        rest = {key: value for key, value in body.items() if key not in required}
        stream, whole = None, False
        try:
            async with asyncio.timeout(self._timeout_s):  # the client's own limit is for each single read
                async with self.connected().messages.stream(**required, extra_body=rest) as stream:
                    async for event in stream:
                        whole = whole or event.type == "message_stop"
            if whole:
                return read_message(stream.current_message_snapshot)
            failure = RequestFailure(kind="passing", error="the stream ended before the message did", status=200)
        except (anthropic.AnthropicError, httpx2.HTTPError, TimeoutError, OSError) as error:
            failure = read_failure(error)
        except _BROKEN as error:
            problem = f"malformed stream: {type(error).__name__}: {error}"
            failure = RequestFailure(kind="passing", error=one_line(problem), status=200)
        return failure if stream is None else msgspec.structs.replace(failure, usage=_counted(stream))

    def connected(self) -> anthropic.AsyncAnthropic:
        """The vendor's client, made at the first call."""
        if self._client is None:
            import anthropic

            self._client = anthropic.AsyncAnthropic(
                base_url=self._endpoint.address.removesuffix("/v1"),  # the client adds it
                api_key=self._endpoint.api_key or "none",  # without one it looks for other credentials
                default_headers={"anthropic-version": VERSION},
                max_retries=0,
                timeout=anthropic.Timeout(self._timeout_s, connect=min(self._timeout_s, CONNECT_TIMEOUT_S)),
                # a proxy cannot reach this machine's own addresses: its environment variables are not for them
                http_client=anthropic.DefaultAsyncHttpxClient(trust_env=not self._endpoint.local),
            )
        return self._client


def _counted(stream: anthropic.AsyncMessageStream[None]) -> Usage | None:
    """What was counted before a stream broke: the prompt, once a message has begun."""
    try:
        return usage_of(stream.current_message_snapshot)
    except AssertionError:  # no message has begun
        return None
