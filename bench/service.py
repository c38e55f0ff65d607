"""The grading service against the pool in this process, and a long mixed load.

    python -m bench service HumanEval.jsonl.gz [--workers 2] [--rounds 3] [--batch 64] [--copies 4] [--limit 164]
    python -m bench service HumanEval.jsonl.gz --requests 10000 [--hostile 0.01] [--clients 8]
    python -m bench service HumanEval.jsonl.gz --cases 600 [--clients 64] [--verl CHECKOUT --client-python PYTHON]

The first grades every reference program ``copies`` times through a service and in this process with as many
workers. The second sends that many single
requests of right, wrong and hostile programs from ``clients`` connections and counts those that got no answer
(lost), no verdict (the grader failed), or another verdict than they must get (wrong); any of them makes its exit
code 1. The third sends programs and inputs case by case to /run_code, in alternating rounds with `Sandbox.script`
in this process: by the client code of a checkout of verl, which needs an interpreter with ``requests``, else by a
plain client, under ``clients`` connections and one after the other; it prints latencies too, of one that runs
nothing on a connection that is kept as well, and the client's CPU time.
``--limit`` and ``--requests`` scale them down: 20 problems and 300 requests take a minute.
The service is a process of its own on loopback; a request that is told to come back does so.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.rounds import Cost, Way, compare, parser, table
from bench.serving import TOKEN, serving
from truegrade.benchmarks import load_benchmark
from truegrade.errors import TruegradeError
from truegrade.pipeline.verdicts import verdict_on
from truegrade.profiles import open_profile
from truegrade.records import Completion, FunctionTask, OracleTask, Problem
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.limits import MIB
from truegrade.web.client import Client
from truegrade.web.messages import InlineProblem, Submission

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
CASES_EACH = 12
"""Cases of a completion."""
CASE_S, CLIENT_S = 10.0, 30.0
"""Time limit of a case, and for how long verl's client waits."""
KEPT_REQUESTS = 101
CASE_LIMITS = Limits(memory_bytes=1024 * MIB, output_bytes=4 * MIB)
"""As `single_cases.py` asks for and the service gives."""


def main() -> None:
    """Measure and print."""
    options = _options()
    problems = load_benchmark("humaneval", options.problems).problems[: options.limit]
    token = None if options.cases else TOKEN  # verl's client sends none
    with serving(options.problems, options.workers, token=token) as address, table():
        if options.cases:
            _single_cases(address, problems, options)
        elif options.requests:
            _long(address, options)
        else:
            _compare(address, problems, options)


def _options() -> argparse.Namespace:
    given = parser(__doc__, rounds=3)
    given.add_argument("problems", type=Path)
    given.add_argument("--batch", type=int, default=64)
    given.add_argument("--copies", type=int, default=4)
    given.add_argument("--limit", type=int, help="Problems of the comparison. [default: all]")
    given.add_argument("--requests", type=int, default=0)
    given.add_argument("--cases", type=int, default=0)
    given.add_argument("--verl", type=Path, help="Checkout of verl, whose client sends the cases.")
    given.add_argument("--client-python", default=sys.executable, help="Interpreter of that client.")
    given.add_argument("--hostile", type=float, default=0.01)
    given.add_argument("--clients", type=int, default=8)
    return given.parse_args()


# ------------------------------------------------------------------------------------------- throughput


def _compare(address: str, problems: Sequence[Problem], options: argparse.Namespace) -> None:
    profile = open_profile("strict")
    tasks = [(problem, problem.task.reference) for problem in problems
             if isinstance(problem.task, FunctionTask | OracleTask)] * options.copies  # fmt: skip
    pairs = [(_completion(problem, text), problem) for problem, text in tasks]
    sent = [Submission(problem_id=problem.id, text=text, form="program") for problem, text in tasks]

    def served(client: Client, threads: ThreadPoolExecutor, size: int) -> None:
        batches = [sent[start : start + size] for start in range(0, len(sent), size)]
        rewards = list(threads.map(lambda batch: client.reward(batch, benchmark="humaneval"), batches))
        assert all(reward == 1.0 for batch in rewards for reward in batch)

    with (
        Sandbox(profile.limits, workers=options.workers) as sandbox,
        ThreadPoolExecutor(options.workers) as own,
        Client(address, TOKEN) as client,
        ThreadPoolExecutor(2 * options.workers) as clients,
    ):

        def direct() -> None:
            verdicts = list(own.map(lambda pair: verdict_on(*pair, profile, sandbox), pairs))
            assert all(verdict.passed for verdict in verdicts)

        ways: dict[str, Way] = {
            f"service, batches of {options.batch}": lambda: served(client, clients, options.batch),
            "service, one at a time": lambda: served(client, clients, 1),
            "in this process": direct,
        }
        work = f"{len(pairs)} references of HumanEval, {options.workers} workers"
        compare(work, ways, options.rounds, amount=len(pairs), ours=2)


def _completion(problem: Problem, text: str) -> Completion:
    return Completion(
        benchmark=problem.benchmark,
        dataset_sha256=problem.dataset_sha256,
        problem_id=problem.id,
        sample=0,
        config_sha256="",
        prompt_sha256="",
        text=text,
        form="program",
        model="",
    )


# ----------------------------------------------------------------------------------------- single cases


def _single_cases(address: str, problems: Sequence[Problem], options: argparse.Namespace) -> None:
    completions = []
    for number in range(max(1, options.cases // CASES_EACH)):
        task = problems[number % len(problems)].task
        assert isinstance(task, FunctionTask | OracleTask)
        words = [f"nonce {number} {case}" for case in range(CASES_EACH)]
        program = f"{task.reference}\nprint(input())  # {number}\n"
        completions.append({"program": program, "inputs": words, "outputs": words})
    pairs = [(it["program"], word) for it in completions for word in it["inputs"]]
    firsts = [it | {"inputs": it["inputs"][:1]} for it in completions]
    latencies: list[float] = []
    client_s: list[float] = []
    with Sandbox(CASE_LIMITS, workers=options.workers) as sandbox, ThreadPoolExecutor(options.workers) as threads:

        def served() -> None:
            said = _cases_served(address, completions, options, options.clients)
            slowest = max(said["latencies_s"])
            if said["wrong"] or slowest > CLIENT_S:
                raise SystemExit(f"{said['wrong']} cases are wrong; the slowest took {slowest:.1f} s")
            latencies.extend(said["latencies_s"])
            client_s.append(said["cpu_s"] / len(pairs))

        def lone() -> Cost:
            said = _cases_served(address, firsts, options, 1)
            return Cost(said["cpu_s"], sum(said["latencies_s"]))

        def lone_here() -> None:
            for program, word in pairs[::CASES_EACH]:
                _case(sandbox, program, word)

        def here() -> None:
            list(threads.map(lambda pair: _case(sandbox, *pair), pairs))

        many: dict[str, Way] = {"/run_code": served, "in this process": here}
        compare(f"{options.clients} cases under way", many, options.rounds, amount=len(pairs))
        one: dict[str, Way] = {"/run_code (CPU: its client)": lone, "in this process": lone_here}
        compare("one case under way", one, options.rounds, amount=len(firsts))
    latencies.sort()
    middle, late = (1e3 * latencies[int(len(latencies) * share)] for share in (0.5, 0.99))
    print(f"p50 {middle:.0f} ms, p99 {late:.0f} ms with {options.clients} under way")
    print(f"the client takes {1e3 * statistics.median(client_s):.2f} CPU ms a case")
    print(f"an answer without work on a kept connection takes {1e3 * _kept_s(address):.1f} ms")


def _kept_s(address: str) -> float:
    """Median seconds of a request that runs nothing, on one connection, as trainers' adapters keep them."""
    connection, times = http.client.HTTPConnection(urlsplit(address).netloc, timeout=CLIENT_S), []
    for _ in range(KEPT_REQUESTS):
        began = time.perf_counter()
        connection.request("GET", "/v1/ping")
        connection.getresponse().read()
        times.append(time.perf_counter() - began)
    connection.close()
    return statistics.median(times)


def _case(sandbox: Sandbox, program: str, word: str) -> None:
    outcome = sandbox.script(program, word, cpu_s=CASE_S, wall_s=CASE_S, deadline_s=CASE_S)
    assert outcome.stdout.rstrip("\n") == word, outcome


def _cases_served(address: str, completions: list[Any], options: argparse.Namespace, clients: int) -> Any:
    asked = {"url": f"{address}/run_code", "clients": clients, "verl": str(options.verl) if options.verl else None}
    asked["completions"] = [it | {"outputs": it["outputs"][: len(it["inputs"])]} for it in completions]
    command = [options.client_python, str(Path(__file__).with_name("single_cases.py"))]
    ended = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    return json.loads(ended.stdout)


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
