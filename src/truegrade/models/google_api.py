"""Google's models through its own client: the Gemini API, and the same models on Vertex AI.

Arguments of the model (``-M key=value``) are the fields of `GoogleOptions`. Every other key goes into the
request's body as it is (``-M generationConfig={"presencePenalty": 0.5}``).
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from truegrade.errors import UserError
from truegrade.models.google_reply import read_google_body, read_google_error
from truegrade.models.presets import Price
from truegrade.models.providers import ModelEndpoint, Provider, find_endpoint, require_client
from truegrade.models.service_client import VendorClient
from truegrade.models.service_errors import RequestFailure, connection_failure, one_line
from truegrade.models.service_model import ServiceModel
from truegrade.models.service_options import ServiceOptions, split_arguments
from truegrade.models.service_parameters import Parameters, Route, refuse_text
from truegrade.models.service_reply import Body
from truegrade.records import Message
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.registry import Found

if TYPE_CHECKING:
    from google import genai

ThinkingLevel = Literal["minimal", "low", "medium", "high", "xhigh"]
"""As the client knows them; which of them a model takes, the service says."""

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_ROLES = {"user": "user", "assistant": "model"}
_NAMES = {
    "max_tokens": "max_output_tokens",
    "stop": "stop_sequences",
    "n": "candidate_count",
    "logprobs": "response_logprobs",
}


class GoogleOptions(ServiceOptions, frozen=True, kw_only=True):
    """Reserved keys, each with its meaning."""

    thinking_budget: int | None = None
    """Tokens to think with: 0 for none, -1 for as many as the model likes."""
    thinking_level: ThinkingLevel | None = None
    """How much to think, for models that take a level."""
    include_thoughts: bool | None = None
    """Ask for a summary of the thoughts; None: where a budget, a level or a reasoning effort is given."""
    top_k: int | None = None
    """Only so many of the likeliest tokens are drawn from."""
    batch_n: bool = False
    """Ask for several samples of a problem in one request (candidateCount)."""
    vertex: bool = False
    """Ask Vertex AI, with application-default credentials instead of a key."""
    project: str | None = None
    """The Google Cloud project; None: ``GOOGLE_CLOUD_PROJECT``, else that of the credentials."""
    location: str | None = None
    """The region of Vertex AI; None: ``GOOGLE_CLOUD_LOCATION``, else ``global``."""


class VertexEndpoint(ModelEndpoint):
    """An address of Vertex AI, with credentials and project instead of a key."""

    def __init__(self, provider: str, base_url: str, credentials: Any, project: str, location: str) -> None:
        super().__init__(provider, base_url, None, "GOOGLE_APPLICATION_CREDENTIALS")
        self.credentials, self.project, self.location = credentials, project, location


def find_google(provider: Found[Provider], base_url: str | None, args: Mapping[str, Any]) -> ModelEndpoint:
    """Where Google is asked, and with what: the Gemini API by a key, Vertex AI by credentials.

    Raises:
        UserError: no key, no credentials or no project, or ``truegrade[google]`` is not installed.
    """
    options, _ = split_arguments(args, GoogleOptions)
    require_client("google.genai", "google")
    if options.vertex:
        return _find_vertex(provider.name, base_url, options)
    for name in ("project", "location"):
        if getattr(options, name) is not None:
            raise UserError(f"`model_args` {name} is for Vertex AI: add vertex=true, or leave it out")
    return find_endpoint(provider, base_url=base_url, key_variable=options.api_key_env)


def open_google(
    endpoint: ModelEndpoint,
    model: str,
    request_policy: RequestPolicy,
    args: Mapping[str, Any],
    listed_price: Price | None,
) -> ServiceModel:
    """Open a model of Google's; see `truegrade.models.service_model.ServiceOpener`.

    Raises:
        UserError: a model argument is not understood, or two contradict each other.
    """
    options, extra_body = split_arguments(args, GoogleOptions)
    if options.thinking_budget is not None and options.thinking_level is not None:
        raise UserError("`model_args` thinking_budget and thinking_level exclude each other: give one of them")
    return ServiceModel(
        endpoint,
        model,
        GoogleClient(endpoint, model, timeout_s=request_policy.timeout_s, options=options, extra_body=extra_body),
        fresh_parameters=lambda _: Parameters(),
        request_policy=request_policy,
        options=options,
        price=options.price(listed_price),
        batch_n=options.batch_n,
    )


class GoogleClient(VendorClient):
    """A connection to generateContent, opened at the first request.

    Args:
        endpoint: where, and with which key or credentials.
        model: the model's id.
        timeout_s: wall seconds for one request.
        options: the model's arguments.
        extra_body: fields added to every request's body.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        model: str,
        *,
        timeout_s: float,
        options: GoogleOptions,
        extra_body: Mapping[str, Any],
    ) -> None:
        super().__init__(endpoint, model)
        self._timeout_s, self._options, self._extra_body = timeout_s, options, dict(extra_body)
        self._client: genai.Client | None = None
        self._connections: Any = None

    def check(self, route: Route, sampling: Sampling) -> None:
        """See that a request can be put; see `truegrade.models.service_model.ServiceClient`.

        Raises:
            UserError: it is no chat, or it asks for thinking in two ways or in an unknown one.
        """
        refuse_text(route, self.name)
        effort, options = sampling.reasoning_effort, self._options
        if effort is None:
            return
        if options.thinking_budget is not None or options.thinking_level is not None:
            raise UserError("`reasoning_effort` is sent to Google as thinking_level: leave one of them out")
        if effort not in get_args(ThinkingLevel):
            raise UserError(f"`reasoning_effort` {effort}: Google takes {', '.join(get_args(ThinkingLevel))}")

    async def send(
        self, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]
    ) -> Body | RequestFailure:
        """Send one request; a failure is returned, never raised (cancellation passes through)."""
        import google.auth.exceptions
        import httpx2
        from google.genai import errors

        asked = {"model": self._model, **parameters}
        try:
            client = self._connected()
            async with asyncio.timeout(self._timeout_s):  # the client's own limit is for each single read
                response = await client.aio.models.generate_content(
                    model=asked.pop("model"), contents=_contents(messages), config=self._config(messages, asked)
                )
        except errors.APIError as error:
            outcome: Body | RequestFailure = read_google_error(error.response)  # type: ignore[arg-type]
        except google.auth.exceptions.TransportError as error:
            outcome = RequestFailure(kind="passing", error=one_line(f"no token: {error}"), unreachable=True)
        except google.auth.exceptions.GoogleAuthError as error:
            outcome = _without_token(error)
        except (httpx2.HTTPError, TimeoutError, OSError) as error:
            outcome = connection_failure(error, httpx2.TimeoutException)
        else:
            raw = response.sdk_http_response
            outcome = read_google_body((raw.body if raw else None) or "")
        return self.noted(outcome)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            client.close()
            await self._connections.aclose()

    def _config(
        self, messages: Sequence[Message], parameters: Mapping[str, Any]
    ) -> genai.types.GenerateContentConfig:
        """The request besides its turns: the plain body comes back, and the client asks for nothing of itself."""
        from google.genai import types

        sent = {_NAMES.get(name, name): value for name, value in parameters.items()}
        effort = sent.pop("reasoning_effort", None)
        system = "\n\n".join(message.content for message in messages if message.role == "system")
        return types.GenerateContentConfig(
            system_instruction=system or None,
            top_k=self._options.top_k,
            thinking_config=self._thinking(effort),
            should_return_http_response=True,
            automatic_continuation=False,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            **sent,
        )

    def _thinking(self, effort: str | None) -> genai.types.ThinkingConfig | None:
        from google.genai import types

        budget, level = self._options.thinking_budget, effort or self._options.thinking_level
        include = self._options.include_thoughts
        if include is None and (budget or level):
            include = True
        if budget is None and level is None and include is None:
            return None
        return types.ThinkingConfig(
            thinking_budget=budget,
            thinking_level=types.ThinkingLevel(level.upper()) if level else None,
            include_thoughts=include,
        )

    def _connected(self) -> genai.Client:
        if self._client is None:
            import httpx2
            from google import genai

            # it would report which of two keys in the environment it prefers; it is given the key
            logging.getLogger("google_genai._api_client").setLevel(logging.ERROR)
            # without connections of ours the client uses aiohttp where it finds it, and asks twice by itself
            self._connections = httpx2.AsyncClient(
                # a proxy cannot reach this machine's own addresses: its environment variables are not for them
                trust_env=not self._endpoint.local,
                limits=httpx2.Limits(max_connections=None),
                follow_redirects=True,
            )
            endpoint = self._endpoint
            access: dict[str, Any] = {"vertexai": False, "api_key": endpoint.api_key or "none"}
            if isinstance(endpoint, VertexEndpoint):
                access = {
                    "vertexai": True,
                    "credentials": endpoint.credentials,
                    "project": endpoint.project,
                    "location": endpoint.location,
                }
            self._client = genai.Client(
                **access,
                http_options=genai.types.HttpOptions(
                    base_url=endpoint.address,
                    timeout=max(1, int(self._timeout_s * 1000)),
                    retry_options=genai.types.HttpRetryOptions(attempts=1),
                    httpx_async_client=self._connections,
                    extra_body=self._extra_body or None,
                ),
            )
        return self._client


def _contents(messages: Sequence[Message]) -> list[Any]:
    from google.genai import types

    return [
        types.Content(role=_ROLES[message.role], parts=[types.Part(text=message.content)])
        for message in messages
        if message.role != "system"
    ]


def _without_token(error: Exception) -> RequestFailure:
    """Credentials that were found give no token: they have expired or are not accepted."""
    return RequestFailure(
        kind="stopping",
        error=one_line(f"{type(error).__name__}: {error}"),
        advice="renew the credentials (gcloud auth application-default login), then run the same command again",
    )


def _find_vertex(provider: str, base_url: str | None, options: GoogleOptions) -> VertexEndpoint:
    import google.auth

    try:
        credentials, found_project = google.auth.default(scopes=_SCOPES)
    except google.auth.exceptions.DefaultCredentialsError:
        raise UserError(
            "Vertex AI needs application-default credentials: run gcloud auth application-default login, or set"
            " GOOGLE_APPLICATION_CREDENTIALS to the file of a service account"
        ) from None
    project = options.project or os.environ.get("GOOGLE_CLOUD_PROJECT") or found_project
    if not project:
        raise UserError("Vertex AI needs a project: give `model_args` project=ID, or set GOOGLE_CLOUD_PROJECT")
    location = options.location or os.environ.get("GOOGLE_CLOUD_LOCATION") or "global"
    prefix = "" if location == "global" else f"{location}-"
    address = base_url or os.environ.get("GOOGLE_VERTEX_BASE_URL") or f"https://{prefix}aiplatform.googleapis.com"
    return VertexEndpoint(provider, address.rstrip("/"), credentials, project, location)
