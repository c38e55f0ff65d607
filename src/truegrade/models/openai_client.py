"""One request over the official OpenAI client: sent once, timed out by the wall clock, read or classified."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from truegrade.models.openai_errors import read_failure
from truegrade.models.openai_reply import read_body
from truegrade.models.providers import ModelEndpoint
from truegrade.models.service_client import CONNECT_TIMEOUT_S, VendorClient
from truegrade.models.service_errors import RequestFailure
from truegrade.models.service_parameters import Route
from truegrade.models.service_reply import Body
from truegrade.records import Message
from truegrade.records.config import Sampling

if TYPE_CHECKING:
    import openai

T = TypeVar("T")


class OpenAIClient(VendorClient):
    """A connection to one service, opened at the first request.

    Args:
        endpoint: where, and with which key.
        model: the model's id at the service.
        timeout_s: wall seconds for one request.
        extra_body: fields added to every request's body.
    """

    def __init__(
        self, endpoint: ModelEndpoint, model: str, *, timeout_s: float, extra_body: Mapping[str, Any]
    ) -> None:
        super().__init__(endpoint, model)
        self._timeout_s, self._extra_body = timeout_s, dict(extra_body)
        self._client: openai.AsyncOpenAI | None = None

    def check(self, route: Route, sampling: Sampling) -> None:
        """Every request can be put; see `truegrade.models.service_model.ServiceClient`."""

    def body(self, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a request as it stands in a batch."""
        return {**self._fields(route, messages, parameters), **self._extra_body}

    async def send(
        self, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]
    ) -> Body | RequestFailure:
        """Send one request; a failure is returned, never raised (cancellation passes through)."""
        fields = self._fields(route, messages, parameters)

        async def create(client: openai.AsyncOpenAI) -> Body | RequestFailure:
            at = client.completions if route == "text" else client.chat.completions
            async with asyncio.timeout(self._timeout_s):  # the client's own limit is for each single read
                response = await at.with_raw_response.create(**fields, extra_body=self._extra_body or None)
            return read_body(response.content)

        return await self.call(create)

    async def call(self, ask: Callable[[openai.AsyncOpenAI], Awaitable[T]]) -> T | RequestFailure:
        """Whatever is asked of the client; a failure is returned, never raised (cancellation passes through)."""
        import httpx2
        import openai

        try:
            outcome: T | RequestFailure = await ask(self._connected())
        except (openai.OpenAIError, httpx2.HTTPError, TimeoutError, OSError) as error:
            outcome = read_failure(error)
        return self.noted(outcome)

    def _fields(self, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]) -> dict[str, Any]:
        """What is asked in the terms of the route's endpoint."""
        if route == "text":
            asked: dict[str, Any] = {"prompt": "".join(message.content for message in messages)}
        else:
            asked = {"messages": [{"role": message.role, "content": message.content} for message in messages]}
        return {"model": self._model, **asked, **parameters}

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    def _connected(self) -> openai.AsyncOpenAI:
        if self._client is None:
            import openai

            self._client = openai.AsyncOpenAI(
                base_url=self._endpoint.address,
                api_key=self._endpoint.api_key or "none",  # the client insists; keyless services ignore it
                max_retries=0,
                timeout=openai.Timeout(self._timeout_s, connect=min(self._timeout_s, CONNECT_TIMEOUT_S)),
                # a proxy cannot reach this machine's own addresses: its environment variables are not for them
                http_client=openai.DefaultAsyncHttpxClient(trust_env=not self._endpoint.local),
            )
            if self._endpoint.provider != "openai":
                # the client reads these from the environment; they concern nobody but OpenAI
                self._client.organization = self._client.project = None
        return self._client
