"""An engine behind the OpenAI protocol: ``/v1/models``, ``/v1/chat/completions``, ``/v1/completions``.

For one machine and trusted clients: no keys, no streaming. A parameter that is not honoured is refused, never
ignored (OpenAI API reference, "Create chat completion", "Create completion", read in November 2026).
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from concurrent.futures import Future
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from truegrade.errors import UserError
from truegrade.models.local import Engine, Generated
from truegrade.web.application import (
    Asked,
    BodyRoom,
    ChatBody,
    TextBody,
    application,
    json_response,
    read_body,
    route,
)
from truegrade.web.messages import Refusal, listen
from truegrade.web.port import IDLE_S, HttpServer

B = TypeVar("B", ChatBody, TextBody)

MAX_BODY_BYTES = 16_000_000
MAX_BODIES_BYTES = 4 * MAX_BODY_BYTES
"""Of all requests that arrive at a time."""
RETRY_AFTER_S = 1
MAX_CONNECTIONS = 256
"""An evaluation that keeps more requests open is told 503, and asks again."""
SEED_BITS = 31


class ModelServer(HttpServer):
    """Serves one engine; a context manager, ended by a signal or `shutdown`.

    Args:
        engine: what answers.
        host: address to listen at.
        port: 0 takes a free one.

    Raises:
        UserError: that address cannot be listened at.
    """

    def __init__(self, engine: Engine, host: str = "127.0.0.1", port: int = 8000) -> None:
        self.engine = engine
        self.model_id = engine.name.partition("/")[2]
        self.started_at = int(time.time())
        self.bodies = BodyRoom(MAX_BODIES_BYTES)
        super().__init__(
            _application(self),
            listen(host, port),
            max_connections=MAX_CONNECTIONS,
            tell=_error,
        )

    @property
    def url(self) -> str:
        """What ``--base-url`` takes."""
        return f"{super().url}/v1"


def _application(served: ModelServer) -> Starlette:
    async def models(_: Request) -> Response:
        entry = {"id": served.model_id, "object": "model", "created": served.started_at}
        return json_response({"object": "list", "data": [{**entry, "owned_by": "truegrade"}]})

    return application(
        [
            route("/v1/models", models, "GET"),
            route("/v1/models/", models, "GET"),
            route("/v1/chat/completions", partial(_complete, served, ChatBody), "POST"),
            route("/v1/completions", partial(_complete, served, TextBody), "POST"),
        ],
        _nowhere,
        {
            UserError: lambda _, error: Refusal(HTTPStatus.BAD_REQUEST, str(error)),
            **dict.fromkeys((MemoryError, RuntimeError), _model_failed),
        },
        tell=_error,
    )


def _nowhere(request: Request, _: Exception) -> Refusal:
    there = "POST /v1/chat/completions or /v1/completions" if request.method == "POST" else "GET /v1/models"
    return Refusal(HTTPStatus.NOT_FOUND, f"nothing at {request.scope['path']}: {there}")


def _model_failed(_: Request, error: Exception) -> Refusal:
    return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, f"the model failed: {error or type(error).__name__}")


def _error(refusal: Refusal) -> Response:
    """A refusal as the OpenAI protocol says it."""
    kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
    error = {"message": str(refusal), "type": kind, "param": refusal.field, "code": refusal.code}
    response = json_response({"error": error}, refusal.status)
    response.headers.update(refusal.headers)
    return response


async def _complete(served: ModelServer, kind: type[B], request: Request) -> Response:
    with served.bodies.share(RETRY_AFTER_S) as take:
        asked = _decode(await read_body(request, MAX_BODY_BYTES, IDLE_S, take), kind).asked()
    if asked.model != served.model_id:
        known = f"the model {asked.model!r} is not served here; {served.model_id!r} is"
        raise Refusal(HTTPStatus.NOT_FOUND, known, code="model_not_found", field="model")
    futures = await run_in_threadpool(_submit, served.engine, asked)
    replies = await asyncio.gather(*map(asyncio.wrap_future, futures))
    return json_response(_document(asked, replies, chat=kind is ChatBody))


def _decode(content: bytes, kind: type[B]) -> B:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        unknown = re.fullmatch(r"Object contains unknown field `(\w+)`.*", str(error))
        if unknown:
            name = unknown.group(1)
            raise Refusal(
                HTTPStatus.BAD_REQUEST,
                f"unsupported parameter: '{name}'",
                code="unsupported_parameter",
                field=name,
            ) from None
        raise Refusal(HTTPStatus.BAD_REQUEST, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refusal(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from None


def _submit(engine: Engine, asked: Asked) -> list[Future[Generated]]:
    """Ask the engine for every choice; tokenising long prompts takes a while, so in a thread."""
    seed = secrets.randbits(SEED_BITS) if asked.sampling.seed is None else asked.sampling.seed
    futures: list[Future[Generated]] = []
    for sample in range(asked.n):
        sampling = msgspec.structs.replace(asked.sampling, seed=seed + sample)
        futures.append(engine.submit(asked.prompt, sampling, sample))
    return futures


def _document(asked: Asked, replies: list[Generated], *, chat: bool) -> dict[str, Any]:
    """The response's document."""
    if replies[0].note is not None:
        raise Refusal(
            HTTPStatus.BAD_REQUEST,
            replies[0].note,
            code="context_length_exceeded",
            field="messages" if chat else "prompt",
        )
    read, written = replies[0].usage.input_tokens, sum(reply.usage.output_tokens for reply in replies)
    return {
        "id": f"{'chatcmpl' if chat else 'cmpl'}-{secrets.token_hex(12)}",
        "object": "chat.completion" if chat else "text_completion",
        "created": int(time.time()),
        "model": asked.model,
        "choices": [_choice(index, reply, chat=chat) for index, reply in enumerate(replies)],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }


def _choice(index: int, reply: Generated, *, chat: bool) -> dict[str, Any]:
    said = {"message": {"role": "assistant", "content": reply.text}} if chat else {"text": reply.text}
    return {"index": index, **said, "finish_reason": reply.finish_reason, "logprobs": None}
