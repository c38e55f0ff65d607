"""Anthropic's models through its Messages API.

Arguments of the model (``-M key=value``) are the fields of `AnthropicOptions`. Every other key goes into the body
of the request as it is (``-M top_k=20``, ``-M service_tier=standard_only``).

Reading what Anthropic's Messages API answers: messages, and errors by what they end.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec

from truegrade.errors import UserError
from truegrade.files.extras import require
from truegrade.files.json_text import UNREADABLE
from truegrade.models.base import LISTED_BEFORE_S, BatchState, EncodedQuestion, FoundBatch
from truegrade.models.providers import ModelEndpoint, Price
from truegrade.models.service_errors import (
    Body,
    RequestFailure,
    connection_failure,
    error_object,
    one_line,
    read_choice,
    response_failure,
    status_failure,
    string_field,
)
from truegrade.models.service_model import SdkClient, ServiceBatches, ServiceModel, written
from truegrade.models.service_parameters import (
    Parameters,
    Route,
    ServiceOptions,
    refuse_full_thinking,
    refuse_text,
    split_arguments,
)
from truegrade.records import Message, Usage
from truegrade.records.config import RequestPolicy, Sampling

if TYPE_CHECKING:
    import anthropic
    from anthropic.types.messages import MessageBatch


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
    choice = read_choice(text, thoughts, reason, calls=calls)
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


# ----------------------------------------------------------------------------------------------------------------
# One request over the official Anthropic client: streamed, timed out by the wall clock, read or classified.
# Every request is streamed: the client refuses others that might take more than ten minutes, and a connection on
# which nothing is sent for minutes is cut by what lies between. A stream without its last event is no answer.


VERSION = "2023-06-01"
"""Of the API. The next one, 2026-10-21, refuses temperature and top_p also for the models that follow them."""

DEFAULT_MAX_TOKENS = 32_768
"""Sent where a run sets no limit, because the API insists on one: room for thinking and answer. Every model that
is served today takes 64,000 and more (Anthropic, models overview)."""

_BROKEN = (ValueError, TypeError, LookupError, AttributeError, RuntimeError, AssertionError)
"""What the client raises while it puts a message together from events that do not fit."""


class AnthropicClient(SdkClient["anthropic.AsyncAnthropic"]):
    """A connection to one service: see `truegrade.models.service_model.SdkClient`.

    Args:
        thinking: the request's ``thinking``; None leaves it out.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        model: str,
        *,
        timeout_s: float,
        thinking: Mapping[str, Any] | None,
        extra_body: Mapping[str, Any],
    ) -> None:
        super().__init__(endpoint, model, timeout_s=timeout_s, extra_body=extra_body)
        self._thinking = thinking

    def check(self, route: Route, sampling: Sampling) -> None:
        """See `truegrade.models.service_model.ServiceClient`.

        Raises:
            UserError: text to continue, a temperature above 1, or a thinking budget that fills the token limit.
        """
        refuse_text(route, self.name)
        if (sampling.temperature or 0.0) > 1:
            raise UserError(f"{self.name}: `temperature` {sampling.temperature}: the Messages API takes 0 to 1")
        budget, limit = (self._thinking or {}).get("budget_tokens"), sampling.max_tokens or DEFAULT_MAX_TOKENS
        if isinstance(budget, int):
            refuse_full_thinking(self.name, budget, limit, " (for the short replies of a probe, leave it out)")

    async def send(
        self, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]
    ) -> Body | RequestFailure:
        """Send one request; a failure is returned, never raised (cancellation passes through)."""
        return self.note_outcome(await self._streamed(self.request_body(messages, parameters)))

    def request_body(self, messages: Sequence[Message], parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a request in the API's own terms.

        Args:
            messages: the prompt; what its system messages say goes before all turns.
            parameters: by the names of `truegrade.models.service_parameters.Parameters.build`.
        """
        body: dict[str, Any] = {"model": self._model, **parameters}
        system = "\n\n".join(message.content for message in messages if message.role == "system")
        if system:
            body["system"] = system
        body["messages"] = [
            {"role": message.role, "content": message.content} for message in messages if message.role != "system"
        ]
        if "stop" in body:
            body["stop_sequences"] = body.pop("stop")
        if self._thinking is not None:
            body["thinking"] = dict(self._thinking)
        body |= self._extra_body
        if "reasoning_effort" in body:
            body["output_config"] = {**body.get("output_config", {}), "effort": body.pop("reasoning_effort")}
        return body

    async def _streamed(self, body: Mapping[str, Any]) -> Body | RequestFailure:
        required = {key: body[key] for key in ("model", "max_tokens", "messages")}
        # the client's arguments are those of the newest version of the API: temperature is none of them
        rest = {key: value for key, value in body.items() if key not in required}
        stream, whole = None, False
        try:
            async with asyncio.timeout(self._timeout_s):  # the client's own limit is for each single read
                async with self.connected().messages.stream(**required, extra_body=rest) as stream:
                    async for event in stream:
                        whole = whole or event.type == "message_stop"
            if whole:
                return read_message(stream.current_message_snapshot)
            failure = RequestFailure(kind="passing", error="the stream ended before the message did", status=200)
        except Exception as error:
            failure = self._stream_failure(error)
        return failure if stream is None else msgspec.structs.replace(failure, usage=_counted(stream))

    def _stream_failure(self, error: Exception) -> RequestFailure:
        """What was raised while a stream was read, classified; raised again where it is an error of ours."""
        failure = self.read_error(error)
        if failure is not None:
            return failure
        if not isinstance(error, _BROKEN):
            raise error
        problem = f"malformed stream: {type(error).__name__}: {error}"
        return RequestFailure(kind="passing", error=one_line(problem), status=200)

    def open(self) -> anthropic.AsyncAnthropic:
        """The library's client; it adds ``/v1`` to the address itself."""
        import anthropic

        return anthropic.AsyncAnthropic(
            base_url=self._endpoint.address.removesuffix("/v1"),
            default_headers={"anthropic-version": VERSION},
            **self.settings(anthropic),
        )

    def read_error(self, error: Exception) -> RequestFailure | None:
        """A status, an error in a stream, a time-out, a broken connection."""
        import anthropic
        import httpx2

        if isinstance(error, anthropic.APIStatusError):
            return status_error(error)
        if isinstance(error, anthropic.AnthropicError | httpx2.HTTPError | TimeoutError | OSError):
            return connection_failure(error, anthropic.APITimeoutError)
        return None


def _counted(stream: anthropic.AsyncMessageStream[None]) -> Usage | None:
    """What was counted before a stream broke: the prompt, once a message has begun."""
    try:
        return usage_of(stream.current_message_snapshot)
    except AssertionError:  # no message has begun
        return None


# -------------------- Anthropic's Message Batches: requests are handed over in one body, results are one file.
# A batch has no field for a note of ours: our token stands in the custom ids of its requests, which the service
# shows once the batch has ended.
#
# Source: Anthropic, "Batch processing" and API reference, "Message Batches": up to 100,000 requests or 256 MB a
# batch, custom ids of up to 64 letters, digits, hyphens and underscores; most batches end within an hour, and
# what is not answered within 24 hours expires; results are kept for 29 days.


class _Result(msgspec.Struct):
    type: Literal["succeeded", "errored", "canceled", "expired"]
    message: Any = None
    error: Any = None


class _ResultLine(msgspec.Struct):
    custom_id: str
    result: _Result


class AnthropicBatches(ServiceBatches):
    """The batches of one model at Anthropic.

    Args:
        model: whose batches.
        client: the model's.
    """

    max_requests: ClassVar[int] = 100_000
    max_bytes: ClassVar[int] = 255_000_000  # of 256 MB, the rest for what is around the requests

    def __init__(self, model: ServiceModel, client: AnthropicClient) -> None:
        super().__init__(model)
        self._client = client

    def envelope(
        self, custom_id: str, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """One of the requests."""
        return {"custom_id": custom_id, "params": self._client.request_body(messages, parameters)}

    async def submit(self, token: str, requests: Sequence[EncodedQuestion]) -> str:
        """Create a batch; the token is in its custom ids already."""
        decoded: Any = [msgspec.json.decode(request.content) for request in requests]

        async def create(client: anthropic.AsyncAnthropic) -> str:
            return (await client.messages.batches.create(requests=decoded)).id

        return self.result_or_raise(
            await self._client.call(create), "change what it names, or leave `batch` out; nothing was submitted"
        )

    async def find(self, token: str, requests: int, since: float, besides: Collection[str]) -> FoundBatch | None:
        """Look through the batches of the last time for one of as many requests, by each one's first custom id."""

        async def look(client: anthropic.AsyncAnthropic) -> FoundBatch | None:
            running = None
            async for batch in client.messages.batches.list(limit=100):  # the newest first
                if batch.created_at.timestamp() < since - LISTED_BEFORE_S:
                    break
                if batch.id in besides or batch.archived_at is not None or _total(batch) != requests:
                    continue
                if batch.processing_status != "ended":
                    running = batch.id
                elif await _holds(batch.id, token, client):
                    return FoundBatch(id=batch.id, certain=True)
            return None if running is None else FoundBatch(id=running, certain=False)

        return self.result_or_raise(
            await self._client.call(look), "leave `batch` out if the service has no batches"
        )

    async def state(self, id_: str) -> BatchState:
        """Ask how far a batch is; what is answered is counted only when all of it has ended."""
        asked = self._client.call(lambda client: client.messages.batches.retrieve(id_))
        batch = self.result_or_raise(await asked, self.unknown(id_))
        counts = batch.request_counts
        status: Literal["running", "ended", "expired", "cancelled"] = "running"
        if batch.processing_status == "ended":
            status = "expired" if counts.expired else "cancelled" if counts.canceled else "ended"
        failed = counts.errored + counts.expired + counts.canceled
        return BatchState(id=id_, status=status, total=_total(batch), answered=counts.succeeded, failed=failed)

    async def outcomes(self, id_: str) -> AsyncIterator[tuple[str, Body | RequestFailure]]:
        """Read the results, which are downloaded whole before the first is read."""
        with tempfile.TemporaryFile() as file:
            advice = "its results are kept for 29 days; where they are gone, remove its lines from batches.jsonl"
            self.result_or_raise(await self._client.call(partial(_download, id_, file)), advice)
            file.seek(0)
            for outcome in _read(file):
                yield outcome


def _total(batch: MessageBatch) -> int:
    counts = batch.request_counts
    return counts.processing + counts.succeeded + counts.errored + counts.expired + counts.canceled


async def _holds(id_: str, token: str, client: anthropic.AsyncAnthropic) -> bool:
    """Whether the custom ids of a batch that has ended are those of a token."""
    async with client.messages.batches.with_streaming_response.results(id_) as response:
        async for line in response.iter_lines():
            try:
                return msgspec.json.decode(line, type=_ResultLine).custom_id.startswith(f"{token}-")
            except UNREADABLE:
                continue
    return False


async def _download(id_: str, file: IO[bytes], client: anthropic.AsyncAnthropic) -> None:
    await written(file, client.messages.batches.with_streaming_response.results(id_))


def _read(lines: IO[bytes]) -> Iterator[tuple[str, Body | RequestFailure]]:
    decoder = msgspec.json.Decoder(_ResultLine)
    for line in lines:
        try:
            read = decoder.decode(line)
        except UNREADABLE:  # whose it is cannot be told: that request has no reply
            continue
        if read.result.type == "succeeded":
            yield read.custom_id, read_message(read.result.message)
        elif read.result.type == "errored":
            yield read.custom_id, told_failure(read.result.error)
        else:
            told = {
                "expired": "the batch expired before it was asked",
                "canceled": "the batch was cancelled first",
            }
            yield read.custom_id, RequestFailure(kind="passing", error=told[read.result.type])


class AnthropicOptions(ServiceOptions, frozen=True, kw_only=True):
    """Reserved keys, each with its meaning."""

    thinking_budget: Annotated[int, msgspec.Meta(ge=1024)] | None = None
    """Tokens of extended thinking (``budget_tokens``), for models that think on request; within ``max_tokens``."""
    thinking: Literal["adaptive", "disabled"] | dict[str, Any] | None = None
    """``adaptive``: the model decides how much, and a summary of it is stored; ``disabled``; or the object of the
    API as JSON. None: the model's default."""

    @property
    def thinking_body(self) -> dict[str, Any] | None:
        """The request's ``thinking``; None leaves it out."""
        if self.thinking_budget is not None:
            return {"type": "enabled", "budget_tokens": self.thinking_budget}
        if self.thinking == "adaptive":
            return {"type": "adaptive", "display": "summarized"}
        return {"type": self.thinking} if isinstance(self.thinking, str) else self.thinking


def open_anthropic(
    endpoint: ModelEndpoint,
    model: str,
    request_policy: RequestPolicy,
    args: Mapping[str, Any],
    listed_price: Price | None,
) -> ServiceModel:
    """Open a model behind the Messages API; see `truegrade.models.service_model.ServiceOpener`.

    Raises:
        UserError: a model argument is not understood, or the client is not installed.
    """
    require("anthropic", "Anthropic's protocol")
    options, extra_body = split_arguments(args, AnthropicOptions)
    if options.thinking_budget is not None and options.thinking is not None:
        raise UserError("`model_args` thinking_budget and thinking exclude each other: give one of them")
    thinking = options.thinking_body
    thinks = thinking is not None and thinking.get("type") != "disabled"

    def fresh_parameters(route: Route) -> Parameters:
        return anthropic_parameters(thinks=thinks)

    client = AnthropicClient(
        endpoint, model, timeout_s=request_policy.timeout_s, thinking=thinking, extra_body=extra_body
    )
    return ServiceModel(
        endpoint,
        model,
        client,
        fresh_parameters=fresh_parameters,
        request_policy=request_policy,
        options=options,
        price=options.price(listed_price),
        batches=partial(AnthropicBatches, client=client),
    )


def anthropic_parameters(*, thinks: bool) -> Parameters:
    """Parameters that nothing was learnt of yet.

    Args:
        thinks: whether the request asks for thinking. Source: Anthropic, "Extended thinking", feature
            compatibility: no temperature but 1 and no top_p below 0.95.
    """
    unknown = "the Messages API has no such parameter"
    rules = {"seed": unknown, "n": unknown}
    if thinks:
        rules |= dict.fromkeys(("temperature", "top_p"), "a request with thinking takes none")
    return Parameters(rules=rules, required={"max_tokens": DEFAULT_MAX_TOKENS})
