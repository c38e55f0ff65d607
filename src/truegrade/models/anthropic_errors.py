"""What the Anthropic client raised: which errors end a run, and which parameter one is about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.models.service_errors import (
    RequestFailure,
    connection_failure,
    error_object,
    response_failure,
    status_failure,
    string_field,
)

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


def read_failure(error: Exception) -> RequestFailure:
    """Classify what the client raised: a status, an error in a stream, a time-out, a broken connection."""
    import anthropic

    if not isinstance(error, anthropic.APIStatusError):
        return connection_failure(error, anthropic.APITimeoutError)
    if error.status_code == 200:
        return told_failure(error.body)
    return _judged(response_failure(error.response))


def told_failure(document: Any) -> RequestFailure:
    """An error that came as a document, in a stream or as the result of one request of a batch.

    Args:
        document: ``{"type": "error", "error": {"type", "message"}}``, decoded.
    """
    status = STATUS_OF_TYPE.get(string_field(error_object(document), "type") or "", 500)
    return _judged(status_failure(status, document, {}))


def _judged(failure: RequestFailure) -> RequestFailure:
    if failure.status != 400:
        return failure
    for pattern, advice in _HOPELESS:
        if pattern.search(failure.error):
            return msgspec.structs.replace(failure, kind="stopping", advice=advice)
    parameter = next((name for pattern, name in _NEUTRAL if pattern.search(failure.error)), None)
    return msgspec.structs.replace(failure, parameter=parameter)
