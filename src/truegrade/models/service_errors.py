"""What clients of services share: failures and their causes, replies, the log of requests.

What a failed request means: whether to ask again, to change the request, or to stop the run.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from truegrade.files.writing import HIDDEN, without_keys
from truegrade.models.base import Reply
from truegrade.models.providers import ModelEndpoint
from truegrade.records import TOOL_CALLS, Attempt, Usage

if TYPE_CHECKING:
    import httpx2


MAX_ERROR_CHARACTERS = 300

FIRST_CONNECT_TIMEOUT_S, CONNECT_TIMEOUT_S = 4.0, 30.0
"""Most seconds for a connection to be made, before one ever was and later; less where a whole request may take
less. A wrong address is told soon, and a busy service that was there once is waited for."""

NO_CONNECTION = "no connection in time"

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


def transport_errors(kind: str = "HTTPError") -> tuple[type[Exception], ...]:
    """That error of each HTTP library that is loaded: vendors' clients use httpx2, openai before 3 uses httpx."""
    return tuple(getattr(sys.modules[name], kind) for name in ("httpx2", "httpx") if name in sys.modules)


def connection_failure(error: Exception, timed_out: type[Exception] = TimeoutError) -> RequestFailure:
    """A time-out, or a connection that broke or could not be made.

    Args:
        error: what a client raised; what it wraps says more.
        timed_out: the client's own class of time-outs.
    """
    cause = error if isinstance(error, transport_errors()) else error.__cause__ or error
    if isinstance(cause, transport_errors("ConnectTimeout")):
        return RequestFailure(kind="passing", error=NO_CONNECTION, unreachable=True)
    if isinstance(error, TimeoutError | timed_out):
        return RequestFailure(kind="passing", error="timed out")
    unreachable = isinstance(cause, transport_errors("ConnectError"))
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
        wait_s=_wait_s(headers, detail) if kind == "passing" else None,
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


def _wait_s(headers: Mapping[str, str], detail: Any) -> float | None:
    """Seconds that a service asks to wait: in its headers, or as Gemini does in a ``google.rpc.RetryInfo``."""
    wait_s = retry_after_s(headers, time.time())
    details = detail.get("details") if wait_s is None and isinstance(detail, dict) else None
    for entry in details if isinstance(details, list) else []:
        if found := re.fullmatch(r"(\d+(?:\.\d+)?)s", string_field(entry, "retryDelay") or ""):
            return float(found[1])
    return wait_s


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


# ---------------------------------------------- What a service answered, in the terms that all services share.


class ReplyChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One sample of a response."""

    text: str
    """Empty where the service sent none."""
    reasoning: str | None = None
    finish_reason: str | None = None
    logprobs: tuple[float, ...] | None = None
    """Log probability of each token, where the service gave them."""


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """A response, read."""

    choices: tuple[ReplyChoice, ...]
    """At least one."""
    usage: Usage | None = None
    model: str | None = None
    """Id as the service returned it."""

    @property
    def empty(self) -> bool:
        """Whether no choice holds text."""
        return not any(choice.text.strip() for choice in self.choices)

    @property
    def empty_by_chance(self) -> bool:
        """Whether it is empty although the service claims a normal end: worth asking again.

        A token budget used up by thinking, or a content filter, would only repeat itself.
        """
        return self.empty and not any(c.finish_reason in _FINAL_WHEN_EMPTY for c in self.choices)


_FINAL_WHEN_EMPTY = frozenset(
    {
        TOOL_CALLS,
        *("length", "max_tokens", "content_filter", "refusal"),
        # Gemini's own words, which its OpenAI-compatible endpoint passes on
        *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
    }
)


def read_choice(
    text: str,
    thoughts: str | None,
    reason: str | None,
    *,
    calls: bool,
    logprobs: tuple[float, ...] | None = None,
) -> ReplyChoice:
    """One sample of a response.

    Args:
        text: of the reply.
        thoughts: what was thought before it, where the service tells.
        reason: why the reply ended, as the service said.
        calls: whether the reply holds calls of tools; unless it was cut, it ended with them.
        logprobs: of each token.
    """
    return ReplyChoice(
        text=encodable(text),
        reasoning=encodable(thoughts) if thoughts else None,
        finish_reason=TOOL_CALLS if calls and reason not in {"length", "max_tokens"} else reason,
        logprobs=logprobs,
    )


def encodable(text: str) -> str:
    """The text with surrogate pairs joined and lone halves replaced by U+FFFD, so that UTF-8 can hold it."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# ----------------------------------------------------------------------------------------------------------------
# What is logged of requests: model, status, seconds, attempt; never a key, and no text of prompts or replies.


_log = logging.getLogger(__name__)


def log_attempt(model: str, number: int, attempt: Attempt) -> None:
    """One request and what came of it.

    Args:
        model: ``provider/name``.
        number: of the request among those for one sample, from 1.
        attempt: its record; its error has no key in it.
    """
    status = "" if attempt.status is None else f" HTTP {attempt.status}"
    seconds = "" if attempt.latency_s is None else f" in {attempt.latency_s:.2f} s"
    error = "" if attempt.error is None else f": {attempt.error}"
    _log.debug("%s, attempt %d: %s%s%s%s", model, number, attempt.outcome, status, seconds, error)


def log_wait(model: str, wait_s: float, failure: str) -> None:
    """A failure that may pass, and how long is waited before the next attempt."""
    _log.info("%s: %s; the next attempt follows in %.1f s", model, failure, wait_s)


def log_unreached(model: str, base_url: str, most_s: float, failure: str) -> None:
    """No connection was ever made: half a minute of attempts is long where the address is wrong."""
    _log.warning("%s at %s: %s; trying again for up to %.0f s", model, base_url, failure, most_s)


def log_adapted(model: str, adaptations: tuple[str, ...]) -> None:
    """The service did not take a parameter as asked; the last of these says what is sent instead."""
    if adaptations:
        _log.info("%s does not take a parameter as asked: %s", model, adaptations[-1])


# ------------------------------ How many requests are under way at once, and the pause that all of them share.


class Gate:
    """Lets at most ``max_connections`` requests through, and none before the end of a pause.

    One gate serves one event loop.
    """

    def __init__(self, max_connections: int) -> None:
        self._places = asyncio.Semaphore(max_connections)
        self._opens_at = 0.0

    def pause(self, seconds: float) -> None:
        """Start no new request for so long; a longer pause already in force stays."""
        self._opens_at = max(self._opens_at, time.monotonic() + seconds)

    @asynccontextmanager
    async def enter(self) -> AsyncIterator[None]:
        """Wait for a place and for the end of the pause; hold the place inside the block."""
        async with self._places:
            # whoever sleeps here holds a place, which is harmless: nobody else may start either
            while (wait_s := self._opens_at - time.monotonic()) > 0:
                await asyncio.sleep(wait_s)
            yield


# ---------------------------------- Why samples have no reply: the causes, counted, and what to do about each.

STEP = 10
"""The causes are told at the first failure, and whenever there are so many times as many."""

SHOWN_CAUSES = 3

Cause = tuple[int | None, str]
"""HTTP status, where there was one, and the error with its numbers and identifiers taken out."""

_VARYING = re.compile(r"\b(?=\w*\d)[\w-]{8,}\b|\d+")


class Shortfall:
    """Samples that a stage could not get a reply for.

    Args:
        tell: is given the causes in one line while the run goes on: after 1, 10, 100, ... samples that failed, and
            10, 100, ... requests that had to be repeated before an answer came.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.not_asked = 0
        """Samples that the budget did not reach."""
        self._tell = tell
        self._told_at, self._repeats_told_at = 1, STEP
        self._repeated: Counter[Cause] = Counter()
        self._counts: Counter[Cause] = Counter()
        self._texts: dict[Cause, str] = {}

    def __len__(self) -> int:
        """How many samples are without a reply."""
        return self.not_asked + self.failed

    @property
    def failed(self) -> int:
        """Samples whose every attempt failed."""
        return self._counts.total()

    def add(self, reply: Reply) -> None:
        """Note a reply; one that has a text counts for nothing."""
        if reply.text is not None:
            self._note_repeats(reply)
            return
        status, text = _cause(reply)
        self._counts[self._kind(status, text)] += 1
        _log.info("a sample has no reply after %d attempts: %s", len(reply.attempts), text)
        if self.failed == self._told_at:
            self._told_at *= STEP
            failed = "1 sample has" if self.failed == 1 else f"{self.failed} samples have"
            causes = self._causes(self._counts)
            self._tell(f"{failed} failed so far: {causes}. Ctrl-C stops the run and keeps what it has")

    def sentence(self) -> str:
        """How many samples have no reply, why, most frequent causes first, and what to do."""
        parts = []
        if self.failed:
            parts.append(self._causes(self._counts))
        if self.not_asked:
            parts.append(f"{self.not_asked} × not asked, because `max_cost_usd` is spent: raise it")
        left = "1 sample has" if len(self) == 1 else f"{len(self)} samples have"
        again = "it" if len(self) == 1 else "them"
        return f"{left} no reply: {'; '.join(parts)}. The same command asks for {again} again"

    def _note_repeats(self, reply: Reply) -> None:
        """Requests that failed before this answer came: they cost time, and a setting may avoid them."""
        failed = [attempt for attempt in reply.attempts if attempt.outcome == "error"]
        self._repeated.update(self._kind(attempt.status, attempt.error or "no reason given") for attempt in failed)
        if self._repeated.total() >= self._repeats_told_at:
            while self._repeated.total() >= self._repeats_told_at:
                self._repeats_told_at *= STEP
            self._tell(f"{self._repeated.total()} requests were repeated so far: {self._causes(self._repeated)}")

    def _kind(self, status: int | None, text: str) -> Cause:
        """The cause of a failure; its first text stands for it in messages."""
        cause = (status, _VARYING.sub("…", text))
        self._texts.setdefault(cause, text)
        return cause

    def _causes(self, counts: Counter[Cause]) -> str:
        shown = counts.most_common(SHOWN_CAUSES)
        named = [f"{count} × {self._texts[cause]} ({_advice_on_cause(*cause)})" for cause, count in shown]
        rest = counts.total() - sum(count for _, count in shown)
        return "; ".join([*named, *([f"{rest} × other causes (completions.jsonl has each)"] if rest else [])])


def _cause(reply: Reply) -> tuple[int | None, str]:
    """What the last attempt met."""
    if not reply.attempts:
        return None, "the model gave no text"
    last = reply.attempts[-1]
    if last.outcome == "error":
        return last.status, last.error or "no reason given"
    return last.status, "the reply was empty"


_ADVICE: tuple[tuple[Callable[[int, str], bool], str], ...] = (
    (
        lambda status, text: status == 200 and "empty" in text,
        "a model that reasons may have used up its tokens: raise `max_tokens`",
    ),
    (
        lambda _, text: "context" in text and "token" in text,
        "prompt and `max_tokens` together exceed what the server allows: lower `max_tokens`",
    ),
    (
        lambda status, _: status == 429,
        "the service limits requests: lower `max_connections` or raise `max_attempts`",
    ),
    (
        lambda status, _: 400 <= status < 500,
        "change or leave out what the service names: a parameter such as `temperature`, or one of `model_args`",
    ),
    (
        lambda status, _: status >= 500,
        "look into the server's log; where it is overloaded, lower `max_connections`",
    ),
    (lambda _, text: "timed out" in text, "raise `timeout_s` or lower `max_connections`"),
    (lambda _, text: "error" in text, "check that the service still runs, or lower `max_connections`"),
)
"""What to do about a failure, by its HTTP status (0 without one) and its text in small letters; the first fits."""


def _advice_on_cause(status: int | None, text: str) -> str:
    fitting = (advice for fits, advice in _ADVICE if fits(status or 0, text.lower()))
    return next(fitting, "completions.jsonl has the attempts")
