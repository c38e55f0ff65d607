"""`truegrade view`: its address, a port that is taken, and its end."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest
from viewing_runs import standard_runs


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return standard_runs(tmp_path_factory.mktemp("command") / "runs")


def view(*words, **environment):
    command = [sys.executable, "-m", "truegrade", "view", *map(str, words)]
    environment = os.environ | environment
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def until_brace(process):
    return json.loads("".join(iter(lambda: process.stdout.readline(), "}\n")) + "}")


def test_it_takes_another_port_where_the_wanted_one_is_taken(root):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = view(root, "--port", port, "--json")
        try:
            said = until_brace(process)
            assert said["address"].startswith("http://127.0.0.1:")
            assert str(port) not in said["address"]
            with urllib.request.urlopen(said["address"] + "api/runs") as reply:
                assert json.load(reply)["total"] == 3
        finally:
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=180)
    assert (process.returncode, err) == (0, "stopped\n")


def test_a_folder_that_is_not_there_is_a_users_error(tmp_path):
    process = view(tmp_path / "none")
    _, err = process.communicate(timeout=180)
    assert process.returncode == 2
    assert err.startswith("truegrade: ") and "no such folder" in err and "Traceback" not in err


def test_an_address_that_cannot_be_had_is_a_users_error(root):
    process = view(root, "--host", "203.0.113.7")
    _, err = process.communicate(timeout=180)
    assert process.returncode == 2 and "cannot listen at 203.0.113.7" in err


def test_sigterm_ends_it_and_its_temporary_folder(root, tmp_path):
    process = view(root, "--port", 0, "--json", TMPDIR=str(tmp_path))
    until_brace(process)
    assert [path.name[:14] for path in tmp_path.iterdir()] == ["truegrade-view"]
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=180)
    assert (process.returncode, err) == (0, "stopped\n")
    assert list(tmp_path.iterdir()) == []


def threads_of(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("Threads:")))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="counts threads in /proc")
def test_idle_connections_are_few_threads_and_keep_nobody_out(root):
    process = view(root, "--port", 0, "--json")
    try:
        address = until_brace(process)["address"]
        port = int(address.rstrip("/").rpartition(":")[2])
        with ExitStack() as stack:
            idle = []
            for number in range(400):
                idle.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=180)))
                if number % 2:  # half of them begin a request and do not end it
                    idle[-1].sendall(b"GET / HTTP/1.1\r\nX-")
            with urllib.request.urlopen(address + "api/runs", timeout=180) as reply:
                assert json.load(reply)["total"] == 3
            assert threads_of(process) < 64 + 16
            assert idle[0].recv(1) == b""  # the one that was idle for longest was closed
    finally:
        process.terminate()
        process.communicate(timeout=180)
