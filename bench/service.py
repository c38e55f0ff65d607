"""The grading service against the pool in this process, and a long mixed load.

    python bench/service.py HumanEval.jsonl.gz [--workers 2] [--rounds 3] [--batch 64] [--copies 4] [--limit 164]
    python bench/service.py HumanEval.jsonl.gz --requests 10000 [--hostile 0.01] [--clients 8]
    python bench/service.py HumanEval.jsonl.gz --cases 600 [--clients 64] [--verl CHECKOUT --client-python PYTHON]

The first grades every reference program ``copies`` times in this process and through a service of as many workers,
alternating in one run, and prints samples/s and each as a share of the first. The second sends that many single
requests of right, wrong and hostile programs from ``clients`` connections and counts those that got no answer
(lost), no verdict (the grader failed), or another verdict than they must get (wrong); any of them makes its exit
code 1. The third sends programs and inputs case by case to /run_code, in alternating rounds with `Sandbox.script`
in this process: by the client code of a checkout of verl, which needs an interpreter with ``requests``, else by a
plain client; it prints rates, latencies under ``clients`` connections, of lone ones and of one that runs nothing
on a connection that is kept, and CPU time a case.
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
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from truegrade.benchmarks import load_benchmark
from truegrade.errors import TruegradeError
from truegrade.pipeline.verdicts import verdict_on
from truegrade.profiles import open_profile
from truegrade.records import Completion, FunctionTask, OracleTask, Problem
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.limits import MIB
from truegrade.web.client import Client
from truegrade.web.messages import InlineProblem, Submission

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
    with _service(options) as address:
        if options.cases:
            _single_cases(address, problems, options)
        elif options.requests:
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
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--verl", type=Path, help="Checkout of verl, whose client sends the cases.")
    parser.add_argument("--client-python", default=sys.executable, help="Interpreter of that client.")
    parser.add_argument("--hostile", type=float, default=0.01)
    parser.add_argument("--clients", type=int, default=8)
    return parser.parse_args()


@contextmanager
def _service(options: argparse.Namespace) -> Iterator[str]:
    token = ["--no-token"] if options.cases else ["--token", TOKEN]  # verl's client sends none
    command = [sys.executable, "-m", "truegrade", "serve", "--port", "0", "--json", *token]
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
    found: dict[str, list[float]] = {"pool": [], "service": [], "p50": [], "p99": [], "client": [], "lone": []}
    with Sandbox(CASE_LIMITS, workers=options.workers) as sandbox:
        for _ in range(options.rounds + 1):
            found["pool"].append(_cases_in_process(sandbox, pairs, options.workers))
            said = _cases_served(address, completions, options, options.clients)
            times = sorted(said["latencies_s"])
            if said["wrong"] or times[-1] > CLIENT_S:
                raise SystemExit(f"{said['wrong']} cases are wrong; the slowest took {times[-1]:.1f} s")
            found["service"].append(len(times) / said["wall_s"])
            found["client"].append(said["cpu_s"] / len(times))
            found["p50"].append(times[len(times) // 2])
            found["p99"].append(times[int(len(times) * 0.99)])
            lone = _cases_served(address, [it | {"inputs": it["inputs"][:1]} for it in completions], options, 1)
            own = []
            for program, word in pairs[::CASES_EACH]:
                began = time.perf_counter()
                _case(sandbox, program, word)
                own.append(time.perf_counter() - began)
            found["lone"].append(statistics.median(lone["latencies_s"]) - statistics.median(own))
    medians = {name: statistics.median(values[1:]) for name, values in found.items()}  # the first warms up
    ratio = statistics.median(a / b for a, b in zip(found["service"][1:], found["pool"][1:], strict=True))
    print(f"in this process {medians['pool']:.0f} cases/s, /run_code {medians['service']:.0f}: {ratio:.2f}")
    print(f"p50 {1e3 * medians['p50']:.0f} ms, p99 {1e3 * medians['p99']:.0f} ms with {options.clients} under way")
    print(f"a lone request takes {1e3 * medians['lone']:.1f} ms more")
    print(f"the client takes {1e3 * medians['client']:.2f} CPU ms a case")
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


def _cases_in_process(sandbox: Sandbox, pairs: Sequence[tuple[str, str]], workers: int) -> float:
    with ThreadPoolExecutor(workers) as threads:
        began = time.perf_counter()
        list(threads.map(lambda pair: _case(sandbox, *pair), pairs))
        return len(pairs) / (time.perf_counter() - began)


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


if __name__ == "__main__":
    main()
