"""An application on a port, from its start to its end; uvicorn speaks HTTP."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Self

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from truegrade.web.application import Tell, problem_response
from truegrade.web.messages import BACKLOG, Refusal, http_address

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
