"""Reading the body of an OpenAI-protocol response, as services really write it.

The bytes are decoded here and not by the client's response classes, because those accept anything: a body without
choices or with a number for a text would surface far from its cause.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from truegrade.models.service_errors import (
    Body,
    ReplyChoice,
    RequestFailure,
    encodable,
    error_text,
    finish_reason_of,
    one_line,
)
from truegrade.records import Usage


class _Message(msgspec.Struct):
    content: str | list[Any] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None  # DeepSeek, vLLM, llama.cpp
    reasoning: str | None = None  # OpenRouter, Groq, Ollama
    tool_calls: Any = None


class _RawChoice(msgspec.Struct):
    message: _Message | None = None
    text: str | None = None
    finish_reason: str | None = None
    logprobs: Any = None


class _Details(msgspec.Struct):
    reasoning_tokens: int | None = None


class _RawUsage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    completion_tokens_details: _Details | None = None


class _RawBody(msgspec.Struct):
    choices: list[_RawChoice] | None = None
    usage: _RawUsage | None = None
    model: str | None = None
    error: Any = None


def read_body(content: bytes) -> Body | RequestFailure:
    """Read a chat or text completion; what cannot be read is a failure that may pass."""
    try:
        # the standard library's parser, because it lets through the broken surrogates that models do write
        document = json.loads(content.decode("utf-8", "replace"))
        raw = msgspec.convert(document, _RawBody, strict=False)
    except (ValueError, RecursionError) as error:  # msgspec.ValidationError is a ValueError
        problem = f"malformed body: {error}; it begins {content[:80]!r}"
        return RequestFailure(kind="passing", error=one_line(problem), status=200)
    usage = _usage(raw.usage) if raw.usage else None
    if not raw.choices:
        problem = f"no choices: {error_text(raw.error)}" if raw.error else "no choices in the body"
        return RequestFailure(kind="passing", error=one_line(problem), status=200, usage=usage)
    return Body(choices=tuple(_choice(choice) for choice in raw.choices), usage=usage, model=raw.model)


def _choice(raw: _RawChoice) -> ReplyChoice:
    logprobs = _logprobs(raw.logprobs)
    if raw.message is None:
        return ReplyChoice(text=encodable(raw.text or ""), finish_reason=raw.finish_reason, logprobs=logprobs)
    message = raw.message
    text, thoughts = _parts(message.content)
    reasoning = message.reasoning_content or message.reasoning or thoughts
    return ReplyChoice(
        text=encodable(text or message.refusal or ""),
        reasoning=encodable(reasoning) if reasoning else None,
        finish_reason=finish_reason_of(raw.finish_reason, bool(message.tool_calls)),
        logprobs=logprobs,
    )


def _logprobs(raw: Any) -> tuple[float, ...] | None:
    """One number a token: ``content[].logprob`` (chat) or ``token_logprobs`` (completions), else None."""
    if not isinstance(raw, dict):
        return None
    content = raw.get("content")
    values = [entry.get("logprob") for entry in content if isinstance(entry, dict)] if content else None
    values = values or raw.get("token_logprobs")
    if not isinstance(values, list):
        return None
    return tuple(float(value) for value in values if isinstance(value, int | float)) or None


def _parts(content: str | list[Any] | None) -> tuple[str, str]:
    """Text and thoughts of a message whose content may be a list of typed parts (Mistral's Magistral)."""
    if not isinstance(content, list):
        return content or "", ""
    text = thoughts = ""
    for part in content:
        if isinstance(part, str):
            text += part
        elif isinstance(part, dict) and part.get("type") == "thinking":
            inner = part.get("thinking")
            thoughts += "".join(_parts(inner)) if isinstance(inner, str | list) else ""
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            text += part["text"]
    return text, thoughts


def _usage(raw: _RawUsage) -> Usage:
    prompt, completion = raw.prompt_tokens or 0, raw.completion_tokens or 0
    # some services leave thinking out of completion_tokens, but never out of total_tokens
    generated = max(completion, (raw.total_tokens or 0) - prompt)
    details = raw.completion_tokens_details
    return Usage(
        input_tokens=prompt,
        output_tokens=generated,
        reasoning_tokens=details.reasoning_tokens if details else None,
    )
