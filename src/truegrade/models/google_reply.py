"""Reading what Google's generateContent answers, and what its errors mean.

The client hands over the body as it came, and it is decoded here: the client's own response classes accept
anything. Source: Gemini API reference, ``models.generateContent`` (GenerateContentResponse, UsageMetadata), and
``google.rpc.RetryInfo``.
"""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from truegrade.models.service_errors import RequestFailure, error_object, one_line, response_failure, string_field
from truegrade.models.service_parameters import spelled_parameter
from truegrade.models.service_reply import Body, ReplyChoice, encodable, finish_reason_of
from truegrade.records import Usage

if TYPE_CHECKING:
    import httpx2

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
    return ReplyChoice(
        text=encodable(text),
        reasoning=encodable(thoughts) if thoughts else None,
        finish_reason=finish_reason_of(reason, calls),
    )


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
