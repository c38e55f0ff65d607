"""Anthropic's models through its Messages API.

Arguments of the model (``-M key=value``) are the fields of `AnthropicOptions`. Every other key goes into the body
of the request as it is (``-M top_k=20``, ``-M service_tier=standard_only``).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from truegrade.errors import UserError
from truegrade.files.extras import require
from truegrade.models.providers import ModelEndpoint, Price
from truegrade.models.service_errors import (
    Body,
    RequestFailure,
    connection_failure,
    error_object,
    one_line,
    read_choice,
    response_failure,
    status_failure,
    string_field,
)
from truegrade.models.service_model import ServiceClient, ServiceModel
from truegrade.models.service_parameters import Parameters, Route, ServiceOptions, split_arguments
from truegrade.records import Message, Usage
from truegrade.records.config import RequestPolicy, Sampling

if TYPE_CHECKING:
    import anthropic


# ------------------------------------------------------------------------ Reading what the Messages API answers.

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
"""Stop reasons in the words of the other services; any other, such as ``refusal``, is kept."""


class _Block(msgspec.Struct):
    """A part of a message; of redacted thinking and of tools nothing is read."""

    type: str
    text: str | None = None
    thinking: str | None = None


class _OutputDetails(msgspec.Struct):
    thinking_tokens: int | None = None


class _RawUsage(msgspec.Struct):
    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None
    output_tokens_details: _OutputDetails | None = None


class _RawMessage(msgspec.Struct):
    content: list[_Block]
    model: str | None = None
    stop_reason: str | None = None
    usage: _RawUsage | None = None


def read_message(message: Any) -> Body | RequestFailure:
    """Read a whole message, an object of the client; what cannot be read is a failure that may pass."""
    try:
        raw = msgspec.convert(message, _RawMessage, from_attributes=True, strict=False)
    except msgspec.ValidationError as error:
        return RequestFailure(kind="passing", error=one_line(f"malformed message: {error}"), status=200)
    thoughts = "\n\n".join(block.thinking for block in raw.content if block.type == "thinking" and block.thinking)
    text = "".join(block.text or "" for block in raw.content if block.type == "text")
    calls = any(block.type == "tool_use" for block in raw.content)
    reason = _FINISH.get(raw.stop_reason, raw.stop_reason) if raw.stop_reason else None
    choice = read_choice(text, thoughts, reason, calls=calls)
    return Body(choices=(choice,), usage=_usage(raw.usage) if raw.usage else None, model=raw.model)


def _usage(raw: _RawUsage) -> Usage:
    """Input read from a cache or written to one is input too: ``input_tokens`` leaves both out."""
    cached = (raw.cache_creation_input_tokens or 0) + (raw.cache_read_input_tokens or 0)
    details = raw.output_tokens_details
    return Usage(
        input_tokens=(raw.input_tokens or 0) + cached,
        output_tokens=raw.output_tokens or 0,
        reasoning_tokens=details.thinking_tokens if details else None,
    )


# ----------------- What the Anthropic client raised: which errors end a run, and which parameter one is about.

STATUS_OF_TYPE: Mapping[str, int] = MappingProxyType(
    {
        "invalid_request_error": 400,
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "request_too_large": 413,
        "rate_limit_error": 429,
        "api_error": 500,
        "timeout_error": 504,
        "overloaded_error": 529,
    }
)
"""The status of an error that is told in a stream, where HTTP says 200 (Anthropic, API errors)."""

_NEUTRAL = (
    (re.compile(r"temperature.*top_p.*cannot both"), "top_p"),
    (re.compile(r"stop_sequences"), "stop"),
    (re.compile(r"\beffort\b"), "reasoning_effort"),
)
"""Complaints that name a parameter as the API has it. Of two that exclude each other the temperature is kept."""

_HOPELESS = (
    (
        re.compile(r"credit balance"),
        "add credit at the provider, then run the same command again; what is stored is kept",
    ),
    (re.compile(r"max_tokens: \d+ > \d+"), "give a lower `max_tokens`"),
    (
        re.compile(r"thinking\.type|adaptive thinking is not supported"),
        "leave `model_args` thinking_budget and thinking out, or give the kind of thinking that this model has",
    ),
    (
        re.compile(r"prefill|assistant content cannot end with"),
        "these prompts open the model's reply, which it does not take: choose another `profile` to word them",
    ),
)
"""Complaints about a request that hold for all others of the run too, and what to do."""


def _classify(failure: RequestFailure) -> RequestFailure:
    if failure.status != 400:
        return failure
    for pattern, advice in _HOPELESS:
        if pattern.search(failure.error):
            return msgspec.structs.replace(failure, kind="stopping", advice=advice)
    parameter = next((name for pattern, name in _NEUTRAL if pattern.search(failure.error)), None)
    return msgspec.structs.replace(failure, parameter=parameter)


# ----------------------------------------------------------------------------------------------------------------
# One request over the official Anthropic client: streamed, timed out by the wall clock, read or classified.
# Every request is streamed: the client refuses others that might take more than ten minutes, and a connection on
# which nothing is sent for minutes is cut by what lies between. A stream without its last event is no answer.


VERSION = "2023-06-01"
"""Of the API. The next one, 2026-10-21, refuses temperature and top_p also for the models that follow them."""

DEFAULT_MAX_TOKENS = 32_768
"""Sent where a run sets no limit, because the API insists on one: room for thinking and answer. Every model that
is served today takes 64,000 and more (Anthropic, models overview)."""

_BROKEN = (ValueError, TypeError, LookupError, AttributeError, RuntimeError, AssertionError)
"""What the client raises while it puts a message together from events that do not fit."""


class AnthropicClient(ServiceClient["anthropic.AsyncAnthropic"]):
    """A connection to one service: see `truegrade.models.service_model.ServiceClient`.

    Args:
        thinking: the request's ``thinking``; None leaves it out.
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
        super().__init__(endpoint, model, timeout_s=timeout_s, extra_body=extra_body)
        self._thinking = thinking

    def check(self, route: Route, sampling: Sampling) -> None:
        """See `truegrade.models.service_model.ServiceClient`.

        Raises:
            UserError: text to continue, a temperature above 1, or a thinking budget that fills the token limit.
        """
        if route == "text":
            raise UserError(
                f"{self.name} has no text completion: choose a `profile` or a `task_args` prompt that words a"
                " chat, or send the text as one user message with `model_args` text_as_chat=true"
            )
        if (sampling.temperature or 0.0) > 1:
            raise UserError(f"{self.name}: `temperature` {sampling.temperature}: the Messages API takes 0 to 1")
        budget, limit = (self._thinking or {}).get("budget_tokens"), sampling.max_tokens or DEFAULT_MAX_TOKENS
        if isinstance(budget, int) and budget >= limit:
            raise UserError(
                f"{self.name}: a thinking budget of {budget} tokens leaves no room for an answer in {limit}, which"
                " count thinking too: raise `max_tokens`, or lower `model_args` thinking_budget (for the short"
                " replies of a probe, leave it out)"
            )

    async def send(
        self, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]
    ) -> Body | RequestFailure:
        """Send one request; a failure is returned, never raised (cancellation passes through)."""
        return self.note_outcome(await self._streamed(self._request_body(messages, parameters)))

    def _request_body(self, messages: Sequence[Message], parameters: Mapping[str, Any]) -> dict[str, Any]:
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

    async def _streamed(self, body: Mapping[str, Any]) -> Body | RequestFailure:
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
        except Exception as error:
            failure = self._failure(error)
        return failure if stream is None else msgspec.structs.replace(failure, usage=_counted(stream))

    def _failure(self, error: Exception) -> RequestFailure:
        """What was raised while a stream was read, classified; raised again where it is an error of ours."""
        import anthropic
        import httpx2

        if isinstance(error, anthropic.APIStatusError):
            if error.status_code != 200:
                return _classify(response_failure(error.response))
            status = STATUS_OF_TYPE.get(string_field(error_object(error.body), "type") or "", 500)
            return _classify(status_failure(status, error.body, {}))
        if isinstance(error, anthropic.AnthropicError | httpx2.HTTPError | TimeoutError | OSError):
            return connection_failure(error, anthropic.APITimeoutError)
        if isinstance(error, _BROKEN):
            problem = f"malformed stream: {type(error).__name__}: {error}"
            return RequestFailure(kind="passing", error=one_line(problem), status=200)
        raise error

    def open(self) -> anthropic.AsyncAnthropic:
        """The library's client; it adds ``/v1`` to the address itself."""
        import anthropic

        return anthropic.AsyncAnthropic(
            base_url=self._endpoint.address.removesuffix("/v1"),
            default_headers={"anthropic-version": VERSION},
            **self.settings(anthropic),
        )


def _counted(stream: anthropic.AsyncMessageStream[None]) -> Usage | None:
    """What was counted before a stream broke: the prompt, once a message has begun."""
    try:
        raw = msgspec.convert(stream.current_message_snapshot, _RawMessage, from_attributes=True, strict=False)
    except (AssertionError, msgspec.ValidationError):  # no message has begun, or it cannot be read
        return None
    return _usage(raw.usage) if raw.usage else None


class AnthropicOptions(ServiceOptions, frozen=True, kw_only=True):
    """Reserved keys, each with its meaning."""

    thinking_budget: Annotated[int, msgspec.Meta(ge=1024)] | None = None
    """Tokens of extended thinking (``budget_tokens``), for models that think on request; within ``max_tokens``."""
    thinking: Literal["adaptive", "disabled"] | dict[str, Any] | None = None
    """``adaptive``: the model decides how much, and a summary of it is stored; ``disabled``; or the object of the
    API as JSON. None: the model's default."""

    @property
    def thinking_body(self) -> dict[str, Any] | None:
        """The request's ``thinking``; None leaves it out."""
        if self.thinking_budget is not None:
            return {"type": "enabled", "budget_tokens": self.thinking_budget}
        if self.thinking == "adaptive":
            return {"type": "adaptive", "display": "summarized"}
        return {"type": self.thinking} if isinstance(self.thinking, str) else self.thinking


def open_anthropic(
    endpoint: ModelEndpoint,
    model: str,
    request_policy: RequestPolicy,
    args: Mapping[str, Any],
    listed_price: Price | None,
) -> ServiceModel:
    """Open a model behind the Messages API; see `truegrade.models.service_model.ServiceOpener`.

    Raises:
        UserError: a model argument is not understood, or the client is not installed.
    """
    require("anthropic", "Anthropic's protocol")
    options, extra_body = split_arguments(args, AnthropicOptions)
    if options.thinking_budget is not None and options.thinking is not None:
        raise UserError("`model_args` thinking_budget and thinking exclude each other: give one of them")
    thinking = options.thinking_body
    thinks = thinking is not None and thinking.get("type") != "disabled"

    def fresh_parameters(route: Route) -> Parameters:
        return anthropic_parameters(thinks=thinks)

    client = AnthropicClient(
        endpoint, model, timeout_s=request_policy.timeout_s, thinking=thinking, extra_body=extra_body
    )
    return ServiceModel(
        endpoint,
        model,
        client,
        fresh_parameters=fresh_parameters,
        request_policy=request_policy,
        options=options,
        price=options.price(listed_price),
    )


def anthropic_parameters(*, thinks: bool) -> Parameters:
    """Parameters that nothing was learnt of yet.

    Args:
        thinks: whether the request asks for thinking. Source: Anthropic, "Extended thinking", feature
            compatibility: no temperature but 1 and no top_p below 0.95.
    """
    unknown = "the Messages API has no such parameter"
    rules = {"seed": unknown, "n": unknown}
    if thinks:
        rules |= dict.fromkeys(("temperature", "top_p"), "a request with thinking takes none")
    return Parameters(rules=rules, required={"max_tokens": DEFAULT_MAX_TOKENS})
