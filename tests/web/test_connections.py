"""The bound on a server's connections: who is closed, who is told to come again."""

import http.client
import socket
import threading
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler

import pytest

from truegrade.web.connections import BoundedServer

MOST = 4


class Slow(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20

    def do_GET(self):
        with self.server.answering(self.connection):
            if self.path == "/wait":
                self.server.waiting.release()
                assert self.server.go_on.wait(20)
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


class Server(BoundedServer):
    max_connections = MOST


@contextmanager
def serving():
    with Server(("127.0.0.1", 0), Slow) as server:
        server.waiting, server.go_on = threading.Semaphore(0), threading.Event()
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.go_on.set()
            server.shutdown()
            thread.join()


def asking(server, path, stack):
    client = stack.enter_context(closing(http.client.HTTPConnection(*server.server_address, timeout=20)))
    client.request("GET", path)
    return client


def fetched(server, path="/"):
    with ExitStack() as stack, asking(server, path, stack).getresponse() as reply:
        return reply.status, reply.headers["Retry-After"], reply.read()


def test_a_newcomer_takes_the_place_of_the_longest_idle():
    with serving() as server, ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection(server.server_address, timeout=20)) for _ in range(MOST)
        ]
        client = asking(server, "/", stack)
        assert client.getresponse().read() == b"ok"
        assert idle[0].recv(1) == b""
        client.request("GET", "/")  # kept alive
        assert client.getresponse().read() == b"ok"


def test_where_all_are_answering_a_newcomer_is_told_503_and_none_is_cut_off():
    with serving() as server, ExitStack() as stack:
        busy = [asking(server, "/wait", stack) for _ in range(MOST)]
        for _ in busy:
            assert server.waiting.acquire(timeout=20)
        assert fetched(server) == (503, "1", b"")
        server.go_on.set()
        assert [client.getresponse().read() for client in busy] == [b"ok"] * MOST
        assert fetched(server) == (200, None, b"ok")


@pytest.mark.parametrize(
    "said", [b"", b"\r\n\r\n", b"\0" * 100, b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n"]
)
def test_places_of_clients_that_left_are_free_again(said):
    with serving() as server:
        for _ in range(3 * MOST):
            with socket.create_connection(server.server_address, timeout=20) as client:
                client.sendall(said)
        assert fetched(server) == (200, None, b"ok")
        assert len(server._idle) + len(server._answering) <= MOST
