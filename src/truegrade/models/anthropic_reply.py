"""Reading a message of Anthropic's Messages API."""

from __future__ import annotations

from typing import Any

import msgspec

from truegrade.models.service_errors import (
    Body,
    ReplyChoice,
    RequestFailure,
    encodable,
    finish_reason_of,
    one_line,
)
from truegrade.records import Usage

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
