"""What the jail adds to samples that take long: 12 programs, 20 tests each, about 100 ms of CPU a sample.

    python bench/long_samples.py [--workers 2] [--rounds 5]

Prints the CPU ms per sample of the whole process tree, in the jail and as plain calls in as many warm processes as
there are workers (cores that share caches slow each other down), alternating in one run, and their ratio. As with
LiveCodeBench's functional tests: one process a sample, a call a test.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from typing import Any

from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.worker import cpu_s, descendants

Load = tuple[str, list[tuple[int]]]
TESTS = 20
SAMPLE_S = 0.1
PROGRAMS = """
def f(n):
    return sum(i * i % 7 for i in range(n))
---
def f(n):
    sieve = [True] * n
    for i in range(2, n):
        for j in range(i * i, n, i): sieve[j] = False
    return sieve.count(True)
---
def f(n):
    seen = {}
    for i in range(n): seen[i * 31 % 1009] = seen.get(i % 1009, 0) + 1
    return sorted(seen.values())[-5:]
---
def f(n):
    a, b = 0, 1
    for _ in range(n): a, b = b, (a + b) % 1000007
    return a
---
def f(n):
    return ''.join(chr(97 + i % 26) for i in range(n)).count('abc')
---
import heapq
def f(n):
    heap = []
    for i in range(n): heapq.heappush(heap, i * 7919 % 10007)
    return heapq.nsmallest(3, heap)
---
def f(n):
    row = [1] * 100
    for _ in range(n // 100):
        for i in range(1, 100): row[i] = (row[i] + row[i - 1]) % 997
    return row[-1]
---
from collections import Counter
def f(n):
    return Counter(str(i)[-1] for i in range(n)).most_common(2)
---
def f(n):
    best = 0
    for i in range(1, n):
        k = i
        while k % 2 == 0: k //= 2
        best = max(best, k)
    return best
---
from collections import deque
def f(n):
    queue = deque(range(50))
    for i in range(n): queue.append(queue.popleft() + i)
    return max(queue)
---
def f(n):
    words = [str(i) for i in range(n)]
    words.sort(key=lambda w: w[::-1])
    return words[:3]
---
def f(n):
    total = 0
    for i in range(n): total ^= hash((i, i + 1)) & 255
    return total
""".strip().split("\n---\n")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    loads = [(program, _arguments(program)) for program in PROGRAMS]
    measured: dict[str, list[float]] = {"in-process": [], "jail": []}
    workers = options.workers
    with (
        ProcessPoolExecutor(workers) as processes,
        Sandbox(Limits(cpu_s=10.0), workers=workers) as sandbox,
        ThreadPoolExecutor(workers) as threads,
    ):
        _plain(processes, loads)  # forked before there are threads
        print(f"protection level {sandbox.level}, {workers} workers, {len(loads)} programs, {TESTS} tests each")
        for round_ in range(-1, options.rounds):
            for name, grade in (
                ("in-process", partial(_plain, processes)),
                ("jail", partial(_jailed, sandbox, threads)),
            ):
                cpu_ms = _cpu_ms(grade, loads)
                if round_ >= 0:  # nobody's first start is measured
                    measured[name].append(cpu_ms)
    for name, rounds in measured.items():
        print(f"{name:12}{statistics.median(rounds):8.1f} CPU ms a sample, {min(rounds):.1f} at best")
    ratios = [jail / plain for jail, plain in zip(measured["jail"], measured["in-process"], strict=True)]
    print(f"the jail takes {statistics.median(ratios):.3f} times the CPU; at best {min(ratios):.3f}")


def _arguments(program: str) -> list[tuple[int]]:
    """The tests of a program: sizes at which they take a sample's time together."""
    namespace: dict[str, Any] = {}
    exec(program, namespace)
    size = 1000
    while True:
        began = time.process_time()
        namespace["f"](size)
        used = time.process_time() - began
        if used > SAMPLE_S / TESTS / 2:
            break
        size *= 2
    size = int(size * SAMPLE_S / TESTS / used)
    return [(size + number,) for number in range(TESTS)]


def _plain(pool: ProcessPoolExecutor, loads: list[Load]) -> None:
    list(pool.map(_calls, loads))


def _calls(load: Load) -> None:
    program, arguments = load
    namespace: dict[str, Any] = {}
    exec(program, namespace)
    for args in arguments:
        namespace["f"](*args)


def _jailed(sandbox: Sandbox, pool: ThreadPoolExecutor, loads: list[Load]) -> None:
    def one(load: Load) -> None:
        outcome = sandbox.call(load[0], "f", load[1], lambda _, result: result.error is None)
        assert outcome.status == "passed", outcome

    list(pool.map(one, loads))


def _cpu_ms(grade: Callable[[list[Load]], None], loads: list[Load]) -> float:
    used = _tree_cpu_s()
    grade(loads)
    return (_tree_cpu_s() - used) / len(loads) * 1e3


def _tree_cpu_s() -> float:
    return sum(os.times()[:4]) + cpu_s(descendants(os.getpid()))


if __name__ == "__main__":
    main()
