"""A local server that speaks Anthropic's Messages API, with the refusals that the real one gives.

What a request asks for is checked as the API does it: the key and version headers, ``max_tokens``, unknown
fields, parameters that exclude each other. A message is sent as server-sent events.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from support.scripted_server import Answer, ScriptedServer, Seen, scripted_server

KEY = "sk-ant-secret"
MODEL = "claude-served-1"
EVENTS = {"content-type": "text/event-stream; charset=utf-8"}
SAMPLING = {"temperature", "top_p", "top_k"}
NEWEST = {
    *("model", "max_tokens", "messages", "system", "stream", "stop_sequences", "thinking", "output_config"),
    *("metadata", "service_tier", "cache_control"),
}
FIELDS = {"2023-06-01": NEWEST | SAMPLING, "2026-10-21": NEWEST}
"""What a request may hold under each version of the API."""


@dataclass(frozen=True)
class Told:
    """What the model says to one request."""

    text: str | None = "ok"
    thinking: Sequence[str] = ()
    redacted: bool = False
    """Whether a part of the thinking comes as nothing but encrypted bytes."""
    stop_reason: str = "end_turn"
    usage: Mapping[str, Any] | None = None
    """Added to, and replacing, ten input and twenty output tokens."""
    cut_at: float | None = None
    """Share of the stream's bytes after which the connection breaks."""
    ends_at: str | None = None
    """The event before which the stream ends as if all were said."""
    fails: str | None = None
    """Type of an error that is told in the stream after its first text."""


def message(told: Told, model: str = MODEL) -> dict[str, Any]:
    """A message as the API writes it."""
    content: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": thought, "signature": "c2ln"} for thought in told.thinking
    ]
    if told.redacted:
        content.append({"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"})
    if told.text is not None:
        content.append({"type": "text", "text": told.text, "citations": None})
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": told.stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 20, **(told.usage or {})},
    }


def error(status: int, kind: str, text: str, headers: Mapping[str, str] | None = None) -> Answer:
    """An error in Anthropic's shape."""
    body = {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_1"}
    return Answer(body, status=status, headers=headers or {})


def streamed(told: Told, model: str = MODEL) -> Answer:
    """A message event by event, or the part of it that the server comes to send."""
    content = b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        for event in _events(told, message(told, model))
    )
    if told.cut_at is None:
        return Answer(content, headers=EVENTS)
    # half of what is promised is sent: as much again after the place of the break
    sent = content[: int(len(content) * told.cut_at)]
    return Answer(sent + b" " * len(sent), headers=EVENTS, cut=True)


def _events(told: Told, whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for event in _all_events(whole):
        if event["type"] == told.ends_at:
            return
        yield event
        if told.fails and event.get("delta", {}).get("type") == "text_delta":
            yield {"type": "error", "error": {"type": told.fails, "message": "Overloaded"}}
            return


def _all_events(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    usage = whole["usage"]
    begun = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(whole["content"]):
        yield {"type": "content_block_start", "index": index, "content_block": _begun(block)}
        for delta in _deltas(block):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}


def _begun(block: dict[str, Any]) -> dict[str, Any]:
    empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}}
    return {**block, **empty.get(block["type"], {})}


def _deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if block["type"] == "redacted_thinking":
        return
    text = block[block["type"]]
    for start in range(0, len(text), 7):
        yield {"type": f"{block['type']}_delta", block["type"]: text[start : start + 7]}
    if block["type"] == "thinking":
        yield {"type": "signature_delta", "signature": block["signature"]}


def refusal(seen: Seen, *, models: Sequence[str], thinks: bool = False) -> Answer | None:
    """What the API has against a request; None where it is answered.

    Args:
        seen: the request.
        models: the names that are served.
        thinks: whether the models think without being asked, and so take no temperature.
    """
    key = seen.headers.get("x-api-key") or seen.headers.get("authorization", "").removeprefix("Bearer ")
    if key != KEY:
        return error(401, "authentication_error", f"invalid x-api-key {key}")
    version = seen.headers.get("anthropic-version")
    if version not in FIELDS:
        return error(400, "invalid_request_error", "anthropic-version: header is required")
    if seen.path != "/v1/messages":
        return error(404, "not_found_error", "Not Found")
    body = seen.body
    if body["model"] not in models:
        return error(404, "not_found_error", f"model: {body['model']}")
    text = next((text for wrong, text in _complaints(body, FIELDS[version], thinks) if wrong), None)
    return text and error(400, "invalid_request_error", text)


def _complaints(body: dict[str, Any], fields: set[str], thinks: bool) -> Iterator[tuple[bool, str]]:
    thinking = body.get("thinking", {})
    unknown = min(body.keys() - fields, default=None)
    yield unknown is not None, f"{unknown}: Extra inputs are not permitted"
    yield "max_tokens" not in body, "max_tokens: Field required"
    yield body.get("temperature", 0) > 1, "temperature: range: 0..1"
    yield (
        {"temperature", "top_p"} <= body.keys(),
        ("`temperature` and `top_p` cannot both be specified for this model. Please use only one."),
    )
    yield thinks and "temperature" in body, "`temperature` is deprecated for this model."
    yield thinks and thinking.get("type") == "enabled", '"thinking.type.enabled" is not supported for this model.'
    yield (
        thinking.get("budget_tokens", 0) >= body.get("max_tokens", 0),
        ("`max_tokens` must be greater than `thinking.budget_tokens`"),
    )
    yield (
        thinking.get("type", "disabled") != "disabled" and body.get("temperature", 1) != 1,
        ("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."),
    )
    yield (
        body["messages"][-1]["role"] == "assistant",
        ("This model does not support assistant message prefill. The conversation must end with a user message."),
    )


Say = Told | Answer | Callable[[Any], "Told | Answer"]


@contextmanager
def anthropic_server(
    *says: Say,
    models: Sequence[str] = ("m",),
    thinks: bool = False,
) -> Iterator[ScriptedServer]:
    """Serve the Messages API.

    Args:
        says: in the order of the requests that are not refused; the last one repeats. A function of the decoded
            body may stand for one.
        models: the names that are served.
        thinks: as for `refusal`.
    """
    told = list(says or (Told(),))

    def answer(seen: Seen) -> Answer:
        if (refused := refusal(seen, models=models, thinks=thinks)) is not None:
            return refused
        said = told.pop(0) if len(told) > 1 else told[0]
        if callable(said):
            said = said(seen.body)
        if isinstance(said, Answer):
            return said
        return streamed(said)

    with scripted_server(answer, whole=True) as server:
        server.url = server.url.removesuffix("/v1")
        yield server
