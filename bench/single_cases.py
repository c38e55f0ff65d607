"""The client's side of `python -m bench service --cases`: sends test cases one by one, as verl's trainer does.

It runs in an interpreter of its own, which needs `requests` where verl's client is used and nothing otherwise.
Standard input is one JSON object: ``url`` (of /run_code), ``verl`` (a checkout of verl, or null), ``clients``
(cases under way at once) and ``completions``, each with ``program``, ``inputs`` and ``outputs``. Standard output
is another: ``wall_s``, ``cpu_s`` (of this process), ``latencies_s``, ``wrong`` (cases that did not pass).
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_S = 10
"""Of compiling and of running: verl's default."""
CLIENT_S = 30.0
"""For how long verl's client waits for an answer."""
MEMORY_MB = 1024
FILE = "verl/utils/reward_score/sandbox_fusion/utils.py"

Check = Callable[[dict[str, Any]], list[Any]]


def main() -> None:
    """Send everything, as fast as it is answered."""
    asked = json.load(sys.stdin)
    latencies: list[float] = []
    check = _plain(asked["url"], asked["clients"], latencies)
    if asked["verl"]:
        check = _verl(asked["verl"], asked["url"], asked["clients"], latencies)
    began, cpu_began = time.perf_counter(), time.process_time()
    # A trainer has several completions checked at once; each waits for the slowest of its own cases.
    with ThreadPoolExecutor(max(1, asked["clients"] // 4)) as threads:
        results = list(threads.map(check, asked["completions"]))
    json.dump(
        {
            "wall_s": time.perf_counter() - began,
            "cpu_s": time.process_time() - cpu_began,
            "latencies_s": latencies,
            "wrong": sum(passed is not True for each in results for passed in each),
        },
        sys.stdout,
    )


def _verl(checkout: str, url: str, clients: int, latencies: list[float]) -> Check:
    """verl's own `check_correctness`, whose requests are timed."""
    spec = importlib.util.spec_from_file_location("verl_client", Path(checkout) / FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    logging.getLogger("verl_client").setLevel(logging.CRITICAL)
    places, call = threading.Semaphore(clients), module.call_sandbox_api

    def timed(*args: Any, **named: Any) -> Any:
        began = time.perf_counter()
        answer = call(*args, **named)
        latencies.append(time.perf_counter() - began)
        return answer

    module.call_sandbox_api = timed

    def check(completion: dict[str, Any]) -> list[Any]:
        cases = {"inputs": completion["inputs"], "outputs": completion["outputs"]}
        results, _ = module.check_correctness(
            url, cases, completion["program"], TIMEOUT_S, MEMORY_MB, concurrent_semaphore=places
        )
        return list(results)

    return check


def _plain(url: str, clients: int, latencies: list[float]) -> Check:
    """The same requests by the standard library alone: a connection a case, the same body."""
    parts = urlsplit(url)
    threads = ThreadPoolExecutor(clients)

    def ask(program: str, stdin: str) -> str | None:
        body = {
            "compile_timeout": TIMEOUT_S,
            "run_timeout": TIMEOUT_S,
            "code": program,
            "stdin": stdin,
            "memory_limit_MB": MEMORY_MB,
            "language": "python",
            "files": {},
            "fetch_files": [],
        }
        began = time.perf_counter()
        connection = http.client.HTTPConnection(parts.netloc, timeout=CLIENT_S)
        connection.request("POST", parts.path, json.dumps(body), {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        latencies.append(time.perf_counter() - began)
        return answer["run_result"]["stdout"] if answer["status"] == "Success" else None

    def check(completion: dict[str, Any]) -> list[Any]:
        written = threads.map(lambda stdin: ask(completion["program"], stdin), completion["inputs"])
        return [
            text is not None and text.rstrip("\n") == due.rstrip("\n")
            for text, due in zip(written, completion["outputs"], strict=True)
        ]

    return check


if __name__ == "__main__":
    main()
