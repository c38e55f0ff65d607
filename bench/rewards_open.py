"""What `rewards.py` sends with so many requests open at a time: right programs, and some that never end."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.rewards_beside import CODE, LIMITS_MB, Service, fusion_at, tests_of
from bench.rewards_soak import post

ENDLESS = "n = int(input())\nwhile True: pass\n# completion {number}"
RUN_S = 1
"""Seconds of a program, for the endless ones."""


class _Load:
    """Requests to a service that are kept open, and what became of them."""

    def __init__(self, url: str, seconds: float, endless: float) -> None:
        self._url, self._until, self._endless = url, time.monotonic() + seconds, endless
        self._lock, self._next = threading.Lock(), 0
        self.counts: Counter[str] = Counter()
        self.waits: list[float] = []
        """Seconds until a right program was answered."""

    def send(self) -> None:
        """One request after the other, until the time is over."""
        while time.monotonic() < self._until:
            with self._lock:
                number = self._next
                self._next += 1
            endless = number % round(1 / self._endless) == 0 if self._endless else False
            tests = tests_of(number % 50)
            body = json.dumps({
                "compile_timeout": 10, "run_timeout": RUN_S, "language": "python", "memory_limit_MB": LIMITS_MB,
                "code": (ENDLESS if endless else CODE).format(number=number),
                "stdin": tests["inputs"][0], "files": {}, "fetch_files": [],
            }).encode()  # fmt: skip
            began = time.monotonic()
            status, content = post(self._url, body, 120)
            wait_s = time.monotonic() - began
            run = (json.loads(content).get("run_result") or {}) if status == 200 else {}
            paid = run.get("status") == "Finished" and run.get("stdout") == tests["outputs"][0]
            with self._lock:
                self.counts["unanswered"] += status != 200
                self.counts["endless" if endless else "right"] += status == 200
                self.counts["refused"] += status == 200 and not endless and not paid
                self.counts["paid"] += endless and paid
                self.waits += [wait_s] * (not endless)


def open_requests(options: argparse.Namespace) -> bool:
    """Rewards/s of ours and SandboxFusion at several numbers of open requests, in alternating rounds."""
    workers = options.workers or os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        ours = stack.enter_context(Service(workers, Path(folder)))
        rivals = {"ours, jailed": ours.url}
        if options.fusion and options.fusion_python:
            rivals["SandboxFusion, unjailed"] = stack.enter_context(
                fusion_at(options.fusion, options.fusion_python)
            )
        for connections in map(int, options.open.split(",")):
            rates: dict[str, list[float]] = {name: [] for name in rivals}
            counts: dict[str, Counter[str]] = {name: Counter() for name in rivals}
            waits: dict[str, list[float]] = {name: [] for name in rivals}
            for _ in range(options.rounds):
                for name, url in rivals.items():
                    load = _Load(url, options.seconds, options.endless)
                    began = time.monotonic()
                    with ThreadPoolExecutor(connections) as threads:
                        for sending in [threads.submit(load.send) for _ in range(connections)]:
                            sending.result()
                    answered = load.counts["right"] + load.counts["endless"]
                    rates[name].append(answered / (time.monotonic() - began))
                    counts[name] += load.counts
                    waits[name] += load.waits
            own = rates["ours, jailed"]
            for name, found in rates.items():
                of, in_order = counts[name], sorted(waits[name]) or [0.0]
                late = in_order[int(0.99 * (len(in_order) - 1))]
                ratio = statistics.median(one / other for one, other in zip(own, found, strict=True))
                print(
                    f"{connections:4} open  {name:24} {statistics.median(found):7.1f} rewards/s"
                    f" ({min(found):.1f} to {max(found):.1f}), ours is {ratio:.2f} times it; right ones refused"
                    f" {of['refused']} of {of['right']}, endless ones paid {of['paid']} of {of['endless']},"
                    f" unanswered {of['unanswered']}; wait of right ones {statistics.median(in_order):.2f} s,"
                    f" 99 % of them at most {late:.2f} s",
                    flush=True,
                )
    return True
