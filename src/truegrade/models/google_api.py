"""Google's models through its own client: the Gemini API, and the same models on Vertex AI.

Arguments of the model (``-M key=value``) are the fields of `GoogleOptions`. Every other key goes into the
request's body as it is (``-M generationConfig={"presencePenalty": 0.5}``).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from truegrade.errors import UserError
from truegrade.files.extras import require
from truegrade.models.providers import ModelEndpoint, Price, Provider, find_endpoint
from truegrade.models.service_errors import (
    Body,
    ReplyChoice,
    RequestFailure,
    VendorClient,
    connection_failure,
    error_object,
    one_line,
    read_choice,
    response_failure,
    string_field,
)
from truegrade.models.service_model import ServiceModel
from truegrade.models.service_parameters import (
    Parameters,
    Route,
    ServiceOptions,
    refuse_text,
    spelled_parameter,
    split_arguments,
)
from truegrade.records import Message, Usage
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.registry import Found

if TYPE_CHECKING:
    import httpx2
    from google import genai


# ------------------------------------ Reading what Google's generateContent answers, and what its errors mean.
# The client hands over the body as it came, and it is decoded here: the client's own response classes accept
# anything. Source: Gemini API reference, ``models.generateContent`` (GenerateContentResponse, UsageMetadata), and
# ``google.rpc.RetryInfo``.


_FINISH = MappingProxyType({"STOP": "stop", "MAX_TOKENS": "length"})
"""Ends that every service has; any other reason stays as Google writes it."""

_SPELLINGS = MappingProxyType(
    {
        "max_tokens": r"max_?output_?tokens",
        "top_p": r"top_?p",
        "stop": r"stop_?sequences?",
        "n": r"candidate_?count|multiple candidates",
        "reasoning_effort": r"thinking[_ ]?level",
    }
)


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    function_call: Any = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None


class _PromptFeedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _UsageMetadata(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None


class _GenerateContentBody(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _PromptFeedback | None = None
    usage_metadata: _UsageMetadata | None = None
    model_version: str | None = None


def read_google_body(content: str) -> Body | RequestFailure:
    """Read a response; what cannot be read is a failure that may pass, a blocked prompt an empty reply."""
    try:
        raw = msgspec.convert(json.loads(content), _GenerateContentBody, strict=False)
    except (ValueError, RecursionError) as error:
        problem = f"malformed body: {error}; it begins {content[:80]!r}"
        return RequestFailure(kind="passing", error=one_line(problem), status=200)
    usage = _usage(raw.usage_metadata) if raw.usage_metadata else None
    blocked = raw.prompt_feedback.block_reason if raw.prompt_feedback else None
    if raw.candidates:
        choices = tuple(_choice(candidate) for candidate in raw.candidates)
    elif blocked:
        choices = (ReplyChoice(text="", finish_reason=blocked),)
    else:
        return RequestFailure(kind="passing", error="no candidates in the body", status=200, usage=usage)
    return Body(choices=choices, usage=usage, model=raw.model_version)


def read_google_error(response: httpx2.Response) -> RequestFailure:
    """Classify an error body: ``{"error": {"code", "message", "status", "details"}}``."""
    failure = response_failure(response)
    try:
        detail = error_object(json.loads(response.text))
    except (ValueError, RecursionError):
        return failure
    code, details = string_field(detail, "status"), detail.get("details") if isinstance(detail, dict) else None
    details = [entry for entry in details if isinstance(entry, dict)] if isinstance(details, list) else []
    changes: dict[str, Any] = {"code": code, "parameter": spelled_parameter(failure.error, _SPELLINGS)}
    wrong_key = any(entry.get("reason") == "API_KEY_INVALID" for entry in details)
    if wrong_key or "api key not valid" in failure.error.lower() or code == "FAILED_PRECONDITION":
        # a failed precondition is about the account: the country, or billing that is not set up
        changes["kind"] = "stopping"
    if code == "FAILED_PRECONDITION" and not wrong_key:
        changes["advice"] = "see what Google asks of your account, or use `model_args` vertex=true"
    if failure.kind == "passing" and failure.wait_s is None:
        changes["wait_s"] = _retry_delay_s(details)
    return msgspec.structs.replace(failure, **changes)


def _choice(raw: _Candidate) -> ReplyChoice:
    parts = (raw.content.parts if raw.content else None) or []
    text = "".join(part.text or "" for part in parts if not part.thought)
    thoughts = "".join(part.text or "" for part in parts if part.thought)
    reason = _FINISH.get(raw.finish_reason, raw.finish_reason) if raw.finish_reason else None
    calls = any(part.function_call for part in parts)
    return read_choice(text, thoughts, reason, calls=calls)


def _usage(raw: _UsageMetadata) -> Usage:
    # prompt tokens hold the cached ones; thoughts are billed as output and counted beside the candidates
    return Usage(
        input_tokens=(raw.prompt_token_count or 0) + (raw.tool_use_prompt_token_count or 0),
        output_tokens=(raw.candidates_token_count or 0) + (raw.thoughts_token_count or 0),
        reasoning_tokens=raw.thoughts_token_count,
    )


def _retry_delay_s(details: list[dict[str, Any]]) -> float | None:
    """Seconds of ``google.rpc.RetryInfo``: ``"retryDelay": "34.07s"``."""
    for entry in details:
        delay = entry.get("retryDelay")
        if isinstance(delay, str) and (found := re.fullmatch(r"(\d+(?:\.\d+)?)s", delay)):
            return float(found[1])
    return None


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
    require("google", "Google's protocol")
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
        return self.note_outcome(outcome)

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
