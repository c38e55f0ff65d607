"""An engine behind the OpenAI protocol: ``/v1/models``, ``/v1/chat/completions``, ``/v1/completions``.

For one machine and trusted clients: no keys, no streaming. A parameter that is not honoured is refused, never
ignored (OpenAI API reference, "Create chat completion", "Create completion", read in November 2026).
"""

from __future__ import annotations

import re
import secrets
import time
from concurrent.futures import Future
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar, TypeVar, cast

import msgspec

from truegrade.errors import UserError
from truegrade.models.local import Engine, Generated
from truegrade.web.connections import IDLE_S, BoundedServer
from truegrade.web.openai_bodies import Asked, ChatBody, TextBody

B = TypeVar("B", ChatBody, TextBody)

MAX_BODY_BYTES = 16_000_000
SEED_BITS = 31


class Refusal(Exception):
    """What the client is told instead of an answer."""

    def __init__(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.param = status, code, param


class ModelServer(BoundedServer):
    """Serves one engine; a context manager, stopped with ``shutdown``.

    Args:
        engine: what answers.
        host: address to listen at.
        port: 0 takes a free one.

    Raises:
        UserError: that address cannot be listened at.
    """

    max_connections: ClassVar[int] = 256
    """An evaluation that keeps more requests open is told 503, and asks again."""

    def __init__(self, engine: Engine, host: str = "127.0.0.1", port: int = 8000) -> None:
        self.engine = engine
        self.model_id = engine.name.partition("/")[2]
        self.started_at = int(time.time())
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise UserError(f"cannot listen at {host}:{port} ({error.strerror}): choose another --port") from None

    @property
    def url(self) -> str:
        """What ``--base-url`` takes."""
        return f"{http_address(self.server_address)}/v1"


def http_address(bound: Any) -> str:
    """``http://HOST:PORT`` of a TCP socket's own address, as `socket.socket.getsockname` gives it."""
    host, port = bound[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_S

    @property
    def _served(self) -> ModelServer:
        return cast(ModelServer, self.server)

    def do_GET(self) -> None:
        if self.path.rstrip("/") != "/v1/models":
            return self._refuse(Refusal(404, f"nothing at {self.path}: GET /v1/models"))
        entry = {"id": self._served.model_id, "object": "model", "created": self._served.started_at}
        return self._send(200, {"object": "list", "data": [{**entry, "owned_by": "truegrade"}]})

    def do_POST(self) -> None:
        try:
            content = self._content()
        except Refusal as refusal:
            return self._refuse(refusal)
        with self._served.answering(self.connection):
            return self._respond(content)

    def _respond(self, content: bytes) -> None:
        try:
            if self.path == "/v1/chat/completions":
                document = _answer(self._served, _decode(content, ChatBody).asked(), chat=True)
            elif self.path == "/v1/completions":
                document = _answer(self._served, _decode(content, TextBody).asked(), chat=False)
            else:
                raise Refusal(404, f"nothing at {self.path}: POST /v1/chat/completions or /v1/completions")
        except Refusal as refusal:
            self._refuse(refusal)
        except UserError as error:
            self._refuse(Refusal(400, str(error)))
        except (MemoryError, RuntimeError) as error:
            self._refuse(Refusal(500, f"the model failed: {error or type(error).__name__}"))
        else:
            self._send(200, document)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: requests are recorded by who asks."""

    def _content(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            self.close_connection = True
            raise Refusal(411, "a request needs Content-Length")
        if len(length) > 20 or int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            raise Refusal(413, f"a request may hold {MAX_BODY_BYTES} bytes")
        return self.rfile.read(int(length))

    def _refuse(self, refusal: Refusal) -> None:
        kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
        error = {"message": str(refusal), "type": kind, "param": refusal.param, "code": refusal.code}
        self._send(refusal.status, {"error": error})

    def _send(self, status: int, document: dict[str, Any]) -> None:
        body = msgspec.json.encode(document)
        with suppress(ConnectionError):  # the client has left
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


def _decode(content: bytes, kind: type[B]) -> B:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        unknown = re.fullmatch(r"Object contains unknown field `(\w+)`.*", str(error))
        if unknown:
            name = unknown.group(1)
            raise Refusal(
                400, f"unsupported parameter: '{name}'", code="unsupported_parameter", param=name
            ) from None
        raise Refusal(400, str(error)) from None
    except msgspec.DecodeError as error:
        raise Refusal(400, f"the body is not JSON: {error}") from None


def _answer(server: ModelServer, asked: Asked, *, chat: bool) -> dict[str, Any]:
    """The response's document."""
    if asked.model != server.model_id:
        known = f"the model {asked.model!r} is not served here; {server.model_id!r} is"
        raise Refusal(404, known, code="model_not_found", param="model")
    seed = secrets.randbits(SEED_BITS) if asked.sampling.seed is None else asked.sampling.seed
    futures: list[Future[Generated]] = []
    for sample in range(asked.n):
        sampling = msgspec.structs.replace(asked.sampling, seed=seed + sample)
        futures.append(server.engine.submit(asked.prompt, sampling, sample))
    replies = [future.result() for future in futures]
    if replies[0].note is not None:
        raise Refusal(400, replies[0].note, code="context_length_exceeded", param="messages" if chat else "prompt")
    read, written = replies[0].usage.input_tokens, sum(reply.usage.output_tokens for reply in replies)
    return {
        "id": f"{'chatcmpl' if chat else 'cmpl'}-{secrets.token_hex(12)}",
        "object": "chat.completion" if chat else "text_completion",
        "created": int(time.time()),
        "model": server.model_id,
        "choices": [_choice(index, reply, chat=chat) for index, reply in enumerate(replies)],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }


def _choice(index: int, reply: Generated, *, chat: bool) -> dict[str, Any]:
    said = {"message": {"role": "assistant", "content": reply.text}} if chat else {"text": reply.text}
    return {"index": index, **said, "finish_reason": reply.finish_reason, "logprobs": None}
