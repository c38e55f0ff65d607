"""What the OpenAI client raised: which statuses and codes end a run at which service."""

from __future__ import annotations

from collections.abc import Set

import msgspec

from truegrade.models.service_errors import FailureKind, RequestFailure, connection_failure, response_failure

EXHAUSTED_CODES = frozenset({"insufficient_quota", "billing_not_active", "billing_hard_limit_reached"})
"""Codes on a 429 that no waiting mends (OpenAI's error guide)."""


def read_failure(error: Exception) -> RequestFailure:
    """Classify what the client raised: a status, a time-out, a broken or impossible connection."""
    import openai

    if isinstance(error, openai.APIStatusError):
        failure = response_failure(error.response)
        return msgspec.structs.replace(failure, kind=_kind(failure, {error.code, error.type}))
    return connection_failure(error, openai.APITimeoutError)


def _kind(failure: RequestFailure, codes: Set[str | None]) -> FailureKind:
    said = failure.error.lower()
    if failure.status == 403 and ("flagged" in said or "moderation" in said):
        return "refused"  # OpenRouter: a moderator objects to this one prompt, not to the key
    if failure.status == 400 and "api key not valid" in said:
        return "stopping"  # Gemini's answer to a wrong key
    if failure.status == 429 and EXHAUSTED_CODES & codes:
        return "stopping"
    return failure.kind
