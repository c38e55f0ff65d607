"""The bound on a server's connections: who is closed, who is told to come again."""

import asyncio
import http.client
import os
import socket
import threading
from contextlib import ExitStack, closing, contextmanager

import pytest
from starlette.responses import Response

from truegrade.web.application import application, route
from truegrade.web.messages import Refusal, listen
from truegrade.web.port import HttpServer

MOST = 4


class Slow(HttpServer):
    """Answers /wait once it is told to go on."""

    def __init__(self, **options):
        self.waiting, self.go_on = threading.Semaphore(0), threading.Event()

        async def quick(_):
            return Response("ok")

        async def wait(_):
            self.waiting.release()
            while not self.go_on.is_set():
                await asyncio.sleep(0.01)
            return Response("ok")

        async def fail(_):
            raise KeyError("a secret of the machine")

        routes = [route("/", quick, "GET", "POST"), route("/wait", wait, "GET"), route("/fail", fail, "GET")]
        app = application(routes, lambda *_: Refusal(404, "nothing"))
        super().__init__(app, listen("127.0.0.1", 0), max_connections=MOST, **options)


@contextmanager
def serving(**options):
    with Slow(**options) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.go_on.set()
            server.shutdown()
            thread.join()


def connected(server, stack):
    return stack.enter_context(socket.create_connection(server.server_address, timeout=180))


def asking(server, path, stack):
    client = stack.enter_context(closing(http.client.HTTPConnection(*server.server_address, timeout=180)))
    client.request("GET", path)
    return client


def fetched(server, path="/"):
    with ExitStack() as stack, asking(server, path, stack).getresponse() as reply:
        return reply.status, reply.headers["Retry-After"], reply.read()


def test_a_newcomer_takes_the_place_of_the_longest_idle():
    with serving() as server, ExitStack() as stack:
        idle = [connected(server, stack) for _ in range(MOST)]
        client = asking(server, "/", stack)
        assert client.getresponse().read() == b"ok"
        assert idle[0].recv(1) == b""
        client.request("GET", "/")  # kept alive
        assert client.getresponse().read() == b"ok"


def test_where_all_are_answering_a_newcomer_is_told_503_and_none_is_cut_off():
    with serving() as server, ExitStack() as stack:
        busy = [asking(server, "/wait", stack) for _ in range(MOST)]
        for _ in busy:
            assert server.waiting.acquire(timeout=180)
        assert fetched(server) == (503, "1", b"")
        server.go_on.set()
        assert [client.getresponse().read() for client in busy] == [b"ok"] * MOST
        assert fetched(server) == (200, None, b"ok")


def test_a_request_that_does_not_arrive_whole_keeps_nobody_out():
    with serving() as server, ExitStack() as stack:
        for _ in range(MOST):
            connected(server, stack).sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
        assert fetched(server) == (200, None, b"ok")


@pytest.mark.parametrize(
    "said", [b"", b"\r\n\r\n", b"\0" * 100, b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n"]
)
def test_places_of_clients_that_left_are_free_again(said):
    with serving() as server:
        for _ in range(3 * MOST):
            with socket.create_connection(server.server_address, timeout=180) as client:
                client.sendall(said)
        assert fetched(server) == (200, None, b"ok")
        assert len(server.places) <= MOST


@pytest.mark.parametrize("answered", [False, True], ids=["first request", "next request"])
def test_a_trickle_of_bytes_puts_no_deadline_off(answered):
    with serving(patience_s=0.5) as server, ExitStack() as stack:
        client = connected(server, stack)
        if answered:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
        client.settimeout(0.1)
        for letter in b"GET / HTTP/1.1\r\nHost: a-host-of-many-letters":
            try:
                client.sendall(bytes([letter]))
                if client.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            pytest.fail("nobody hung up")


def test_the_body_of_an_answer_does_not_wait_for_its_head_to_be_acknowledged():
    with serving() as server, ExitStack() as stack:
        connected(server, stack).sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        assert server.waiting.acquire(timeout=180)
        sockets = [stack.enter_context(socket.socket(fileno=os.dup(number))) for number in server.descriptors]
        assert [one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in sockets[1:]] == [1]


def test_a_failure_is_logged_and_not_told(caplog):
    with serving() as server:
        status, _, said = fetched(server, "/fail")
        assert (status, b"its log says why" in said, b"secret" in said) == (500, True, False)
        assert "a secret of the machine" in caplog.text
        assert fetched(server) == (200, None, b"ok")


def test_what_is_no_http_is_told_so_in_json():
    with serving() as server, ExitStack() as stack:
        client = connected(server, stack)
        client.sendall(b"nonsense\r\n\r\n")
        said = b"".join(iter(lambda: client.recv(65536), b""))
        assert said.startswith(b"HTTP/1.1 400 Bad Request") and b"application/problem+json" in said
        assert said.endswith(b'{"title":"Bad Request","status":400,"detail":"this is no HTTP request"}')
