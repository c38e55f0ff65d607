"""The same right programs through Truegrade and through the published graders, alternating in one run.

    python bench/grading.py HumanEval.jsonl.gz [--workers 2] [--rounds 3] [--limit 164]
                            [--peers FOLDER] [--peer-python PYTHON]

Prints, per grader: samples/s, median ms per sample, CPU ms per sample of the whole process tree, peak PSS per
worker of the processes that it started (watched in a slice that is not timed, as looking takes time), and how many
times as fast Truegrade is in each of its three ways.
``in-process`` is the programs' own cost in one process, with no protection whatsoever. Ratios within one run mean
something; absolute figures are the machine's. Every verdict must be a pass.

FOLDER (or TRUEGRADE_PEERS) holds checkouts named ``owner+name``, see `peers.CHECKOUTS`; each runs in a warm
process of its own, through the harness' own entry point. LiveCodeBench's grader and EvalScope get every call that
a test makes as a functional test, and so only the problems whose values JSON holds. Do not run these two at a
real-time priority: their processes can wait in the kernel for others, which then never run.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from peers import CHECKOUTS, Peer, row
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.worker import cpu_s, descendants, memory_bytes

Problem = dict[str, Any]
OURS = ("judge", "call", "inside")
CPU_LIMIT_S = 10.0
PSS_EVERY_S = 0.1
STARTS = 5


class Slice(NamedTuple):
    """One grader's time for some samples."""

    samples: int
    wall_s: float
    walls_s: list[float]
    """Of each sample; empty if the grader takes them together."""


class Grader(NamedTuple):
    """Something that grades the first so many problems."""

    grade: Callable[[int], Slice]
    roots: tuple[int, ...] = ()
    """Its processes; by default all that are below this one and no peer's."""
    workers: int = 0
    """How many samples it grades at a time, if that is not for us to say."""


class Measured(NamedTuple):
    """One round of one grader."""

    rate: float
    median_ms: float
    cpu_ms: float


def main() -> None:
    """Measure and print."""
    options = _options()
    with gzip.open(options.problems, "rt", encoding="utf-8") as file:
        problems = [json.loads(line) for line in file][: options.limit]
    calls = {problem["task_id"]: _recorded(problem) for problem in problems}
    with ExitStack() as stack:
        sandbox = stack.enter_context(Sandbox(Limits(cpu_s=CPU_LIMIT_S), workers=options.workers))
        print(f"protection level {sandbox.level}: {sandbox.protection}")
        print(f"{options.workers} workers, {len(problems)} problems, {options.rounds} rounds")
        print(f"start of a jail, to the end of its first sample: {_start_ms():.0f} ms (best of {STARTS})")
        graders = dict(_ours(sandbox, problems, calls, options.workers))
        graders |= _peers(stack, problems, calls, options)
        peers = {pid for grader in graders.values() for pid in grader.roots}
        measured: dict[str, list[Measured]] = {name: [] for name in graders}
        peaks = {  # first, so that nobody's first start is timed
            name: _peak_mb(grader, len(problems) if name != "EvalScope" else 4, peers, options.workers)
            for name, grader in graders.items()
        }
        for number in range(options.rounds):
            for name, grader in graders.items():
                if number == 0 or name != "EvalScope":
                    measured[name].append(_measure(grader, len(problems)))
    _print(measured, peaks)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=164)
    parser.add_argument("--peers", type=Path, default=os.environ.get("TRUEGRADE_PEERS"))
    parser.add_argument("--peer-python", default=sys.executable)
    return parser.parse_args()


# ---------------------------------------------------------------------------------------------- the graders


def _ours(
    sandbox: Sandbox, problems: list[Problem], calls: dict[str, tuple[list[Any], list[Any]]], workers: int
) -> Iterator[tuple[str, Grader]]:
    """Truegrade in its three ways, and the two costs that need no package."""

    def judge(problem: Problem) -> bool:
        name = problem["entry_point"]
        tests = f"{problem['test']}\ncheck({name})"
        trusted = f"{problem['prompt']}\n    pass\n"
        return sandbox.judge(_program(problem), tests, [name], trusted=trusted).status == "passed"

    def call(problem: Problem) -> bool:
        arguments, expected = calls[problem["task_id"]]
        results: list[Any] = []

        def keep(_: int, result: Any) -> bool:
            results.append(result.value)
            return True

        outcome = sandbox.call(_program(problem), problem["entry_point"], arguments, keep)
        return outcome.status == "passed" and results == expected

    def inside(problem: Problem) -> bool:
        return sandbox.inside(_whole(problem)).status == "passed"

    for name, one, at_once in (
        ("judge", judge, workers),
        ("call", call, workers),
        ("inside", inside, workers),
        ("python -c", _interpreter, workers),
        ("in-process", _in_process, 1),
    ):
        yield name, Grader(_threaded(one, problems, at_once), workers=at_once)


def _peers(
    stack: ExitStack,
    problems: list[Problem],
    calls: dict[str, tuple[list[Any], list[Any]]],
    options: argparse.Namespace,
) -> dict[str, Grader]:
    """The peers that start; what keeps the others from it is printed."""
    if options.peers is None:
        print("no peer is measured: name the folder of their checkouts with --peers or TRUEGRADE_PEERS")
        return {}
    rows = [row(problem, _program(problem), *calls[problem["task_id"]]) for problem in problems]
    left_out = [r["problem"]["task_id"] for r in rows if not r["input_output"]]
    if left_out:
        print(f"not JSON, so not for LiveCodeBench and EvalScope: {', '.join(left_out)}")
    graders = {}
    for name, checkout in CHECKOUTS.items():
        try:
            peer = Peer(name, Path(options.peers), options.peer_python, rows)
        except OSError as error:
            print(f"{name}: not measured, {error}")
            continue
        stack.callback(peer.close)
        if checkout.most is not None:
            print(f"{name}: {len(peer.rows)} samples in one round only, as it takes seconds for each")
        graders[name] = Grader(_asking(peer, options.workers), roots=(peer.pid,))
    return graders


def _asking(peer: Peer, workers: int) -> Callable[[int], Slice]:
    def grade(count: int) -> Slice:
        return Slice(min(count, len(peer.rows)), *peer.grade(count, workers))

    return grade


def _threaded(one: Callable[[Problem], bool], problems: list[Problem], workers: int) -> Callable[[int], Slice]:
    def timed(problem: Problem) -> float:
        began = time.perf_counter()
        if not one(problem):
            raise SystemExit(f"{problem['task_id']} did not pass; the comparison would mean nothing")
        return time.perf_counter() - began

    def grade(count: int) -> Slice:
        with ThreadPoolExecutor(workers) as threads:
            began = time.perf_counter()
            walls = list(threads.map(timed, problems[:count]))
            return Slice(len(walls), time.perf_counter() - began, walls)

    return grade


def _interpreter(problem: Problem) -> bool:
    return (
        subprocess.run([sys.executable, "-c", _whole(problem)], capture_output=True, check=False).returncode == 0
    )


def _in_process(problem: Problem) -> bool:
    exec(_whole(problem), {})
    return True


def _program(problem: Problem) -> str:
    return str(problem["prompt"] + problem["canonical_solution"])


def _whole(problem: Problem) -> str:
    return f"{_program(problem)}\n{problem['test']}\ncheck({problem['entry_point']})"


def _recorded(problem: Problem) -> tuple[list[Any], list[Any]]:
    """The calls that a problem's tests make, and what the reference answers; copies, as they may be changed."""
    import copy

    namespace: dict[str, Any] = {}
    exec(f"{_program(problem)}\n{problem['test']}", namespace)
    reference = namespace[problem["entry_point"]]
    arguments: list[Any] = []
    answers: list[Any] = []

    def recorder(*given: Any) -> Any:
        arguments.append(copy.deepcopy(given))
        answer = reference(*given)
        answers.append(copy.deepcopy(answer))
        return answer

    namespace["check"](recorder)
    return arguments, answers


# -------------------------------------------------------------------------------------------- the measuring


def _measure(grader: Grader, count: int) -> Measured:
    used = _tree_cpu_s()
    piece = grader.grade(count)
    used = _tree_cpu_s() - used
    return Measured(
        rate=piece.samples / piece.wall_s,
        median_ms=statistics.median(piece.walls_s) * 1e3 if piece.walls_s else float("nan"),
        cpu_ms=used / piece.samples * 1e3,
    )


def _peak_mb(grader: Grader, count: int, peers: set[int], workers: int) -> float:
    """Peak PSS per worker, in megabytes, while it grades so many problems."""
    with _peak_pss(grader.roots, peers - set(grader.roots)) as peak:
        grader.grade(count)
    return peak[0] / 1e6 / (grader.workers or workers)


def _start_ms() -> float:
    """Milliseconds from nothing to the end of a worker's first sample; the best of a few."""
    walls = []
    for _ in range(STARTS):
        with Sandbox(Limits(cpu_s=CPU_LIMIT_S), workers=1) as fresh:
            began = time.perf_counter()
            fresh.inside("")
            walls.append(time.perf_counter() - began)
    return min(walls) * 1e3


def _tree_cpu_s() -> float:
    """CPU seconds of this process, what it has reaped and what lives below it."""
    return sum(os.times()[:4]) + cpu_s(descendants(os.getpid()))


@contextmanager
def _peak_pss(roots: tuple[int, ...], others: set[int]) -> Iterator[list[int]]:
    """The largest PSS, in bytes, of these processes and all below them while the block runs.

    Args:
        roots: where to look; by default, below this process.
        others: where not to.
    """
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(PSS_EVERY_S):
            below = {pid for root in roots or (os.getpid(),) for pid in descendants(root)} | set(roots)
            without = {pid for other in others for pid in descendants(other)} | others
            peak[0] = max(peak[0], memory_bytes(sorted(below - without)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def _print(measured: dict[str, list[Measured]], peaks: dict[str, float]) -> None:
    print(f"{'':14}{'samples/s':>11}{'median ms':>11}{'CPU ms':>9}{'PSS MB':>8}", end="")
    print("".join(f"{name:>9}" for name in OURS) + "  times as fast")
    for name, rounds in measured.items():
        rate, middle, cpu = (statistics.median(column) for column in zip(*rounds, strict=True))
        each = "-" if math.isnan(middle) else f"{middle:.2f}"
        print(f"{name:14}{rate:11.1f}{each:>11}{cpu:9.2f}{peaks[name]:8.1f}", end="")
        for ours in OURS:
            ratios = [a.rate / b.rate for a, b in zip(measured[ours], rounds, strict=False)]
            print(f"{statistics.median(ratios):9.2f}", end="")
        print()


if __name__ == "__main__":
    main()
