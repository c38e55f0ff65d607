"""An application on a port, from its start to its end; uvicorn speaks HTTP."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette

from truegrade.web.addresses import BACKLOG, http_address
from truegrade.web.application import Tell, problem_response
from truegrade.web.connections import Connection, Places
from truegrade.web.http_refusals import Refusal

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
