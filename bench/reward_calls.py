"""Rewards asked for one reply at a time, as trainers do, against batches of 64.

    python -m bench reward_calls HumanEval.jsonl.gz [--workers 2] [--rounds 5] [--copies 4] [--limit N] [--here]

Every reference program of HumanEval is rewarded ``copies`` times by `RewardGrader`: in batches of 64 from ``2 *
workers`` threads; one at a time, all at once, from an asyncio loop (verl gathers the replies of a step so); one at
a time from 32 threads (SkyRL's ``max_env_workers``). The service is a process of its own on loopback;
with ``--here`` it is the pool of this node, in this process.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from bench.rounds import Way, compare, parser, table
from bench.serving import TOKEN, serving
from truegrade.apps.rewards.grader import RewardGrader
from truegrade.apps.rewards.records import PolicyReply, Reward
from truegrade.benchmarks import load_benchmark
from truegrade.records import FunctionTask, OracleTask

BATCH, THREADS = 64, 32


def main() -> None:
    """Measure and print."""
    options = _options()
    replies = [
        PolicyReply(problem_id=problem.id, text=problem.task.reference, form="program")
        for problem in load_benchmark("humaneval", options.problems).problems[: options.limit]
        if isinstance(problem.task, FunctionTask | OracleTask)
        for _ in range(options.copies)
    ]
    with _grader(options) as grader, table():

        def way(arm: Callable[[], list[Reward]]) -> Way:
            def once() -> None:
                assert all(reward.value == 1.0 for reward in arm())

            return once

        arms = {
            f"batches of {BATCH}": lambda: _batches(grader, replies, 2 * options.workers),
            "one at a time, asyncio": lambda: asyncio.run(_gathered(grader, replies)),
            f"one at a time, {THREADS} threads": lambda: _threads(grader, replies),
        }
        ways = {name: way(arm) for name, arm in arms.items()}
        compare("rewards of references", ways, options.rounds, amount=len(replies))


def _options() -> argparse.Namespace:
    given = parser(__doc__, rounds=5)
    given.add_argument("problems", type=Path)
    given.add_argument("--copies", type=int, default=4)
    given.add_argument("--limit", type=int, help="Problems. [default: all]")
    given.add_argument("--here", action="store_true", help="The pool of this node instead of a service.")
    return given.parse_args()


@contextmanager
def _grader(options: argparse.Namespace) -> Iterator[RewardGrader]:
    if options.here:
        with RewardGrader(workers=options.workers, benchmark=f"humaneval={options.problems}") as grader:
            yield grader
        return
    with (
        serving(options.problems, options.workers) as address,
        RewardGrader(url=address, token=TOKEN, benchmark="humaneval") as grader,
    ):
        yield grader


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
