"""What a failed request means: whether to ask again, to change the request, or to stop the run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from truegrade.files.addresses import HIDDEN, without_keys
from truegrade.models.providers import ModelEndpoint
from truegrade.records import Usage

if TYPE_CHECKING:
    import httpx2

MAX_ERROR_CHARACTERS = 300

STOPPING_STATUS = frozenset({401, 402, 403, 404})
"""About the key, the account or the model: the next sample would fare no better."""
PASSING_STATUS = frozenset({408, 409, 429})
"""May pass by itself, as may every 5xx."""
BUSY_STATUS = frozenset({429, 503, 529})
"""The service has too much to do: every next request waits, not only the one that was told. 529: Anthropic."""

FailureKind = Literal["passing", "refused", "stopping"]


class RequestFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One request that brought no answer."""

    kind: FailureKind
    """``passing``: ask again; ``refused``: this request will not do; ``stopping``: no request will."""
    error: str
    """One line."""
    status: int | None = None
    wait_s: float | None = None
    """How long the service asks to be left alone."""
    parameter: str | None = None
    """The parameter that the service says is at fault, by its name in `Parameters.build`."""
    code: str | None = None
    unreachable: bool = False
    """No connection could be made at all."""
    usage: Usage | None = None
    """What a body without an answer still counts."""
    advice: str | None = None
    """What the user can do about a failure that ends the run; None: what its status suggests."""


def connection_failure(error: Exception, timed_out: type[Exception] = TimeoutError) -> RequestFailure:
    """A time-out, or a connection that broke or could not be made.

    Args:
        error: what a client raised; what it wraps says more.
        timed_out: the client's own class of time-outs.
    """
    import httpx2

    if isinstance(error, TimeoutError | timed_out):
        return RequestFailure(kind="passing", error="timed out")
    cause = error if isinstance(error, httpx2.HTTPError) else error.__cause__ or error
    unreachable = isinstance(cause, httpx2.ConnectError)
    return RequestFailure(
        kind="passing", error=one_line(f"{type(cause).__name__}: {cause}"), unreachable=unreachable
    )


def response_failure(response: httpx2.Response) -> RequestFailure:
    """What an HTTP error says; see `status_failure`."""
    try:
        document = json.loads(response.text)
    except (ValueError, RecursionError):
        document = response.text
    return status_failure(response.status_code, document, response.headers)


def status_failure(status: int, document: Any, headers: Mapping[str, str]) -> RequestFailure:
    """What a decoded error body says, and what its status alone means; a back end judges what its codes change."""
    detail, kind = error_object(document), kind_of_status(status)
    return RequestFailure(
        kind=kind,
        error=one_line(f"HTTP {status}: {error_text(document)}"),
        status=status,
        wait_s=retry_after_s(headers, time.time()) if kind == "passing" else None,
        parameter=string_field(detail, "param"),
        code=string_field(detail, "code") or string_field(detail, "type"),
    )


def kind_of_status(status: int) -> FailureKind:
    """What an HTTP status means for the requests to come."""
    if status in STOPPING_STATUS:
        return "stopping"
    return "passing" if status in PASSING_STATUS or status >= 500 else "refused"


def explain(failure: RequestFailure, endpoint: ModelEndpoint, model: str, route: str) -> str:
    """The sentence with which a run ends: who failed, where, how, and what to do."""
    advice = failure.advice or _advice(failure, endpoint, model, route)
    return f"{endpoint.provider} at {endpoint.base_url}: {failure.error}; {advice}"


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


def without_secrets(failure: RequestFailure, secrets: Iterable[str]) -> RequestFailure:
    """Services may echo keys in an error; they must not reach a file or a screen."""
    error = without_keys(failure.error)
    for secret in secrets:
        error = error.replace(secret, HIDDEN)
    return msgspec.structs.replace(failure, error=error)


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
    detail = error_object(document)
    if not isinstance(detail, dict):
        return one_line(str(detail))
    for key in ("message", "detail", "msg"):
        value = detail.get(key)
        if isinstance(value, str) and value:
            return one_line(value)
        if isinstance(value, list | dict) and value:
            return one_line("; ".join(_fault(item) for item in (value if isinstance(value, list) else [value])))
    return one_line(json.dumps(detail, ensure_ascii=False))


def error_object(document: Any) -> Any:
    """The part of an error body that holds its message and codes; the body itself where there is none."""
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


def string_field(detail: Any, key: str) -> str | None:
    """A field of a decoded object if it is a string, else None."""
    value = detail.get(key) if isinstance(detail, dict) else None
    return value if isinstance(value, str) else None


def one_line(text: str) -> str:
    """The text on one line, shortened to `MAX_ERROR_CHARACTERS`."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_ERROR_CHARACTERS else line[: MAX_ERROR_CHARACTERS - 1] + "…"
