"""A cluster that asks for a token, and a process that has none, another or the right one."""

import os
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

pytest.importorskip("ray", reason="needs the extra ray")
pytest.importorskip("grpc", reason="needs the extra ray")

TOKEN = "a-token-of-the-tests-0123456789abcdef"
PORT, CLIENT_PORT = "6390", "9990"
CONNECT = """
import sys
from truegrade.errors import UserError
from truegrade.apps.ray.crew import connect
try:
    print(connect(sys.argv[1], 1))
except UserError as error:
    print(error)
"""


def environment(tmp_path, **more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    return {**kept, "HOME": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0", **more}


@pytest.fixture
def guarded(tmp_path):
    """A head node."""
    short = tempfile.mkdtemp(prefix="ray")  # it holds sockets, whose paths are short
    command = [
        sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--num-cpus=1",
        f"--port={PORT}", f"--ray-client-server-port={CLIENT_PORT}", "--include-dashboard=false",
        f"--temp-dir={short}", "--object-store-memory=100000000",
    ]  # fmt: skip
    asked = environment(tmp_path, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=TOKEN)
    with (tmp_path / "head.log").open("w") as log:
        head = subprocess.Popen(command, env=asked, stdout=log, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 120
        while "Ray runtime started" not in (tmp_path / "head.log").read_text():
            assert time.monotonic() < deadline and head.poll() is None, (tmp_path / "head.log").read_text()
            time.sleep(0.2)
        yield
    finally:
        head.terminate()
        head.wait(60)
        shutil.rmtree(short)


@pytest.mark.slow
def test_a_refused_token_is_said(guarded, tmp_path):
    def connect(address, **variables):
        command = [sys.executable, "-c", CONNECT, address]
        done = subprocess.run(command, env=environment(tmp_path, **variables), capture_output=True, text=True)
        return done.stdout

    wrong = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "another-token-0123456789abcdef"}
    for address in (f"127.0.0.1:{PORT}", f"ray://127.0.0.1:{CLIENT_PORT}"):
        for variables in ({}, wrong):
            said = connect(address, **variables)
            assert "the cluster asks for its token and refuses the connection (" in said, said
            assert "missing" in said and "RAY_AUTH_TOKEN" in said, said
    assert connect(f"127.0.0.1:{PORT}", **{**wrong, "RAY_AUTH_TOKEN": TOKEN}) == "True\n"
