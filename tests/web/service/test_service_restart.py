"""A service that follows another on one socket, so that no client meets a refused connection."""

import json
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest

from support.thorough import one_in
from truegrade.errors import UserError
from truegrade.web.messages import listening_at

PROGRAM = {"code": "print(int(input()) + 1)", "language": "python", "run_timeout": 20}


@contextmanager
def listening():
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        yield listener


@contextmanager
def serving(listener):
    """A service on a socket that is not its own."""
    command = [sys.executable, "-m", "truegrade", "serve", "--no-token", "--json", "--workers", "2", "--fd"]
    fd = listener.fileno()
    with subprocess.Popen([*command, str(fd)], pass_fds=[fd], stdout=subprocess.PIPE, text=True) as process:
        try:
            said = ""
            while not said.endswith("}\n"):
                line = process.stdout.readline()
                assert line
                said += line
            assert json.loads(said)["address"] == "http://{}:{}".format(*listener.getsockname())
            yield process
        finally:
            process.terminate()


def sum_of(listener, number):
    """What verl's client would get, which asks once on a connection of its own."""
    connection = HTTPConnection(*listener.getsockname(), timeout=180)
    try:
        body = json.dumps({**PROGRAM, "stdin": f"{number}\n"})
        connection.request("POST", "/run_code", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())["run_result"]["stdout"]
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("overlap", one_in(2, [True, False]))
def test_no_request_is_lost_where_one_service_follows_another(overlap):
    with listening() as listener, ThreadPoolExecutor(8) as threads:
        over, numbers, answers = threading.Event(), iter(range(10**6)), []

        def send():
            while not over.is_set():
                number = next(numbers)
                answers.append(sum_of(listener, number) == (200, f"{number + 1}\n"))
                time.sleep(0.1)  # the second service, too, needs the cores to start

        with serving(listener) as first:
            sending = [threads.submit(send) for _ in range(8)]
            if overlap:
                with serving(listener):
                    first.terminate()
                    assert first.wait(30) == 0
                    time.sleep(0.5)
                    over.set()
                    for one in sending:
                        one.result()
            else:
                time.sleep(0.5)
                first.terminate()
                assert first.wait(30) == 0
                with serving(listener):
                    time.sleep(0.5)
                    over.set()
                    for one in sending:
                        one.result()
    assert len(answers) > 16
    assert all(answers)


def test_a_connection_without_its_request_yet_is_answered_by_a_service_that_leaves():
    with listening() as listener, serving(listener) as process:
        silent = HTTPConnection(*listener.getsockname(), timeout=180)
        silent.connect()
        assert sum_of(listener, 1) == (200, "2\n")
        process.terminate()
        time.sleep(0.3)
        assert process.poll() is None
        silent.request("GET", "/healthz")
        assert json.loads(silent.getresponse().read())["status"] == "stopping"
        silent.close()
        assert process.wait(20) == 0


def test_what_is_no_listening_socket_is_refused(tmp_path):
    with socket.socket() as silent, open(tmp_path / "file", "w") as file:
        for fd in (silent.fileno(), file.fileno(), 999):
            with pytest.raises(UserError, match=f"`fd` {fd} must be a TCP socket that listens"):
                listening_at(fd)
