"""The same right programs through Truegrade and through the published graders, alternating in one run.

    python -m bench grading HumanEval.jsonl.gz [--workers 2] [--rounds 3] [--limit 164]
                            [--peers FOLDER] [--peer-python PYTHON]

Each of Truegrade's three ways is compared with every peer. ``in-process`` is the programs' own cost in one
process, with no protection whatsoever. Every verdict must be a pass.

FOLDER (or TRUEGRADE_PEERS) holds checkouts named ``owner+name``, see `peers.CHECKOUTS`; each runs in a warm
process of its own, through the harness' own entry point. LiveCodeBench's grader and EvalScope get every call that
a test makes as a functional test, and so only the problems whose values JSON holds. Do not run these two at a
real-time priority: their processes can wait in the kernel for others, which then never run.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from bench.peers import CHECKOUTS, Peer, row
from bench.rounds import Way, compare, parser, table
from truegrade.sandbox import Limits, Sandbox

Problem = dict[str, Any]
OURS = 3
"""Of the ways below, those that grade."""
CPU_LIMIT_S = 10.0
STARTS = 5


def main() -> None:
    """Measure and print."""
    options = _options()
    with gzip.open(options.problems, "rt", encoding="utf-8") as file:
        problems = [json.loads(line) for line in file][: options.limit]
    calls = {problem["task_id"]: _recorded(problem) for problem in problems}
    with ExitStack() as stack:
        sandbox = stack.enter_context(Sandbox(Limits(cpu_s=CPU_LIMIT_S), workers=options.workers))
        print(f"protection level {sandbox.level}: {sandbox.protection}")
        print(f"start of a jail, to the end of its first sample: {_start_ms():.0f} ms (best of {STARTS})")
        peers = _peers(stack, problems, calls, options)
        ours = dict(_ours(sandbox, problems, calls, options.workers))
        stack.enter_context(table())
        work = f"references of HumanEval, {options.workers} workers"
        ways = ours | {name: partial(peer.grade, options.workers) for name, peer in peers.items()
                       if not CHECKOUTS[name].most}  # fmt: skip
        compare(work, ways, options.rounds, amount=len(problems), ours=OURS)
        for name in set(peers) - set(ways):  # takes seconds for each sample
            few = len(peers[name].rows)
            alone = dict(_ours(sandbox, problems[:few], calls, options.workers))
            few_ways = {"judge": alone["judge"], name: partial(peers[name].grade, options.workers)}
            compare(work, few_ways, 1, amount=few)


def _options() -> argparse.Namespace:
    given = parser(__doc__, rounds=3)
    given.add_argument("problems", type=Path)
    given.add_argument("--limit", type=int, default=164)
    given.add_argument("--peers", type=Path, default=os.environ.get("TRUEGRADE_PEERS"))
    given.add_argument("--peer-python", default=sys.executable)
    return given.parse_args()


# ---------------------------------------------------------------------------------------------- the graders


def _ours(
    sandbox: Sandbox, problems: list[Problem], calls: dict[str, tuple[list[Any], list[Any]]], workers: int
) -> Iterator[tuple[str, Way]]:
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
        yield name, _threaded(one, problems, at_once)


def _peers(
    stack: ExitStack,
    problems: list[Problem],
    calls: dict[str, tuple[list[Any], list[Any]]],
    options: argparse.Namespace,
) -> dict[str, Peer]:
    """The peers that start; what keeps the others from it is printed."""
    if options.peers is None:
        print("no peer is measured: name the folder of their checkouts with --peers or TRUEGRADE_PEERS")
        return {}
    rows = [row(problem, _program(problem), *calls[problem["task_id"]]) for problem in problems]
    left_out = [r["problem"]["task_id"] for r in rows if not r["input_output"]]
    if left_out:
        print(f"not JSON, so not for LiveCodeBench and EvalScope: {', '.join(left_out)}")
    peers = {}
    for name in CHECKOUTS:
        try:
            peers[name] = Peer(name, Path(options.peers), options.peer_python, rows)
        except OSError as error:
            print(f"{name}: not measured, {error}")
            continue
        stack.callback(peers[name].close)
    return peers


def _threaded(one: Callable[[Problem], bool], problems: list[Problem], workers: int) -> Way:
    def checked(problem: Problem) -> None:
        if not one(problem):
            raise SystemExit(f"{problem['task_id']} did not pass; the comparison would mean nothing")

    def grade() -> None:
        with ThreadPoolExecutor(workers) as threads:
            list(threads.map(checked, problems))

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


def _start_ms() -> float:
    """Milliseconds from nothing to the end of a worker's first sample; the best of a few."""
    walls = []
    for _ in range(STARTS):
        with Sandbox(Limits(cpu_s=CPU_LIMIT_S), workers=1) as fresh:
            began = time.perf_counter()
            fresh.inside("")
            walls.append(time.perf_counter() - began)
    return min(walls) * 1e3
