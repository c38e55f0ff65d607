"""Rewards asked for one reply at a time, as trainers do, against batches of 64.

    python bench/reward_calls.py HumanEval.jsonl.gz [--workers 2] [--rounds 5] [--copies 4] [--here]

Every reference program of HumanEval is rewarded ``copies`` times by `RewardGrader`: in batches of 64 from ``2 *
workers`` threads; one at a time, all at once, from an asyncio loop (verl gathers the replies of a step so); one at
a time from 32 threads (SkyRL's ``max_env_workers``). The arms alternate in one run after a round that warms up,
and the ratio is the median of the rounds' ratios to batches. The service is a process of its own on loopback; with
``--here`` it is the pool of this node, in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from truegrade.apps.rewards.grader import RewardGrader
from truegrade.apps.rewards.records import PolicyReply, Reward
from truegrade.benchmarks import load_benchmark
from truegrade.records import FunctionTask, OracleTask

TOKEN = "token-of-the-benchmark"
BATCH, THREADS = 64, 32


def main() -> None:
    """Measure and print."""
    options = _options()
    replies = [
        PolicyReply(problem_id=problem.id, text=problem.task.reference, form="program")
        for problem in load_benchmark("humaneval", options.problems).problems
        if isinstance(problem.task, FunctionTask | OracleTask)
        for _ in range(options.copies)
    ]
    with _grader(options) as grader:
        arms: dict[str, Callable[[], list[Reward]]] = {
            f"batches of {BATCH}": lambda: _batches(grader, replies, 2 * options.workers),
            "one at a time, asyncio": lambda: asyncio.run(_gathered(grader, replies)),
            f"one at a time, {THREADS} threads": lambda: _threads(grader, replies),
        }
        rates: dict[str, list[float]] = {name: [] for name in arms}
        for number in range(options.rounds + 1):
            for name, arm in arms.items():
                began = time.perf_counter()
                rewards = arm()
                if number:  # the first round warms up
                    rates[name].append(len(replies) / (time.perf_counter() - began))
                assert all(reward.value == 1.0 for reward in rewards)
    base = rates[f"batches of {BATCH}"]
    for name, found in rates.items():
        ratios = [rate / own for rate, own in zip(found, base, strict=True)]
        print(f"{name:26} {statistics.median(found):7.1f} replies/s   {statistics.median(ratios):6.1%}"
              f"   ({min(ratios):.1%} to {max(ratios):.1%})")  # fmt: skip


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--here", action="store_true", help="The pool of this node instead of a service.")
    return parser.parse_args()


@contextmanager
def _grader(options: argparse.Namespace) -> Iterator[RewardGrader]:
    if options.here:
        with RewardGrader(workers=options.workers, benchmark=f"humaneval={options.problems}") as grader:
            yield grader
        return
    command = [sys.executable, "-m", "truegrade", "serve", "--port", "0", "--json", "--token", TOKEN]
    known = ["--workers", str(options.workers), "--benchmark", f"humaneval={options.problems}"]
    with subprocess.Popen([*command, *known], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if line == "}\n":
                break
        try:
            with RewardGrader(url=json.loads(said)["address"], token=TOKEN, benchmark="humaneval") as grader:
                yield grader
        finally:
            process.terminate()


def _batches(grader: RewardGrader, replies: Sequence[PolicyReply], callers: int) -> list[Reward]:
    parts = [replies[start : start + BATCH] for start in range(0, len(replies), BATCH)]
    with ThreadPoolExecutor(callers) as threads:
        return [reward for part in threads.map(grader.grade_sync, parts) for reward in part]


async def _gathered(grader: RewardGrader, replies: Sequence[PolicyReply]) -> list[Reward]:
    found = await asyncio.gather(*(grader.grade([reply]) for reply in replies))
    return [reward for (reward,) in found]


def _threads(grader: RewardGrader, replies: Sequence[PolicyReply]) -> list[Reward]:
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(lambda reply: grader.grade_sync([reply])[0], replies))


if __name__ == "__main__":
    main()
