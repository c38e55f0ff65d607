"""A real grading service in a process of its own, asked over real HTTP."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from typing import NamedTuple

TOKEN = "a-token-of-the-tests"


class Served(NamedTuple):
    process: subprocess.Popen
    said: dict
    """What it announced."""
    token: str | None

    @property
    def address(self):
        return self.said["address"]

    def http(self, **more):
        import httpx2

        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        # Every client would read the certificates of the machine anew, for an address that has none.
        return httpx2.Client(
            base_url=self.address, headers=headers, timeout=60, trust_env=False, verify=False, **more
        )

    def wait_until_busy(self, running, waiting=0):
        """Return once so many programs run, and so many wait for a worker."""
        names = {"truegrade_workers_busy": running, "truegrade_queue_length": waiting}
        expected = {f"{name} {number:.1f}" for name, number in names.items()}
        with self.http() as http:
            until = time.monotonic() + 60
            while not expected <= set(http.get("/metrics").text.splitlines()):
                assert time.monotonic() < until, expected
                time.sleep(0.02)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(180)


@contextlib.contextmanager
def served(*options, token=TOKEN, through=("-m", "truegrade")):
    words = ["--token", token] if token else ["--no-token"]
    command = [
        sys.executable,
        *through,
        "serve",
        "--port",
        "0",
        "--json",
        "--workers",
        "2",
        *words,
        *options,
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        lines = iter(process.stdout.readline, "")
        said = "".join(line for line in _until_brace(lines))
        assert said, process.communicate(timeout=180)[1]
        yield Served(process, json.loads(said), token)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.communicate(timeout=180)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def _until_brace(lines):
    for line in lines:
        yield line
        if line == "}\n":
            return
