"""CPU seconds a problem for suites of unit tests under `strict`, beside the harness' own evaluator in one run.

    python bench/suite_costs.py BENCHMARK PEERS DATA [--problems 40] [--rounds 1] [--alone]

BENCHMARK is `bigcodebench`, `classeval`, `cweval` or `polyglot-python`, DATA its file or checkout. PEERS holds the
checkouts ``bigcode-project+bigcodebench``, ``FudanSELab+ClassEval`` (whose runner needs func_timeout) and
``Co1lin+CWEval`` (pytest-timeout); the exercises are run by plain pytest in a process each, as by Aider. Each
side grades the references and, apart, programs that return None. CPU is that of all processes of a side, zygotes
and judges included; what is found once a problem (our controls) and what a side starts with are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bigcodebench import their_check  # beside this script
from truegrade.benchmarks import load_benchmark
from truegrade.pipeline.verdicts import limits_for
from truegrade.profiles import open_profile
from truegrade.records import Answer, Problem, SuiteTask
from truegrade.sandbox import Sandbox, procfs

DRIVERS = Path(__file__).parent.parent / "tests" / "profiles"
Programs = list[tuple[Problem, SuiteTask, str]]


def used_s() -> float:
    """CPU seconds of this process and of all below it, so far."""
    return procfs.cpu_s([os.getpid(), *procfs.descendants(os.getpid())])


def nothing(task: SuiteTask) -> str:
    """A program of the asked name that does nothing."""
    if f"class {task.entry_point}" in task.reference:
        return f"class {task.entry_point}:\n    def __init__(self, *given):\n        pass\n"
    return f"def {task.entry_point}(*given, **named):\n    return None\n"


def ours(programs: Programs, sandbox: Sandbox) -> tuple[float, int, int]:
    """CPU seconds, how many pass, how many of those with their tests outside."""
    profile, before = open_profile("strict"), used_s()
    answers = [(problem, Answer(value=program, found="given")) for problem, _, program in programs]
    judged = [profile.judgement(problem, answer, sandbox) for problem, answer in answers]
    passed = [one for one in judged if one.passed]
    return used_s() - before, len(passed), sum("tests-inside" not in one.marks for one in passed)


def their_verdict(peer: str, code: str, tests: str) -> str:
    """That of ``untrusted_check``, which puts its own package in place of the script that calls it."""
    return their_check(peer, code, tests)


def bigcodebench(programs: Programs, peers: Path) -> int:
    """How many pass by ``untrusted_check``, in a process of a pool."""
    peer = str((peers / "bigcode-project+bigcodebench").resolve())
    with ProcessPoolExecutor(1) as pool, tempfile.TemporaryDirectory() as folder:
        pool.submit(os.chdir, folder).result()
        pool.submit(their_verdict, peer, "x = 1", "class TestCases: pass").result()
        sources = [(f"{task.prefix}\n    pass\n{program}", task.tests) for _, task, program in programs]
        return sum(pool.submit(their_verdict, peer, *one).result() == "pass" for one in sources)


def driven(name: str, cases: list[tuple[object, str]], peers: Path) -> int:
    """How many pass by a harness that a driver of the parity tests runs."""
    asked = json.dumps({"cases": cases, "rows": [], "checkout": ""})
    words = [sys.executable, DRIVERS / f"drive_{name}.py", peers.resolve()]
    said = subprocess.run(words, input=asked, text=True, capture_output=True, check=True).stdout
    results = [one["results"] for one in json.loads(said.splitlines()[-1])["answers"]]
    return sum(bool(one) and all(each in (True, "success") for each in one) for one in results)


def plain(programs: Programs) -> int:
    """How many pass by pytest, in a process and a folder each."""
    passed, environment = 0, {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for _, task, program in programs:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, f"{task.module}.py").write_text(program)
            Path(folder, "test_it.py").write_text(task.tests)
            words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
            run = subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False)
            passed += run.returncode == 0
    return passed


def replies(programs: Programs, known: Callable[[str], object]) -> list[tuple[object, str]]:
    """What drivers ask: a problem as the harness knows it, and a reply."""
    return [(known(problem.id), f"```python\n{program}\n```") for problem, _, program in programs]


def evaluator(name: str, peers: Path, data: Path) -> Callable[[Programs], int]:
    """The harness' own."""
    if name == "bigcodebench":
        return lambda programs: bigcodebench(programs, peers)
    if name == "classeval":
        rows = {row["task_id"]: row for row in json.loads(data.read_text())}
        return lambda programs: driven(name, replies(programs, lambda one: rows[one.replace("/", "_")]), peers)
    if name == "cweval":
        return lambda programs: driven(name, replies(programs, lambda one: one.partition("/")[2]), peers)
    return plain


def main() -> None:
    """Print a line a side and kind of program, and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark")
    parser.add_argument("peers", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--problems", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--alone", action="store_true", help="without the harness' own evaluator")
    given = parser.parse_args()
    arguments = {"packages": "installed"} if given.benchmark == "bigcodebench" else {}
    found = load_benchmark(given.benchmark, given.data, arguments).problems
    count = min(given.problems, len(found))
    problems = [found[(2 * place + 1) * len(found) // (2 * count)] for place in range(count)]
    tasks = [(problem, problem.task) for problem in problems if isinstance(problem.task, SuiteTask)]
    kinds = {
        "reference": [(problem, task, task.reference) for problem, task in tasks],
        "returns None": [(problem, task, nothing(task)) for problem, task in tasks],
    }
    theirs = evaluator(given.benchmark, given.peers, given.data)
    with Sandbox(limits_for(open_profile("strict"), problems), workers=1) as sandbox:
        ahead_s, _, _ = ours(kinds["reference"], sandbox)
        print(
            json.dumps({"problems": len(tasks), "found_ahead_cpu_s": round(ahead_s / len(tasks), 3)}), flush=True
        )
        for kind, programs in [each for each in kinds.items() for _ in range(given.rounds)]:
            our_s, passed, outside = ours(programs, sandbox)
            row: dict[str, object] = {"program": kind, "ours_cpu_s": round(our_s / len(tasks), 3)}
            row |= {"passed": passed, "outside": outside}
            if not given.alone:
                times = [used_s()]
                theirs([])
                times.append(used_s())
                row["theirs_passed"] = theirs(programs)
                their_s = used_s() - 2 * times[1] + times[0]
                row |= {"theirs_cpu_s": round(their_s / len(tasks), 3), "ratio": round(our_s / their_s, 2)}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
