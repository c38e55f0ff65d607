"""Reading what Bedrock's Converse answers, and what its errors mean.

Source: Amazon Bedrock API reference, ``Converse`` (ContentBlock, TokenUsage, stopReason, errors) and "Common error
types" of AWS services.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from truegrade.models.service_errors import (
    FailureKind,
    RequestFailure,
    kind_of_status,
    one_line,
    retry_after_s,
)
from truegrade.models.service_parameters import spelled_parameter
from truegrade.models.service_reply import Body, ReplyChoice, encodable, finish_reason_of
from truegrade.records import Usage

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError

_FINISH = MappingProxyType(
    {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
    }
)
"""Ends that every service has; any other reason stays as Bedrock writes it."""

_SPELLINGS = MappingProxyType(
    {
        "max_tokens": r"max_?tokens",
        # of two that exclude each other the temperature is kept
        "top_p": r"temperature.{1,9}top_?p.{1,9}both|top_?p",
        "temperature": r"temperature",
        "stop": r"stop_?sequences?",
    }
)

_NO_SUCH_MODEL = ("model identifier", "on-demand throughput", "inference profile", "model arn")
"""Words of a ValidationException, or of a 404, about the model and not about this one request."""

_CREDENTIALS = (
    "give credentials that may call bedrock:InvokeModel: AWS_PROFILE or `model_args` profile=NAME, the variables"
    " AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK; aws sso login renews expired ones"
)


class _ReasoningText(msgspec.Struct):
    text: str | None = None


class _Reasoning(msgspec.Struct, rename="camel"):
    reasoning_text: _ReasoningText | None = None


class _Block(msgspec.Struct, rename="camel"):
    text: str | None = None
    reasoning_content: _Reasoning | None = None
    tool_use: Any = None


class _ConverseMessage(msgspec.Struct):
    content: list[_Block]


class _Output(msgspec.Struct):
    message: _ConverseMessage


class _TokenUsage(msgspec.Struct, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_write_input_tokens: int = 0


class _ConverseBody(msgspec.Struct, rename="camel"):
    output: _Output
    stop_reason: str | None = None
    usage: _TokenUsage | None = None


def read_converse(response: Mapping[str, Any]) -> Body | RequestFailure:
    """Read a response as botocore parsed it.

    A body that broke off is no error to botocore, which reads nothing out of it. So what lacks its output is a
    failure that may pass.
    """
    try:
        raw = msgspec.convert({**response, "ResponseMetadata": None}, _ConverseBody)
    except msgspec.ValidationError as error:
        return RequestFailure(kind="passing", error=one_line(f"malformed body: {error}"), status=200)
    blocks = raw.output.message.content
    text = "".join(block.text or "" for block in blocks)
    thoughts = "".join(
        block.reasoning_content.reasoning_text.text or ""
        for block in blocks
        if block.reasoning_content and block.reasoning_content.reasoning_text
    )
    reason = _FINISH.get(raw.stop_reason, raw.stop_reason) if raw.stop_reason else None
    calls = any(block.tool_use for block in blocks)
    choice = ReplyChoice(
        text=encodable(text),
        reasoning=encodable(thoughts) if thoughts else None,
        finish_reason=finish_reason_of(reason, calls),
    )
    return Body(choices=(choice,), usage=_usage(raw.usage) if raw.usage else None)


def _usage(raw: _TokenUsage) -> Usage:
    # unlike elsewhere, the tokens read from or written to a cache are counted beside the input tokens
    return Usage(
        input_tokens=raw.input_tokens + raw.cache_read_input_tokens + raw.cache_write_input_tokens,
        output_tokens=raw.output_tokens,
    )


def read_client_error(error: ClientError) -> RequestFailure:
    """Classify an error that the service sent."""
    metadata = error.response.get("ResponseMetadata", {})
    code = str(error.response.get("Error", {}).get("Code", ""))
    message = str(error.response.get("Error", {}).get("Message") or "no reason given")
    status = metadata.get("HTTPStatusCode")
    kind, advice = _meaning(code, status or 0, message)
    return RequestFailure(
        kind=kind,
        error=one_line(f"HTTP {status}: {code}: {message}"),
        status=status,
        wait_s=retry_after_s(metadata.get("HTTPHeaders", {}), time.time()) if kind == "passing" else None,
        parameter=spelled_parameter(message, _SPELLINGS),
        code=code,
        advice=advice,
    )


def _meaning(code: str, status: int, message: str) -> tuple[FailureKind, str | None]:
    """What an error means for the requests to come, and what the user can do if it ends the run."""
    about_model = any(words in message.lower() for words in _NO_SUCH_MODEL)
    if code == "ResourceNotFoundException" or (code == "ValidationException" and about_model):
        return "stopping", (
            "check the name and the region: many models answer only by an inference profile, such as"
            " us.anthropic.claude-…; aws bedrock list-inference-profiles shows them"
        )
    if code == "AccessDeniedException":
        return (
            "stopping",
            f"ask for access to the model in the console of Bedrock in this region, or {_CREDENTIALS}",
        )
    if code == "ModelErrorException":  # 424: the model failed at this request, which another attempt may mend
        return "passing", None
    kind = kind_of_status(status)
    return kind, _CREDENTIALS if kind == "stopping" else None


def read_local_error(error: BotoCoreError) -> RequestFailure:
    """Classify what botocore raised without an answer: no connection, no credentials, no such request."""
    from botocore import exceptions as raised

    text = one_line(f"{type(error).__name__}: {error}").rstrip(".")
    if isinstance(error, raised.ReadTimeoutError | raised.ConnectTimeoutError):
        return RequestFailure(kind="passing", error="timed out")
    if isinstance(error, raised.ConnectionError):
        return RequestFailure(kind="passing", error=text, unreachable=True)
    if isinstance(error, raised.HTTPClientError):
        return RequestFailure(kind="passing", error=text)
    if isinstance(error, raised.ParamValidationError):
        return RequestFailure(kind="refused", error=text)
    return RequestFailure(kind="stopping", error=text, advice=_CREDENTIALS)
