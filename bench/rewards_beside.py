"""What `rewards.py` runs: our service, what is left of it, and other services and rewards at the same load."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

LIMITS_MB = 1024
_SUBREAPER = 36


def adopt_orphans() -> None:
    """Processes whose parent was lost become this one's, and are found."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)


def free_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


class Service:
    """``truegrade serve`` on a socket of ours on loopback; its temporary files lie in a folder of its own.

    Args:
        workers: programs at once; None for its own choice.
        folder: for its temporary files.
        queue: places of its queue.
    """

    def __init__(self, workers: int | None, folder: Path, queue: int = 4096) -> None:
        adopt_orphans()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = f"{self.address}/run_code"
        self.statuses: Counter[int] = Counter()
        self._command = [sys.executable, "-m", "truegrade", "serve", "--no-token", "--json"]
        self._command += ["--fd", str(self._listener.fileno()), "--max-queue", str(queue)]
        self._command += ["--workers", str(workers)] if workers else []
        self._environment = {**os.environ, "TMPDIR": str(folder)}
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Service:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._listener.close()

    @property
    def pid(self) -> int:
        """Of its first process."""
        assert self._process is not None
        return self._process.pid

    def restart(self) -> float:
        """Stop it in order, and start it on the same socket; seconds that this took."""
        began = time.monotonic()
        self._stop()
        self._start()
        return time.monotonic() - began

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            pass_fds=[self._listener.fileno()],
            start_new_session=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line == "}\n":
                return
        raise SystemExit("the service does not start; start `truegrade serve` by hand to see why")

    def _stop(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()

    def settled(self, within_s: float = 10.0) -> int:
        """Open descriptors of its first process, the fewest within a time in which the last connections close."""
        deadline, fewest = time.monotonic() + within_s, 1 << 30
        while time.monotonic() < deadline:
            fewest = min(fewest, len(list(Path(f"/proc/{self.pid}/fd").iterdir())))
            time.sleep(0.2)
        return fewest

    def note(self, status: int) -> None:
        """Count an answer to somebody else's request."""
        self.statuses[status] += 1


def descendants(pid: int) -> list[int]:
    """Every process below one."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def resident_bytes(pid: int) -> int:
    """Of a process and all below it; a page that several share is divided by their number."""
    found = 0
    for each in (pid, *descendants(pid)):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{each}/smaps_rollup").read_text().split()
            found += int(words[words.index("Pss:") + 1]) * 1024
    return found


def left_over() -> list[str]:
    """Processes below this one, as words; dead ones are waited for first."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    words = []
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            words.append(f"process {pid}: {Path(f'/proc/{pid}/cmdline').read_bytes()[:80]!r}")
    return words


# ----------------------------------------------------------------------------------------------- against

CASES = 12
CODE = "n = int(input())\nprint(sum(value * value for value in range(n)))\n# completion {number}"
"""A short program; numbered, so that nothing that is kept of one serves another."""

FUSION = """
import os, sys
sys.path.insert(0, {checkout!r})
os.environ["SANDBOX_CONFIG"] = "local"
import sandbox.runners.major as major
path = os.path.dirname(sys.executable) + ":" + os.environ["PATH"]
major.get_python_rt_env = lambda name: {{"PATH": path}}
from fastapi import FastAPI
from sandbox.server.sandbox_api import sandbox_router
from sandbox.utils.logging import configure_logging
configure_logging()
import uvicorn
app = FastAPI()
app.include_router(sandbox_router)
uvicorn.run(app, host="127.0.0.1", port={port}, log_level="error")
"""
"""SandboxFusion's router and its local runner (isolation none). Changed: the interpreter is this one instead of
that of a conda environment; the routes of data sets are left out, which need the sets and a database."""

PRIME = """
import json, sys, time
sys.path.insert(0, {checkout!r})
import types
for name in ("verl", "verl.utils", "verl.utils.reward_score"):
    module = types.ModuleType(name)
    module.__path__ = [{checkout!r} + "/" + name.replace(".", "/")]
    sys.modules[name] = module
from verl.utils.reward_score import prime_code
from concurrent.futures import ThreadPoolExecutor
completions, workers = json.loads(sys.stdin.read())
def score(each):
    return prime_code.compute_score(each[0], json.dumps(each[1]), continuous=False)[0]
with ThreadPoolExecutor(workers) as threads:
    began = time.perf_counter()
    scores = list(threads.map(score, completions))
    print("TOOK", time.perf_counter() - began, all(scores))
"""


def tests_of(number: int) -> dict[str, list[str]]:
    """Inputs and outputs of `CODE`, by the number of a completion."""
    sizes = [1 + number * CASES + case for case in range(CASES)]
    return {"inputs": [f"{n}\n" for n in sizes], "outputs": [f"{sum(v * v for v in range(n))}\n" for n in sizes]}


def against(client: ModuleType, options: argparse.Namespace) -> None:
    """Cases/s of ours, SandboxFusion and verl's ``prime_code``, in alternating rounds."""
    rates: dict[str, list[float]] = {}
    workers = options.workers or os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        ours = stack.enter_context(Service(workers, Path(folder)))
        rivals: dict[str, Callable[[], float]] = {"ours, jailed": lambda: _cases(client, ours.url, options)}
        if options.fusion and options.fusion_python:
            fusion = stack.enter_context(fusion_at(options.fusion, options.fusion_python))
            rivals["SandboxFusion, unjailed"] = lambda: _cases(client, fusion, options)
        if options.fusion_python:
            rivals["verl prime_code"] = lambda: _prime(options, workers)
        for number in range(options.rounds + 1):
            for name, rate in rivals.items():
                found = rate()
                if number:  # the first round warms up
                    rates.setdefault(name, []).append(found)
    own = rates["ours, jailed"]
    for name, found in rates.items():
        ratio = statistics.median(one / other for one, other in zip(own, found, strict=True))
        print(
            f"{name:24} {statistics.median(found):8.1f} cases/s   ours is {ratio:5.2f} times it (median of rounds)"
        )
    return True


def _numbers(options: argparse.Namespace) -> range:
    """Of the completions of a round."""
    return range(max(1, options.requests // CASES))


def _cases(client: ModuleType, url: str, options: argparse.Namespace) -> float:
    """Completions of `CASES` cases each by verl's ``check_correctness``, one semaphore for all."""
    numbers = _numbers(options)
    semaphore = threading.Semaphore(options.connections)

    def one(number: int) -> bool:
        results, _ = client.check_correctness(
            url, tests_of(number), CODE.format(number=number), 10, LIMITS_MB, "python", semaphore
        )
        return all(result is True for result in results)

    with ThreadPoolExecutor(8) as threads:
        began = time.perf_counter()
        right = list(threads.map(one, numbers))
        wall_s = time.perf_counter() - began
    if not all(right):
        print(f"{url}: {right.count(False)} of {len(numbers)} right completions were not paid")
    return len(numbers) * CASES / wall_s


def _prime(options: argparse.Namespace, workers: int) -> float:
    """The same completions in process, as the trainer's reward worker calls it; its modules are loaded before."""
    numbers = _numbers(options)
    completions = [(f"```python\n{CODE.format(number=each)}\n```", tests_of(each)) for each in numbers]
    given = json.dumps([completions, workers])
    command = [str(options.fusion_python), "-c", PRIME.format(checkout=str(options.verl))]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, input=given, capture_output=True, text=True, cwd=folder, check=False)
    took = [line.split() for line in done.stdout.splitlines() if line.startswith("TOOK")]
    if not took:
        raise SystemExit(f"prime_code does not run: {done.stderr[-500:]}")
    if took[0][2] != "True":
        print("prime_code: a right completion was not paid")
    return len(numbers) * CASES / float(took[0][1])


@contextmanager
def fusion_at(checkout: Path, python: Path) -> Iterator[str]:
    """SandboxFusion while it runs; the address."""
    port = free_port()
    command = [str(python), "-c", FUSION.format(checkout=str(checkout), port=port)]
    with (
        tempfile.TemporaryDirectory() as home,
        # Its shells have a socket as standard input, and bash then runs ~/.bashrc: somebody's own set-up.
        subprocess.Popen(
            command, env=os.environ | {"HOME": home}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process,
    ):
        url = f"http://127.0.0.1:{port}/run_code"
        try:
            _await_answer(url, process)
            yield url
        finally:
            process.terminate()


def _await_answer(url: str, process: subprocess.Popen[Any]) -> None:
    body = json.dumps({"code": "print(1)", "language": "python"}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    for _ in range(150):
        with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=20) as response:
            if json.load(response)["status"] == "Success":
                return
        if process.poll() is not None:
            break
        time.sleep(0.2)
    raise SystemExit(
        "SandboxFusion does not start; --fusion-python needs fastapi, uvicorn, structlog, psutil, aiofiles, pyyaml"
    )
