"""The connections of a server: who may stay, who is hung up on, and what is said to bytes that are no HTTP."""

from __future__ import annotations

import asyncio

import h11
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

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
