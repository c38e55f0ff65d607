"""Suites of unit tests of BigCodeBench under `strict`, beside the harness' own evaluator in one run.

    python -m bench suite_costs PEERS DATA [--problems 40] [--rounds 3] [--alone]
    python -m bench suite_costs PEERS DATA --coverage

DATA is BigCodeBench's file. PEERS holds the checkout ``bigcode-project+bigcodebench`` at 47eff25. Each side grades
the references and, apart, programs that return None, one after the other, of the problems whose reference passes
under `strict`. What is found once a problem (with its reference) and what a side starts with are left out. The
second form runs nothing: it counts how the suites that were graded before are judged.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import types
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from bench.rounds import Cost, Way, compare, cost_of, parser, table
from truegrade.benchmarks import load_benchmark
from truegrade.grading.judgement import Judgement
from truegrade.grading.suite_grading import left_in
from truegrade.grading.suite_reference import ReferencesShown
from truegrade.pipeline.verdicts import limits_for
from truegrade.profiles import open_profile
from truegrade.records import Answer, Problem, SuiteTask
from truegrade.sandbox import Sandbox
from truegrade.sandbox.levels import detect

LIMITS = (30 * 1024, 30 * 1024, 10)
"""Address space, data and stack in MiB, as ``bigcodebench.evaluate`` has them."""


class Program(NamedTuple):
    """A problem and a program that is graded."""

    problem: Problem
    task: SuiteTask
    text: str


def nothing(task: SuiteTask) -> str:
    """A program of the asked name that does nothing."""
    return f"def {task.entry_point}(*given, **named):\n    return None\n"


def judged(programs: Sequence[Program], sandbox: Sandbox) -> list[Judgement]:
    """What strict says of each."""
    profile = open_profile("strict")
    return [profile.judgement(one.problem, Answer(value=one.text, found="given"), sandbox) for one in programs]


def their_verdict(peer: str, code: str, tests: str) -> str:
    """That of BigCodeBench's ``untrusted_check``, as ``bigcodebench.evaluate --execution local`` calls it."""
    if peer not in sys.path:
        sys.path.insert(0, peer)
        package = sys.modules["bigcodebench"] = types.ModuleType("bigcodebench")
        package.__path__ = [f"{peer}/bigcodebench"]
    evaluation = import_module("bigcodebench.eval")
    return str(evaluation.untrusted_check(code, tests, "task_func", *LIMITS, 1, 20)[0])


def bigcodebench(programs: Sequence[Program], peers: Path) -> tuple[Cost, int]:
    """What programs cost by ``untrusted_check``, in a process of a pool, and how many pass."""
    peer, verdicts = str((peers / "bigcode-project+bigcodebench").resolve()), []
    with ProcessPoolExecutor(1) as pool, tempfile.TemporaryDirectory() as folder:
        pool.submit(os.chdir, folder).result()
        pool.submit(their_verdict, peer, "x = 1", "class TestCases: pass").result()

        def all_of_them() -> None:
            for _, task, text in programs:
                source = f"{task.prefix}\n    pass\n{text}"
                verdicts.append(pool.submit(their_verdict, peer, source, task.tests).result())

        return cost_of(all_of_them), verdicts.count("pass")


def coverage(problems: Sequence[Problem]) -> Counter[str]:
    """Of the suites whose references were run before, how many are judged outside and inside."""
    kept, found, level = ReferencesShown(), Counter[str](), detect().level
    for problem in problems:
        assert isinstance(problem.task, SuiteTask)
        shown = kept.known(left_in(problem.task), problem.packages, level=level)
        found["not graded yet" if shown is None else "outside" if shown.outside else "inside"] += 1
    return found


def main() -> None:
    """Print rows for each kind of program."""
    parsed = parser(__doc__, rounds=3, workers=None)
    parsed.add_argument("peers", type=Path)
    parsed.add_argument("data", type=Path)
    parsed.add_argument("--problems", type=int, default=40)
    parsed.add_argument("--alone", action="store_true", help="without the harness' own evaluator")
    parsed.add_argument("--coverage", action="store_true")
    given = parsed.parse_args()
    found = load_benchmark("bigcodebench", given.data, {"packages": "installed"}).problems
    if given.coverage:
        print(json.dumps(coverage(found)))
        return
    count, passing = min(given.problems, len(found)), dict[str, int]()
    problems = [found[(2 * place + 1) * len(found) // (2 * count)] for place in range(count)]
    every = [Program(one, one.task, one.task.reference) for one in problems if isinstance(one.task, SuiteTask)]
    with Sandbox(limits_for(open_profile("strict"), problems)) as sandbox, table():
        right = [one for one, said in zip(every, judged(every, sandbox), strict=True) if said.passed]

        def compared(kind: str, programs: Sequence[Program]) -> None:
            def ours() -> None:
                passing[f"{kind}, strict"] = sum(said.passed for said in judged(programs, sandbox))

            def theirs() -> Cost:
                cost, passing[f"{kind}, harness"] = bigcodebench(programs, given.peers)
                return cost

            ways: dict[str, Way] = {"strict": ours} | ({} if given.alone else {"harness": theirs})
            work = f"{len(programs)} of bigcodebench: {kind}"
            compare(work, ways, given.rounds, amount=len(programs), warm=False)

        compared("references", right)
        compared("programs that return None", [one._replace(text=nothing(one.task)) for one in right])
    print(f"passing: {passing}")
