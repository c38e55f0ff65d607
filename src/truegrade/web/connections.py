"""The standard library's threading HTTP server with a bound on its threads, which serve one connection each."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer
from typing import Any, ClassVar

IDLE_S = 60.0
"""Seconds without a byte after which a connection is closed."""

_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class BoundedServer(ThreadingHTTPServer):
    """Serves so many connections at once; for one more, the one that has been idle for longest is closed.

    Where none is idle, the newcomer is told 503. A connection is idle unless a request of it is being answered,
    which a handler says with `answering`: one that opens connections and says nothing keeps nobody out.
    """

    daemon_threads = True
    request_queue_size = 128
    max_connections: ClassVar[int] = 64

    def __init__(self, *args: Any, **options: Any) -> None:
        self._lock = threading.Lock()
        self._idle: dict[socket.socket, None] = {}
        """In the order in which they became idle."""
        self._answering: set[socket.socket] = set()
        super().__init__(*args, **options)

    @contextmanager
    def answering(self, connection: socket.socket) -> Iterator[None]:
        """While a request of the connection is being answered; one that was closed just before stays closed."""
        with self._lock:
            known = connection in self._idle
            if known:
                del self._idle[connection]
                self._answering.add(connection)
        try:
            yield
        finally:
            with self._lock:
                if known:
                    self._answering.discard(connection)
                    self._idle[connection] = None

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a new connection its thread, if there is room or room can be made."""
        with self._lock:
            room = len(self._idle) + len(self._answering) < self.max_connections or self._close_longest_idle()
            if room:
                self._idle[request] = None
        if room:
            super().process_request(request, client_address)
            return
        with suppress(OSError):
            request.setblocking(False)
            request.sendall(_BUSY)
        self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, whose thread ends."""
        with self._lock:
            self._idle.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hang up."""

    def _close_longest_idle(self) -> bool:
        longest = next(iter(self._idle), None)
        if longest is None:
            return False
        del self._idle[longest]
        with suppress(OSError):
            longest.shutdown(socket.SHUT_RDWR)  # wakes its thread, which closes it
        return True
