"""OpenAI and every OpenAI-compatible service as a `Model`.

Arguments of the model (``-M key=value``) are the fields of `OpenAIOptions`. Every other key goes into the body of
the request as it is (``-M top_k=20``, ``-M provider={"only": ["x"]}``).
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence, Set
from difflib import get_close_matches
from functools import partial
from http import HTTPStatus
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from truegrade.errors import ModelError
from truegrade.files.json_text import UNREADABLE, encode
from truegrade.models.base import (
    LISTED_BEFORE_S,
    BatchQuestion,
    BatchState,
    EncodedQuestion,
    PassingFailure,
    Reply,
)
from truegrade.models.providers import ModelEndpoint, Price
from truegrade.models.service_errors import (
    Body,
    FailureKind,
    ReplyChoice,
    RequestFailure,
    connection_failure,
    encodable,
    error_text,
    one_line,
    read_choice,
    response_failure,
    status_failure,
    transport_errors,
)
from truegrade.models.service_model import ServiceClient, ServiceModel
from truegrade.models.service_parameters import Parameters, Route, ServiceOptions, split_arguments
from truegrade.records import Attempt, Message, Usage
from truegrade.records.config import RequestPolicy, Sampling

if TYPE_CHECKING:
    import openai
    from openai.types import Batch


# ------------------------------- Reading the body of an OpenAI-protocol response, as services really write it.
# The bytes are decoded here and not by the client's response classes, because those accept anything: a body
# without choices or with a number for a text would surface far from its cause.


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
    calls = bool(message.tool_calls)
    return read_choice(text or message.refusal or "", reasoning, raw.finish_reason, calls=calls, logprobs=logprobs)


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


# ------------------------- What the OpenAI client raised: which statuses and codes end a run at which service.


EXHAUSTED_CODES = frozenset({"insufficient_quota", "billing_not_active", "billing_hard_limit_reached"})
"""Codes on a 429 that no waiting mends (OpenAI's error guide)."""


def _kind(failure: RequestFailure, codes: Set[str | None]) -> FailureKind:
    said = failure.error.lower()
    if failure.status == 403 and ("flagged" in said or "moderation" in said):
        return "refused"  # OpenRouter: a moderator objects to this one prompt, not to the key
    if failure.status == 400 and "api key not valid" in said:
        return "stopping"  # Gemini's answer to a wrong key
    if failure.status == 429 and EXHAUSTED_CODES & codes:
        return "stopping"
    return failure.kind


# ---- One request over the official OpenAI client: sent once, timed out by the wall clock, read or classified.


T = TypeVar("T")


LIST_S = 10.0
"""How long a server may take to list its models, in seconds, where the name of one was wrong."""
MOST_NAMED = 10
"""So many of them are named, those most like the wrong one first."""


class OpenAIClient(ServiceClient["openai.AsyncOpenAI"]):
    """A connection to one service: see `truegrade.models.service_model.ServiceClient`."""

    def check(self, route: Route, sampling: Sampling) -> None:
        """Every request can be put; see `truegrade.models.service_model.ServiceClient`."""

    def body(self, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a request as it stands in a batch."""
        return {**self._fields(route, messages, parameters), **self._extra_body}

    async def send(
        self, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]
    ) -> Body | RequestFailure:
        """Send one request; a failure is returned, never raised (cancellation passes through)."""
        fields = self._fields(route, messages, parameters)

        async def create(client: openai.AsyncOpenAI) -> Body | RequestFailure:
            at = client.completions if route == "text" else client.chat.completions
            async with asyncio.timeout(self._timeout_s):  # the client's own limit is for each single read
                response = await at.with_raw_response.create(**fields, extra_body=self._extra_body or None)
            return read_body(response.content)

        outcome = await self.call(create)
        if isinstance(outcome, RequestFailure) and outcome.status == HTTPStatus.NOT_FOUND:
            return await self._naming_the_offered(outcome)
        return outcome

    async def call(self, ask: Callable[[openai.AsyncOpenAI], Awaitable[T]]) -> T | RequestFailure:
        """Whatever is asked of the client; a failure is returned, never raised (cancellation passes through)."""
        try:
            outcome: T | RequestFailure = await ask(self.connected())
        except Exception as error:
            failure = _read_error(error)
            if failure is None:
                raise
            outcome = failure
        return self.note_outcome(outcome)

    async def _naming_the_offered(self, failure: RequestFailure) -> RequestFailure:
        """A failure that may be of a model's name, with the names that the server lists where it lists any."""
        try:
            async with asyncio.timeout(LIST_S):
                page = await self.connected().models.list()
                offered = sorted(model.id for model in page.data)
        except Exception:  # whatever a server does on a path that it need not have
            return failure
        if not offered or self._model in offered:
            return failure
        close = get_close_matches(self._model, offered, n=MOST_NAMED, cutoff=0)
        more = f" and {len(offered) - len(close)} more" if len(offered) > len(close) else ""
        return msgspec.structs.replace(failure, advice=f"the server offers {', '.join(close)}{more}")

    def _fields(self, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]) -> dict[str, Any]:
        """What is asked in the terms of the route's endpoint."""
        if route == "text":
            asked: dict[str, Any] = {"prompt": "".join(message.content for message in messages)}
        else:
            asked = {"messages": [{"role": message.role, "content": message.content} for message in messages]}
        return {"model": self._model, **asked, **parameters}

    def open(self) -> openai.AsyncOpenAI:
        """The library's client; the address alone decides whose account is charged."""
        import openai

        client = openai.AsyncOpenAI(base_url=self._endpoint.address, **self.settings(openai))
        if self._endpoint.provider != "openai":
            # the client reads these from the environment; they concern nobody but OpenAI
            client.organization = client.project = None
        return client


def _read_error(error: Exception) -> RequestFailure | None:
    """A status, a time-out, a broken or impossible connection; None for an error that is none of a request."""
    import openai

    if isinstance(error, openai.APIStatusError):
        failure = response_failure(error.response)
        return msgspec.structs.replace(failure, kind=_kind(failure, {error.code, error.type}))
    if isinstance(error, (openai.OpenAIError, *transport_errors(), TimeoutError, OSError)):
        return connection_failure(error, openai.APITimeoutError)
    return None


# ----- OpenAI's Batch API: a file of requests is uploaded, a batch is made of it, two files bring the results.
# Source: OpenAI, guide "Batch API" and API reference, "Batch": up to 50,000 requests and 200 MB a batch, all of
# one endpoint and one model; answered within 24 hours, and what is not answered by then expires.


SHARE_OF_PRICE = 0.5
"""Of the list price, input and output alike (guide "Batch API": "50% cost discount")."""

TOKEN_KEY = "truegrade"
"""Under which a batch's metadata hold our token."""

_ENDPOINTS: Mapping[str, Any] = {"chat": "/v1/chat/completions", "text": "/v1/completions"}
_STATUS: Mapping[str, Literal["ended", "expired", "cancelled", "failed"]] = {
    "completed": "ended",
    "expired": "expired",
    "cancelled": "cancelled",
    "failed": "failed",
}
"""The states in which nothing more happens; every other is ``running``."""


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw


class _Error(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _ResultLine(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: _Error | None = None


class OpenAIBatches:
    """The batches of one model at OpenAI: a `truegrade.models.base.BatchService`.

    Args:
        model: whose parameters and price are used.
        client: the model's.
    """

    max_requests = 50_000
    max_bytes = 200_000_000

    def __init__(self, model: ServiceModel, client: OpenAIClient) -> None:
        self._model, self._client = model, client
        self.learnt = 0
        """See `truegrade.models.base.BatchService`."""
        self._price = model.price.times(SHARE_OF_PRICE) if model.price else None

    def encode(self, question: BatchQuestion) -> EncodedQuestion:
        """A line of the file: a request with the parameters that an ordinary one would have."""
        prompt, sampling = question.prompt, question.sampling
        route = self._model.route(prompt)
        body = self._client.body(route, prompt.messages, self._model.parameters(route).build(prompt, sampling))
        line = {"custom_id": question.custom_id, "method": "POST", "url": _ENDPOINTS[route], "body": body}
        content = encode(line)
        bound_usd = None
        if self._price is not None and sampling.max_tokens is not None:
            # a token stands for at least one byte of text, and the names around it outweigh a chat's template
            most = Usage(input_tokens=len(content), output_tokens=sampling.max_tokens)
            bound_usd = self._price.cost_usd(most)
        return EncodedQuestion(content=content, endpoint=route, bound_usd=bound_usd)

    async def submit(self, token: str, requests: Sequence[EncodedQuestion]) -> str:
        """Upload the file, then create the batch; its metadata hold the token."""
        content = b"".join(request.content + b"\n" for request in requests)

        async def create(client: openai.AsyncOpenAI) -> str:
            file = await client.files.create(file=("batch.jsonl", content), purpose="batch")
            batch = await client.batches.create(
                input_file_id=file.id,
                endpoint=_ENDPOINTS[requests[0].endpoint],
                completion_window="24h",
                metadata={TOKEN_KEY: token},
            )
            return batch.id

        return await self._ask(create, "change what it names, or leave `batch` out; nothing was submitted")

    async def find(self, token: str, since: float) -> str | None:
        """Look through the batches of the last time for the token."""

        async def look(client: openai.AsyncOpenAI) -> str | None:
            async for batch in client.batches.list(limit=100):  # the newest first
                if batch.created_at < since - LISTED_BEFORE_S:
                    break
                if (batch.metadata or {}).get(TOKEN_KEY) == token:
                    return batch.id
            return None

        return await self._ask(look, "leave `batch` out if the service has no batches")

    async def state(self, id_: str) -> BatchState:
        """Ask how far a batch is."""
        batch = await self._batch(id_)
        counts, faults = batch.request_counts, (batch.errors and batch.errors.data) or []
        return BatchState(
            id=id_,
            status=_STATUS.get(batch.status, "running"),
            total=counts.total if counts else 0,
            answered=counts.completed if counts else 0,
            failed=counts.failed if counts else 0,
            reason=one_line("; ".join(_fault(fault) for fault in faults)) if faults else None,
        )

    async def results(self, id_: str, questions: Mapping[str, BatchQuestion]) -> AsyncIterator[tuple[str, Reply]]:
        """See `truegrade.models.base.BatchService`; a refused parameter is learnt for the next batch."""
        sent = {
            custom_id: self._model.parameters(self._model.route(asked.prompt)).build(asked.prompt, asked.sampling)
            for custom_id, asked in questions.items()
        }
        async for custom_id, outcome in self._outcomes(id_):
            if custom_id not in questions:
                continue
            route = self._model.route(questions[custom_id].prompt)
            if isinstance(outcome, RequestFailure) and outcome.kind == "refused":
                self.learnt += self._model.parameters(route).learn(outcome, sent[custom_id])
            yield custom_id, self._reply(route, outcome)

    async def _outcomes(self, id_: str) -> AsyncIterator[tuple[str, Body | RequestFailure]]:
        """Read the output file, then the error file; each is downloaded whole before its first line is read."""
        batch = await self._batch(id_)
        for file_id in (batch.output_file_id, batch.error_file_id):
            if file_id is None:
                continue
            with tempfile.TemporaryFile() as file:
                advice = "its files may have been deleted or have expired: remove its lines from batches.jsonl"
                self._result_or_raise(await self._client.call(partial(_download, file_id, file)), advice)
                file.seek(0)
                for outcome in _read(file):
                    yield outcome

    def _reply(self, route: Route, outcome: Body | RequestFailure) -> Reply:
        """An emptiness by chance is a reply without text, as is a failure: the sample is asked again."""
        cost_usd = self._price.cost_usd(outcome.usage) if self._price and outcome.usage else None
        if isinstance(outcome, RequestFailure):
            failed = Attempt(
                outcome="error", status=outcome.status, error=outcome.error, usage=outcome.usage, cost_usd=cost_usd
            )
            return self._model.replies(route, None, [failed])[0]
        attempt = Attempt(
            outcome="empty" if outcome.empty else "ok", status=200, usage=outcome.usage, cost_usd=cost_usd
        )
        return self._model.replies(route, None if outcome.empty_by_chance else outcome, [attempt])[0]

    async def _batch(self, id_: str) -> Batch:
        unknown = (
            f"batch {id_} is not known there with this key: use the key that it was submitted with, or, where it"
            " is gone, remove its lines from batches.jsonl"
        )
        return await self._ask(lambda client: client.batches.retrieve(id_), unknown)

    async def _ask(self, ask: Callable[[openai.AsyncOpenAI], Awaitable[T]], advice: str) -> T:
        """What a request about a batch brought; raises as `_result_or_raise`, and where fields lack."""
        try:
            return self._result_or_raise(await self._client.call(ask), advice)
        except (AttributeError, TypeError) as error:  # the client takes any body of a reply with status 200
            raise ModelError(
                f"{self._model.name} at {self._model.base_url}: a reply about batches lacks its fields ({error});"
                " leave `batch` out if the service has no batches"
            ) from error

    def _result_or_raise(self, outcome: T | RequestFailure, advice: str) -> T:
        """What a request about a batch brought.

        Args:
            outcome: of the request.
            advice: what to do where it failed for good.

        Raises:
            PassingFailure: asking again may help.
            ModelError: it will not.
        """
        if not isinstance(outcome, RequestFailure):
            return outcome
        if outcome.kind == "passing" and not (outcome.unreachable and not self._model.reached):
            raise PassingFailure(f"{self._model.name} at {self._model.base_url}: {outcome.error}")
        if outcome.status in {400, 404, 413}:
            outcome = msgspec.structs.replace(outcome, advice=advice)
        raise ModelError(self._model.explain(outcome, "chat"))


async def _download(file_id: str, file: IO[bytes], client: openai.AsyncOpenAI) -> None:
    async with client.files.with_streaming_response.content(file_id) as response:
        async for piece in response.iter_bytes():
            file.write(piece)


def _read(lines: IO[bytes]) -> Iterator[tuple[str, Body | RequestFailure]]:
    decoder = msgspec.json.Decoder(_ResultLine)
    for line in lines:
        try:
            result = decoder.decode(line)
        except UNREADABLE:  # whose it is cannot be told: that request has no reply
            continue
        if result.response is None:
            error = result.error or _Error()
            told = one_line(f"{error.code or 'no code'}: {error.message or 'no reason given'}")
            yield result.custom_id, RequestFailure(kind="passing", error=told)
        elif result.response.status_code == 200:
            yield result.custom_id, read_body(bytes(result.response.body))
        else:
            yield (
                result.custom_id,
                status_failure(result.response.status_code, _document(result.response.body), {}),
            )


def _document(body: msgspec.Raw) -> Any:
    """An error's body, decoded where it can be."""
    try:
        return msgspec.json.decode(body)
    except UNREADABLE:
        return bytes(body).decode("utf-8", "replace")


def _fault(fault: Any) -> str:
    """One of the reasons for which a batch failed."""
    line = f" (line {fault.line})" if fault.line else ""
    return f"{fault.code or 'error'}: {fault.message or 'no reason given'}{line}"


# ------------------------------------------------------------------------ OpenAI's own rules about parameters.


_REASONING_NAME = re.compile(r"(o1|o3|o4|gpt-5)(?![a-z0-9])(?!-chat)")


def is_reasoning_model(provider: str, model: str) -> bool:
    """Whether OpenAI's rules for reasoning models hold: o1, o3, o4 and gpt-5 at openai, but not gpt-5-chat.

    Source: OpenAI API reference, chat completions: ``max_completion_tokens``, no ``temperature``, no ``top_p``.
    """
    return provider == "openai" and _REASONING_NAME.match(model) is not None


def openai_parameters(route: Route, *, reasoning: bool = False) -> Parameters:
    """Parameters that nothing was learnt of yet.

    Args:
        route: which endpoint.
        reasoning: whether OpenAI's rules for reasoning models hold.
    """
    limits = ("max_tokens", "max_completion_tokens")  # two spellings; a refused one is sent as the other
    if route == "text":
        return Parameters(
            limits=limits, rules={"reasoning_effort": "the completions endpoint has no such parameter"}
        )
    if reasoning:
        taken = "a reasoning model takes none"
        return Parameters(limits=limits[::-1], rules={"temperature": taken, "top_p": taken})
    return Parameters(limits=limits)


class OpenAIOptions(ServiceOptions, frozen=True, kw_only=True):
    """Reserved keys, each with its meaning."""

    reasoning: bool | None = None
    """Send the parameters of OpenAI's reasoning models; None: decide by the model's name."""
    batch_n: bool = False
    """Ask for several samples of a problem in one request (the API's ``n``)."""


def open_openai(
    endpoint: ModelEndpoint,
    model: str,
    request_policy: RequestPolicy,
    args: Mapping[str, Any],
    listed_price: Price | None,
) -> ServiceModel:
    """Open a model behind an OpenAI-compatible address; see `truegrade.models.service_model.ServiceOpener`.

    Raises:
        UserError: a model argument is not understood.
    """
    options, extra_body = split_arguments(args, OpenAIOptions)
    reasoning = options.reasoning
    if reasoning is None:
        reasoning = is_reasoning_model(endpoint.provider, model)
    client = OpenAIClient(endpoint, model, timeout_s=request_policy.timeout_s, extra_body=extra_body)
    return ServiceModel(
        endpoint,
        model,
        client,
        fresh_parameters=partial(openai_parameters, reasoning=reasoning),
        request_policy=request_policy,
        options=options,
        price=options.price(listed_price),
        batch_n=options.batch_n,
        # of the other services that speak the protocol, not all have batches, and not all at half the price
        batches=partial(OpenAIBatches, client=client) if endpoint.provider == "openai" else None,
    )
