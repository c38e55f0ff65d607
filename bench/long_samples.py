"""What the jail adds to samples that take long: 12 programs, 20 tests each, about 100 ms of CPU a sample.

    python -m bench long_samples [--workers 2] [--rounds 5]

Beside the jail stand plain calls in as many warm processes as there are workers (cores that share caches slow each
other down). As with LiveCodeBench's functional tests: one process a sample, a call a test.
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

from bench.rounds import Way, compare, parser, table
from truegrade.sandbox import Limits, Sandbox

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
    options = parser(__doc__, rounds=5).parse_args()
    loads = [(program, _arguments(program)) for program in PROGRAMS]
    workers = options.workers
    with (
        ProcessPoolExecutor(workers) as processes,
        Sandbox(Limits(cpu_s=10.0), workers=workers) as sandbox,
        ThreadPoolExecutor(workers) as threads,
        table(),
    ):
        list(processes.map(_calls, loads))  # forked before there are threads
        ways: dict[str, Way] = {
            "jail": lambda: _jailed(sandbox, threads, loads),
            "plain calls": lambda: list(processes.map(_calls, loads)),
        }
        work = f"{len(loads)} programs, {TESTS} tests each, {workers} workers, level {sandbox.level}"
        compare(work, ways, options.rounds, amount=len(loads))


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
