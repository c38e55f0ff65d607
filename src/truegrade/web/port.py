"""An application on a port, from its start to its end; uvicorn speaks HTTP.

An engine behind the OpenAI protocol: ``/v1/models``, ``/v1/chat/completions``, ``/v1/completions``.

For one machine and trusted clients: no keys, no streaming. A parameter that is not honoured is refused, never
ignored (OpenAI API reference, "Create chat completion", "Create completion", read in November 2026).
"""

from __future__ import annotations

import asyncio
import re
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from http import HTTPStatus
from types import FrameType
from typing import Any, Self, TypeVar

import h11
import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from truegrade.errors import UserError
from truegrade.models.local import Engine, Generated
from truegrade.web.application import (
    Asked,
    BodyRoom,
    ChatBody,
    Tell,
    TextBody,
    application,
    json_response,
    problem_response,
    read_body,
    route,
)
from truegrade.web.messages import BACKLOG, Refusal, http_address, listen

# ----------------------------------------------------------------------------------------------------------------
# The connections of a server: who may stay, who is hung up on, and what is said to bytes that are no HTTP.


_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Places:
    """Bounds connections: for one more, the one that has been idle for longest gives way.

    A connection is idle unless a request of it that has arrived whole is being answered: one that opens
    connections and says nothing, or not all, keeps nobody out.

    Args:
        most: connections at once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._idle: dict[Connection, None] = {}
        """In the order in which they became idle."""
        self._answering: set[Connection] = set()

    def __len__(self) -> int:
        return len(self._idle) + len(self._answering)

    def take(self, newcomer: Connection) -> bool:
        """Let a connection in, if there is room or room can be made."""
        if len(self) >= self._most:
            longest = next(iter(self._idle), None)
            if longest is None:
                return False
            del self._idle[longest]
            longest.hang_up()
        self._idle[newcomer] = None
        return True

    def set_answering(self, connection: Connection, answering: bool) -> None:
        """Note whether a request of a connection is being answered; one without a place stays without."""
        if answering and connection in self._idle:
            del self._idle[connection]
            self._answering.add(connection)
        elif not answering and connection in self._answering:
            self._answering.discard(connection)
            self._idle[connection] = None

    def leave(self, connection: Connection) -> None:
        """Give its place to others."""
        self._idle.pop(connection, None)
        self._answering.discard(connection)


class Connection(H11Protocol):
    """uvicorn's connection with deadlines that no trickle of bytes puts off.

    uvicorn itself waits for the first request for ever, and any byte ends its waiting for the next one.
    """

    patience_s: float
    """Seconds for the head of a request, from the connection's begin or the last answer on; for an answer's bytes,
    as long as the client takes some of them."""
    malformed: Response
    """The answer to what is no HTTP."""
    places: Places | None = None
    """None where connections are not bounded."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, if there is a place."""
        super().connection_made(transport)
        self._deadline: asyncio.TimerHandle | None = None
        self._expect_request()
        if self.places is not None and not self.places.take(self):
            transport.write(_BUSY)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._cancel()
        if self.places is not None:
            self.places.leave(self)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Act on what has arrived."""
        super().handle_events()
        if self.cycle is None or self.cycle.response_complete:
            return
        self._cancel()
        if self.places is not None and not self.cycle.more_body:
            self.places.set_answering(self, True)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        if self.places is not None:
            self.places.set_answering(self, False)
        self._expect_request()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Tell what is no HTTP so, in the shape of every other refusal."""
        answer = (
            h11.Response(status_code=400, headers=self.malformed.raw_headers, reason=b"Bad Request"),
            h11.Data(data=bytes(self.malformed.body)),
            h11.EndOfMessage(),
        )
        for event in answer:
            self.transport.write(self.conn.send(event))
        self.transport.close()

    def hang_up(self) -> None:
        """Close; what a client has not taken yet is lost."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _expect_request(self, unsent: float = float("inf")) -> None:
        self._cancel()
        self._deadline = self.loop.call_later(self.patience_s, self._look, unsent)

    def _look(self, unsent: float) -> None:
        """The time is up: hang up, unless the client has taken some of its answer meanwhile."""
        left = self.transport.get_write_buffer_size()
        if 0 < left < unsent:
            self._expect_request(left)
        else:
            self.hang_up()

    def _cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


HEADER_BYTES = 64 * 1024
IDLE_S = 60.0
"""Seconds that a client of the viewer or of a model may take for its request, or between two."""
LOOK_S = 0.02
"""How often a server that leaves its socket looks for the requests of the last connections."""
LAST_ANSWERS_S = 5
"""Seconds that the last answers have to be sent."""


class HttpServer:
    """Serves an application; a context manager, ended by SIGTERM, SIGINT or `shutdown`.

    Args:
        app: what answers.
        listener: a socket that listens; closed at the end.
        max_connections: at once; for one more, the one that has been idle for longest is closed. None for as many
            as the process may open.
        patience_s: seconds that a client may take for the head of a request, or between two requests.
        headers: of every answer.
        tell: how refusals are said.
    """

    def __init__(
        self,
        app: Starlette,
        listener: socket.socket,
        *,
        max_connections: int | None,
        patience_s: float = IDLE_S,
        headers: Mapping[str, str] | None = None,
        tell: Tell = problem_response,
    ) -> None:
        malformed = tell(Refusal(400, "this is no HTTP request", headers={"Connection": "close"}))

        class Bounded(Connection):
            """uvicorn makes connections of a class alone."""

        Bounded.patience_s, Bounded.malformed = patience_s, malformed
        self.places = Bounded.places = None if max_connections is None else Places(max_connections)
        self._listener = listener
        self._address = listener.getsockname()
        config = uvicorn.Config(
            app,
            http=Bounded,
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            headers=list((headers or {}).items()),
            backlog=BACKLOG,  # uvicorn listens once more
            timeout_graceful_shutdown=LAST_ANSWERS_S,
            timeout_keep_alive=int(patience_s) or 1,
            h11_max_incomplete_event_size=HEADER_BYTES,
        )
        self._uvicorn = _Uvicorn(config, self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def server_address(self) -> Any:
        """Where it listens, as `socket.socket.getsockname` gives it."""
        return self._address

    @property
    def url(self) -> str:
        """``http://HOST:PORT``."""
        return http_address(self._address)

    @property
    def descriptors(self) -> list[int]:
        """File descriptors of its sockets, which a forked process closes: they would outlive the server in it."""
        connections = [
            it.transport.get_extra_info("socket") for it in self._uvicorn.server_state.connections.copy()
        ]
        return [it.fileno() for it in (self._listener, *connections) if it is not None]

    def serve_forever(self, announce: Callable[[], None] = lambda: None) -> None:
        """Serve until the end; call it once.

        Args:
            announce: called once requests are taken, and signals end it well.
        """
        self._uvicorn.announce = announce
        self._uvicorn.run(sockets=[self._listener])

    def shutdown(self) -> None:
        """End it, from any thread; returns at once."""
        self._uvicorn.should_exit = True

    def close(self) -> None:
        """Close what was opened."""
        self._listener.close()

    async def leave_socket(self, most_s: float) -> None:
        """Accept no further connection, and wait for the first request of those that were accepted.

        The socket stays open, since asyncio loses the connections whose acceptance is under way when it closes it.

        Args:
            most_s: seconds to wait at most.
        """
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listener)
        deadline = loop.time() + most_s
        await asyncio.sleep(LOOK_S)
        while loop.time() < deadline and self._uvicorn.expects_requests:
            await asyncio.sleep(LOOK_S)

    async def drain(self) -> None:
        """Called at the first signal: finish the work at hand. Requests are taken until this has returned."""


class _Uvicorn(uvicorn.Server):
    """Drains before it closes its socket; a second signal ends it at once.

    uvicorn closes the socket first, so that a client could not be told that the server is stopping, and it raises
    the signal once more after its end.
    """

    announce: Callable[[], None]

    def __init__(self, config: uvicorn.Config, served: HttpServer) -> None:
        super().__init__(config)
        self._served = served
        self._draining: asyncio.Task[None] | None = None
        self._signalled = False

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets=sockets)

    @property
    def expects_requests(self) -> bool:
        """Whether a connection has not sent its first request yet."""
        return any(isinstance(it, Connection) and it.cycle is None for it in self.server_state.connections)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._signalled:
            self.should_exit = self.force_exit = True
        else:
            self._signalled = True
            self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        self._draining = self._loop.create_task(self._served.drain())
        self._draining.add_done_callback(lambda _: setattr(self, "should_exit", True))


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
