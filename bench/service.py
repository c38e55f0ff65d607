"""The grading service against the pool in this process, and a long mixed load.

    python bench/service.py HumanEval.jsonl.gz [--workers 2] [--rounds 3] [--batch 64] [--copies 4] [--limit 164]
    python bench/service.py HumanEval.jsonl.gz --requests 10000 [--hostile 0.01] [--clients 8]

The first grades every reference program ``copies`` times in this process and through a service of as many workers,
alternating in one run, and prints samples/s and each as a share of the first. The second sends that many single
requests of right, wrong and hostile programs from ``clients`` connections and counts those that got no answer
(lost), no verdict (the grader failed), or another verdict than they must get (wrong); any of them makes its exit
code 1. ``--limit`` and ``--requests`` scale them down: 20 problems and 300 requests take a minute.
The service is a process of its own on loopback; a request that is told to come back does so.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from truegrade.benchmarks import load_benchmark
from truegrade.errors import TruegradeError
from truegrade.integrations.client import Client
from truegrade.pipeline.verdicts import verdict_on
from truegrade.profiles import open_profile
from truegrade.records import Completion, FunctionTask, OracleTask, Problem
from truegrade.sandbox import Sandbox
from truegrade.web.service.messages import InlineProblem, Submission

TOKEN = "token-of-the-benchmark"
HOSTILE = (
    "def double(x):\n    while True: pass",
    "import os\ndef double(x):\n    os._exit(0)",
    "import os\ndef double(x):\n    while True: os.fork()",
    "def double(x):\n    while True: print('x' * 10**6)",
    "import os\ndef double(x):\n    os.kill(os.getpid(), 9)",
    "class E:\n    def __eq__(s, o): return True\ndef double(x):\n    return E()",
)
RIGHT, WRONG = "def double(x):\n    return 2 * x", "def double(x):\n    return 3 * x"
HOSTILE_CPU_S = 1.0


def main() -> None:
    """Measure and print."""
    options = _options()
    problems = load_benchmark("humaneval", options.problems).problems[: options.limit]
    with _service(options) as address:
        if options.requests:
            _long(address, options)
        else:
            _compare(address, problems, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--limit", type=int, help="Problems of the comparison. [default: all]")
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--hostile", type=float, default=0.01)
    parser.add_argument("--clients", type=int, default=8)
    return parser.parse_args()


@contextmanager
def _service(options: argparse.Namespace) -> Iterator[str]:
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
            yield json.loads(said)["address"]
        finally:
            process.terminate()


# ------------------------------------------------------------------------------------------- throughput


def _compare(address: str, problems: Sequence[Problem], options: argparse.Namespace) -> None:
    rates: dict[str, list[float]] = {"in this process": [], "service, batches": [], "service, single": []}
    for number in range(options.rounds + 1):
        for name, rate in (
            ("in this process", _direct(problems, options)),
            ("service, batches", _served(address, problems, options, options.batch)),
            ("service, single", _served(address, problems, options, 1)),
        ):
            if number:  # the first round warms up
                rates[name].append(rate)
    own = rates["in this process"]
    for name, found in rates.items():
        ratio = statistics.median(rate / base for rate, base in zip(found, own, strict=True))
        print(f"{name:18} {statistics.median(found):7.1f} samples/s   {ratio:6.1%} (median of the rounds' ratios)")


def _direct(problems: Sequence[Problem], options: argparse.Namespace) -> float:
    profile = open_profile("strict")
    pairs = []
    for problem in problems:
        assert isinstance(problem.task, FunctionTask | OracleTask)
        completion = Completion(
            benchmark=problem.benchmark,
            dataset_sha256=problem.dataset_sha256,
            problem_id=problem.id,
            sample=0,
            config_sha256="",
            prompt_sha256="",
            text=problem.task.reference,
            form="program",
            model="",
        )
        pairs += [(completion, problem)] * options.copies
    with (
        Sandbox(profile.limits, workers=options.workers) as sandbox,
        ThreadPoolExecutor(options.workers) as threads,
    ):
        list(threads.map(lambda _: sandbox.script("1"), range(2 * options.workers)))
        began = time.perf_counter()
        verdicts = list(threads.map(lambda pair: verdict_on(*pair, profile, sandbox), pairs))
        wall_s = time.perf_counter() - began
    assert all(verdict.passed for verdict in verdicts)
    return len(verdicts) / wall_s


def _served(address: str, problems: Sequence[Problem], options: argparse.Namespace, size: int) -> float:
    sent = [
        Submission(problem_id=problem.id, text=problem.task.reference, form="program")
        for problem in problems
        if isinstance(problem.task, FunctionTask | OracleTask)
        for _ in range(options.copies)
    ]
    batches = [sent[start : start + size] for start in range(0, len(sent), size)]
    clients = 2 * options.workers
    with Client(address, TOKEN) as client, ThreadPoolExecutor(clients) as threads:
        began = time.perf_counter()
        rewards = list(threads.map(lambda batch: client.reward(batch, benchmark="humaneval"), batches))
        wall_s = time.perf_counter() - began
    assert all(reward == 1.0 for batch in rewards for reward in batch)
    return len(sent) / wall_s


# -------------------------------------------------------------------------------------------- long load


def _long(address: str, options: argparse.Namespace) -> None:
    chance = random.Random(7)
    programs = []
    for _ in range(options.requests):
        hostile = chance.random() < options.hostile
        programs.append(chance.choice(HOSTILE) if hostile else chance.choice((RIGHT, RIGHT, WRONG)))
    task = FunctionTask(
        prompt="", entry_point="double", tests="assert double(2) == 4", reference="", cpu_s=HOSTILE_CPU_S
    )
    problem = InlineProblem(task=task)
    with Client(address, TOKEN) as client, ThreadPoolExecutor(options.clients) as threads:

        def ask(program: str) -> float | str | None:
            """The reward; the failure's words where no answer came."""
            try:
                return client.reward([Submission(text=f"```python\n{program}\n```")], problem=problem)[0]
            except TruegradeError as error:
                return str(error)

        began = time.perf_counter()
        answers = list(threads.map(ask, programs))
        wall_s = time.perf_counter() - began
    lost = [answer for answer in answers if isinstance(answer, str)]
    undecided = answers.count(None)
    expected = [float(program == RIGHT) for program in programs]
    given = [answer for answer in zip(answers, expected, strict=True) if isinstance(answer[0], float)]
    wrong = sum(answer != due for answer, due in given)
    kinds = Counter("right" if p == RIGHT else "wrong" if p == WRONG else "hostile" for p in programs)
    print(f"{len(programs)} requests ({', '.join(f'{n} {kind}' for kind, n in sorted(kinds.items()))})")
    print(f"lost {len(lost)}, undecided {undecided}, wrong {wrong}, {len(programs) / wall_s:.0f} requests/s")
    for failure in dict.fromkeys(lost):
        print(f"lost: {failure}")
    if lost or undecided or wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
