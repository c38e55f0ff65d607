"""CPU seconds a problem for suites of unit tests under `strict`, beside the harness' own evaluator in one run.

    python bench/suite_costs.py BENCHMARK PEERS DATA [--problems 40] [--rounds 1] [--alone]

BENCHMARK is `bigcodebench`, `classeval`, `cweval` or `polyglot-python`, DATA its file or checkout. PEERS holds the
checkouts ``bigcode-project+bigcodebench``, ``FudanSELab+ClassEval`` (whose runner needs func_timeout) and
``Co1lin+CWEval`` (pytest-timeout); the exercises are run by plain pytest in a process each, as by Aider. Each
side grades the references and, apart, programs that return None, of the problems whose reference passes under
`strict`. CPU is that of all processes of a side, zygotes and judges included; what is found once a problem (our
controls) and what a side starts with are left out. With rounds, each problem's share is the mean of its rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from bigcodebench import their_check  # beside this script
from truegrade.benchmarks import load_benchmark
from truegrade.grading.judgement import Judgement
from truegrade.pipeline.verdicts import limits_for
from truegrade.profiles import open_profile
from truegrade.records import Answer, Problem, SuiteTask
from truegrade.sandbox import Sandbox, worker

CHUNK = 8
"""Problems that both sides grade before the other kind of program is looked at, and others are."""
DRIVERS = Path(__file__).parent.parent / "tests" / "profiles"
Programs = list[tuple[Problem, SuiteTask, str]]
Found = list[tuple[float, bool]]
"""Of each program CPU seconds, and whether it passes."""


class Row(NamedTuple):
    """A program: CPU seconds of either side, and what became of it."""

    ours_s: float
    theirs_s: float
    passed: bool
    outside: bool
    theirs_passed: bool


def used_s() -> float:
    """CPU seconds of this process and of all below it, so far."""
    return worker.cpu_s([os.getpid(), *worker.descendants(os.getpid())])


def nothing(task: SuiteTask) -> str:
    """A program of the asked name that does nothing."""
    if f"class {task.entry_point}" in task.reference:
        return f"class {task.entry_point}:\n    def __init__(self, *given):\n        pass\n"
    return f"def {task.entry_point}(*given, **named):\n    return None\n"


def ours(programs: Programs, sandbox: Sandbox) -> list[tuple[float, Judgement]]:
    """Of each program CPU seconds and judgement."""
    profile, found = open_profile("strict"), []
    for problem, _, program in programs:
        before = used_s()
        judged = profile.judgement(problem, Answer(value=program, found="given"), sandbox)
        found.append((used_s() - before, judged))
    return found


def their_verdict(peer: str, code: str, tests: str) -> str:
    """That of ``untrusted_check``, which puts its own package in place of the script that calls it."""
    return their_check(peer, code, tests)


def bigcodebench(programs: Programs, peers: Path) -> Found:
    """By ``untrusted_check``, in a process of a pool."""
    peer, found = str((peers / "bigcode-project+bigcodebench").resolve()), []
    with ProcessPoolExecutor(1) as pool, tempfile.TemporaryDirectory() as folder:
        pool.submit(os.chdir, folder).result()
        pool.submit(their_verdict, peer, "x = 1", "class TestCases: pass").result()
        for _, task, program in programs:
            before = used_s()
            source = f"{task.prefix}\n    pass\n{program}"
            verdict = pool.submit(their_verdict, peer, source, task.tests).result()
            found.append((used_s() - before, verdict == "pass"))
    return found


def driven(name: str, cases: list[tuple[object, str]], peers: Path) -> Found:
    """By a harness that a driver of the parity tests runs, each reply in a fork of it."""
    asked = json.dumps({"cases": cases, "rows": [], "checkout": ""})
    words = [sys.executable, DRIVERS / f"drive_{name}.py", peers.resolve()]
    said = subprocess.run(words, input=asked, text=True, capture_output=True, check=True).stdout
    return [
        (one["cpu_s"], bool(one["results"]) and {*one["results"]} <= {True, "success"})
        for one in json.loads(said.splitlines()[-1])["answers"]
    ]


def plain(programs: Programs) -> Found:
    """By pytest, in a process and a folder each."""
    found, environment = [], {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for _, task, program in programs:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, f"{task.module}.py").write_text(program)
            Path(folder, "test_it.py").write_text(task.tests)
            before = used_s()
            words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
            run = subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False)
            found.append((used_s() - before, run.returncode == 0))
    return found


def replies(programs: Programs, known: Callable[[str], object]) -> list[tuple[object, str]]:
    """What drivers ask: a problem as the harness knows it, and a reply."""
    return [(known(problem.id), f"```python\n{program}\n```") for problem, _, program in programs]


def evaluator(name: str, peers: Path, data: Path) -> Callable[[Programs], Found]:
    """The harness' own."""
    if name == "bigcodebench":
        return lambda programs: bigcodebench(programs, peers)
    if name == "classeval":
        rows = {row["task_id"]: row for row in json.loads(data.read_text())}
        return lambda programs: driven(name, replies(programs, lambda one: rows[one.replace("/", "_")]), peers)
    if name == "cweval":
        return lambda programs: driven(name, replies(programs, lambda one: one.partition("/")[2]), peers)
    return plain


def shares(rounds: list[list[float]]) -> list[float]:
    """Of each program the mean CPU seconds of all rounds."""
    return [statistics.fmean(one) for one in zip(*rounds, strict=True)]


def compared(
    programs: Programs, sandbox: Sandbox, theirs: Callable[[Programs], Found] | None, rounds: int
) -> list[Row]:
    """Both sides' shares of each program."""
    our = [ours(programs, sandbox) for _ in range(rounds)]
    their = [theirs(programs) for _ in range(rounds)] if theirs else [[(0.0, False) for _ in programs]]
    our_s = shares([[cpu_s for cpu_s, _ in one] for one in our])
    their_s = shares([[cpu_s for cpu_s, _ in one] for one in their])
    return [
        Row(ours, theirs, judged.passed, judged.passed and "tests-inside" not in judged.marks, passes)
        for ours, theirs, (_, judged), (_, passes) in zip(our_s, their_s, our[-1], their[-1], strict=True)
    ]


def said(kind: str, rows: list[Row]) -> str:
    """Means of all programs of a kind so far, the ratio of these, and the median and largest of the ratios."""
    row: dict[str, object] = {"program": kind, "problems": len(rows)}
    row |= {"ours_cpu_s": round(statistics.fmean(one.ours_s for one in rows), 4)}
    row |= {"theirs_cpu_s": round(statistics.fmean(one.theirs_s for one in rows), 4)}
    row |= {name: sum(getattr(one, name) for one in rows) for name in ("passed", "outside", "theirs_passed")}
    ratios = sorted(one.ours_s / one.theirs_s for one in rows if one.theirs_s)
    if ratios:
        row["ratio"] = round(sum(one.ours_s for one in rows) / sum(one.theirs_s for one in rows), 2)
        row |= {"median": round(statistics.median(ratios), 2), "largest": [round(one, 1) for one in ratios[-5:]]}
    return json.dumps(row)


def main() -> None:
    """Print a line for each kind of program after every few problems."""
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
    tasks = [one for start in range(CHUNK) for one in tasks[start::CHUNK]]  # each few are of the whole set
    theirs = None if given.alone else evaluator(given.benchmark, given.peers, given.data)
    rows: dict[str, list[Row]] = {"reference": [], "returns None": []}
    with Sandbox(limits_for(open_profile("strict"), problems)) as sandbox:
        for start in range(0, len(tasks), CHUNK):
            some = tasks[start : start + CHUNK]
            ahead = ours([(problem, task, task.reference) for problem, task in some], sandbox)
            some = [one for one, (_, judged) in zip(some, ahead, strict=True) if judged.passed]
            for kind, done in rows.items():
                programs = [(*one, one[1].reference if kind == "reference" else nothing(one[1])) for one in some]
                done.extend(compared(programs, sandbox, theirs, given.rounds) if programs else [])
                print(said(kind, done), flush=True)


if __name__ == "__main__":
    main()
