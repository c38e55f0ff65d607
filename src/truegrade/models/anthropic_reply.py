"""Reading what Anthropic's Messages API answers: messages, and errors by what they end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from truegrade.models.service_errors import (
    Body,
    ReplyChoice,
    RequestFailure,
    encodable,
    error_object,
    finish_reason_of,
    one_line,
    response_failure,
    status_failure,
    string_field,
)
from truegrade.records import Usage

if TYPE_CHECKING:
    import anthropic

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
    """Read a whole message, as an object of the client or decoded JSON; what cannot be read may pass."""
    try:
        raw = msgspec.convert(message, _RawMessage, from_attributes=True, strict=False)
    except msgspec.ValidationError as error:
        return RequestFailure(kind="passing", error=one_line(f"malformed message: {error}"), status=200)
    thoughts = "\n\n".join(block.thinking for block in raw.content if block.type == "thinking" and block.thinking)
    text = "".join(block.text or "" for block in raw.content if block.type == "text")
    calls = any(block.type == "tool_use" for block in raw.content)
    reason = _FINISH.get(raw.stop_reason, raw.stop_reason) if raw.stop_reason else None
    choice = ReplyChoice(
        text=encodable(text),
        reasoning=encodable(thoughts) if thoughts else None,
        finish_reason=finish_reason_of(reason, calls),
    )
    return Body(choices=(choice,), usage=_usage(raw.usage) if raw.usage else None, model=raw.model)


def usage_of(message: Any) -> Usage | None:
    """What a message counts, whole or not; None where nothing can be read."""
    try:
        raw = msgspec.convert(message, _RawMessage, from_attributes=True, strict=False)
    except msgspec.ValidationError:
        return None
    return _usage(raw.usage) if raw.usage else None


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
"""The status of an error that is told in a stream or a batch, where HTTP says 200 (Anthropic, API errors)."""

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


def status_error(error: anthropic.APIStatusError) -> RequestFailure:
    """Classify an error that has a status, or came in a stream, where the status is 200."""
    if error.status_code == 200:
        return told_failure(error.body)
    return _classify(response_failure(error.response))


def told_failure(document: Any) -> RequestFailure:
    """An error that came as a document, in a stream or as the result of one request of a batch.

    Args:
        document: ``{"type": "error", "error": {"type", "message"}}``, decoded.
    """
    status = STATUS_OF_TYPE.get(string_field(error_object(document), "type") or "", 500)
    return _classify(status_failure(status, document, {}))


def _classify(failure: RequestFailure) -> RequestFailure:
    if failure.status != 400:
        return failure
    for pattern, advice in _HOPELESS:
        if pattern.search(failure.error):
            return msgspec.structs.replace(failure, kind="stopping", advice=advice)
    parameter = next((name for pattern, name in _NEUTRAL if pattern.search(failure.error)), None)
    return msgspec.structs.replace(failure, parameter=parameter)
