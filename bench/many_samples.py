"""Whether memory stays bounded however many samples are graded.

    python -m bench many_samples [N, default 100000]

Grades N trivial programs, a tenth of them by a judge, and prints samples/s and, at every tenth of N, the resident
memory of the supervising process and of everything below it: what grows with N is a leak.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.worker import descendants, memory_bytes

JUDGED_EVERY = 10
AHEAD = 64
"""Samples that wait for a worker: more would be the caller's memory, not the sandbox's."""


def main() -> None:
    """Grade and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    workers = len(os.sched_getaffinity(0))
    with Sandbox(Limits(cpu_s=2.0), workers=workers) as sandbox, ThreadPoolExecutor(workers) as pool:

        def grade(number: int) -> str:
            program = f"def f(x): return x + {number}"
            if number % JUDGED_EVERY == 0:
                return sandbox.judge(program, f"assert f(1) == {number + 1}", ["f"]).status
            return sandbox.inside(f"{program}\nassert f(1) == {number + 1}").status

        print(f"protection level {sandbox.level}, {workers} workers, {count} samples")
        began = time.perf_counter()
        pending: deque[Future[str]] = deque()
        for number in range(1, count + 1):
            pending.append(pool.submit(grade, number))
            if len(pending) >= AHEAD:
                assert pending.popleft().result() == "passed"
            if number % max(1, count // 10) == 0:
                _report(number, number / (time.perf_counter() - began))
        assert all(future.result() == "passed" for future in pending)


def _report(number: int, rate: float) -> None:
    supervisor = memory_bytes([os.getpid()]) / 1e6
    below = memory_bytes(descendants(os.getpid())) / 1e6
    print(
        f"{number:9} samples {rate:7.0f}/s   supervisor {supervisor:6.1f} MB   all below it {below:6.1f} MB",
        flush=True,
    )
