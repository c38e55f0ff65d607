"""What a failed request means: whether to ask again, to change the request, or to stop the run."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Set
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from truegrade.models.providers import ModelEndpoint
from truegrade.records import Usage

if TYPE_CHECKING:
    import httpx2

MAX_ERROR_CHARACTERS = 300

STOPPING_STATUS = frozenset({401, 402, 403, 404})
"""About the key, the account or the model: the next sample would fare no better."""
PASSING_STATUS = frozenset({408, 409, 429})
"""May pass by itself, as may every 5xx."""
EXHAUSTED_CODES = frozenset({"insufficient_quota", "billing_not_active", "billing_hard_limit_reached"})
"""Codes on a 429 that no waiting mends (OpenAI's error guide)."""


class RequestFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One request that brought no answer."""

    kind: Literal["passing", "refused", "stopping"]
    """``passing``: ask again; ``refused``: this request will not do; ``stopping``: no request will."""
    error: str
    """One line."""
    status: int | None = None
    wait_s: float | None = None
    """How long the service asks to be left alone."""
    parameter: str | None = None
    """The parameter that the service says is at fault."""
    code: str | None = None
    unreachable: bool = False
    """No connection could be made at all."""
    usage: Usage | None = None
    """What a body without an answer still counts."""


def read_failure(error: Exception) -> RequestFailure:
    """Classify what the client raised: a status, a time-out, a broken or impossible connection."""
    import httpx2
    import openai

    if isinstance(error, openai.APIStatusError):
        return _status_failure(error.response)
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return RequestFailure(kind="passing", error="timed out")
    cause = error.__cause__ or error
    unreachable = isinstance(cause, httpx2.ConnectError)
    return RequestFailure(
        kind="passing", error=one_line(f"{type(cause).__name__}: {cause}"), unreachable=unreachable
    )


def explain(failure: RequestFailure, endpoint: ModelEndpoint, model: str, route: str) -> str:
    """The sentence with which a run ends: who failed, where, how, and what to do."""
    return (
        f"{endpoint.provider} at {endpoint.base_url}: {failure.error}; {_advice(failure, endpoint, model, route)}"
    )


def _advice(failure: RequestFailure, endpoint: ModelEndpoint, model: str, route: str) -> str:
    if failure.unreachable:
        return "check that the service runs there, or give another `base_url`"
    if failure.status in {400, 401}:
        return f"set {endpoint.key_variable} to a key that this service accepts"
    if failure.status == 403:
        return f"the key in {endpoint.key_variable} may not use {model!r}: choose another model or key"
    if failure.status == 404:
        text = " or send text prompts as chat with `model_args` text_as_chat=true" if route == "text" else ""
        return f"check the model name {model!r} and `base_url`{text}"
    return "add credit at the provider, then run the same command again; what is stored is kept"


def _status_failure(response: httpx2.Response) -> RequestFailure:
    status = response.status_code
    try:
        document = json.loads(response.text)
    except (ValueError, RecursionError):
        document = response.text
    detail = _error_object(document)
    codes = {_string(detail, "code"), _string(detail, "type")}
    text = error_text(document)
    kind: Literal["passing", "refused", "stopping"] = "refused"
    if _ends_the_run(status, codes, text):
        kind = "stopping"
    elif status in PASSING_STATUS or status >= 500:
        kind = "passing"
    return RequestFailure(
        kind=kind,
        error=one_line(f"HTTP {status}: {text}"),
        status=status,
        wait_s=retry_after_s(response.headers, time.time()) if kind == "passing" else None,
        parameter=_string(detail, "param"),
        code=_string(detail, "code") or _string(detail, "type"),
    )


def _ends_the_run(status: int, codes: Set[str | None], text: str) -> bool:
    lowered = text.lower()
    if status == 403 and ("flagged" in lowered or "moderation" in lowered):
        return False  # OpenRouter: a moderator objects to this one prompt, not to the key
    if status == 400:
        return "api key not valid" in lowered  # Gemini's answer to a wrong key
    return status in STOPPING_STATUS or (status == 429 and bool(EXHAUSTED_CODES & codes))


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a service asks to wait: ``retry-after-ms``, or ``Retry-After`` as seconds or HTTP date.

    Args:
        headers: response headers, lower-case lookup.
        now: seconds since the epoch, to count a date from.
    """
    for name, unit_s in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


def error_text(document: Any) -> str:
    """What an error body says, in the shapes in use.

    ``{"error": {"message"}}`` (OpenAI), ``[{"error": ...}]`` (Gemini), ``{"detail": [{"loc", "msg"}]}`` (FastAPI
    services: vLLM, Mistral), ``{"error": "text"}`` (Ollama), ``{"message"}``; else the body itself.
    """
    detail = _error_object(document)
    if not isinstance(detail, dict):
        return one_line(str(detail))
    for key in ("message", "detail", "msg"):
        value = detail.get(key)
        if isinstance(value, str) and value:
            return one_line(value)
        if isinstance(value, list | dict) and value:
            return one_line("; ".join(_fault(item) for item in (value if isinstance(value, list) else [value])))
    return one_line(json.dumps(detail, ensure_ascii=False))


def _error_object(document: Any) -> Any:
    if isinstance(document, list) and document:
        document = document[0]
    if isinstance(document, dict) and document.get("error"):
        return document["error"]
    return document


def _fault(item: Any) -> str:
    """One entry of a validation report, its field quoted: ``'seed': Extra inputs are not permitted``."""
    if isinstance(item, dict) and isinstance(item.get("loc"), list) and item["loc"]:
        return f"{str(item['loc'][-1])!r}: {item.get('msg', '')}"
    return str(item)


def _string(detail: Any, key: str) -> str | None:
    value = detail.get(key) if isinstance(detail, dict) else None
    return value if isinstance(value, str) else None


def one_line(text: str) -> str:
    """The text on one line, shortened to `MAX_ERROR_CHARACTERS`."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_ERROR_CHARACTERS else line[: MAX_ERROR_CHARACTERS - 1] + "…"
