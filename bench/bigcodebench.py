"""BigCodeBench: references graded under `strict` beside its own evaluator, turn by turn, on the same two cores.

    python bench/bigcodebench.py PEERS DATA [--problems 60] [--rounds 3] [--cores 2]
    python bench/bigcodebench.py PEERS DATA --coverage

The second form runs nothing: it counts how the suites that were graded before are judged.

PEERS holds a checkout ``bigcode-project+bigcodebench`` at 47eff25, DATA the pinned file. In every round each side
grades all the chosen problems, with as many workers as cores: ours in the jail with its control runs, theirs by
``untrusted_check`` in a pool of processes, as ``bigcodebench.evaluate --execution local`` calls it. What is found
once for each problem is found ahead of the rounds and counted apart: our controls. Their own first step, which
times every reference, is left out. Beside wall times the CPU seconds of both sides are compared, those of their
children included: on a machine that others use they vary less.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import types
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

from truegrade.benchmarks import load_benchmark
from truegrade.grading.judgement import Judgement
from truegrade.grading.suite_controls import ControlsKept
from truegrade.grading.suite_grading import left_in
from truegrade.pipeline.verdicts import limits_for
from truegrade.profiles import Profile, open_profile
from truegrade.records import Answer, Problem, SuiteTask
from truegrade.sandbox import Sandbox
from truegrade.sandbox.levels import detect

LIMITS = (30 * 1024, 30 * 1024, 10)
"""Address space, data and stack in MiB, as ``bigcodebench.evaluate`` has them."""


def chosen(data: Path, count: int) -> list[Problem]:
    """Problems spread evenly over the data set, of those that can be run here."""
    found = load_benchmark("bigcodebench", data, {"packages": "installed"}).problems
    return [found[(2 * place + 1) * len(found) // (2 * count)] for place in range(count)]


def their_check(peer: str, code: str, tests: str) -> str:
    """The harness' verdict on a program, in a process of its pool."""
    if peer not in sys.path:
        sys.path.insert(0, peer)
        package = sys.modules["bigcodebench"] = types.ModuleType("bigcodebench")
        package.__path__ = [f"{peer}/bigcodebench"]
    evaluation = import_module("bigcodebench.eval")
    return str(evaluation.untrusted_check(code, tests, "task_func", *LIMITS, 1, 20)[0])


def theirs(peer: Path, problems: list[Problem], cores: int) -> tuple[float, float, int]:
    """Wall and CPU seconds for all the problems, and how many pass."""
    before = os.times()
    with ProcessPoolExecutor(cores) as pool, tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        list(pool.map(their_check, [str(peer)] * cores, ["x = 1"] * cores, ["class TestCases: pass"] * cores))
        start = time.perf_counter()
        checks = [pool.submit(their_check, str(peer), *_sources(problem)) for problem in problems]
        passed = sum(check.result() == "pass" for check in checks)
        taken = time.perf_counter() - start
        os.chdir("/")
    after = os.times()  # the pool is gone, and with it all that it has waited for
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return taken, used, passed


def _sources(problem: Problem) -> tuple[str, str]:
    task = problem.task
    assert isinstance(task, SuiteTask)
    return f"{task.prefix}\n    pass\n{task.reference}", task.tests


def ours(problems: list[Problem], cores: int, sandbox: Sandbox, profile: Profile) -> tuple[float, float, int]:
    """The same for `strict`; CPU seconds of programs and of this process."""
    start, own = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(cores) as pool:
        judged = list(pool.map(lambda problem: _judged(problem, sandbox, profile), problems))
    used = time.process_time() - own + sum(one.cpu_s or 0.0 for one in judged)
    return time.perf_counter() - start, used, sum(one.passed for one in judged)


def _judged(problem: Problem, sandbox: Sandbox, profile: Profile) -> Judgement:
    task = problem.task
    assert isinstance(task, SuiteTask)
    return profile.judgement(problem, Answer(value=task.reference, found="given"), sandbox)


def coverage(data: Path) -> dict[str, int]:
    """Of the suites whose controls are kept, how many are judged outside, with what chance, and inside."""
    kept, found = ControlsKept(), Counter[str]()
    level = detect().level
    for problem in load_benchmark("bigcodebench", data, {"packages": "installed"}).problems:
        assert isinstance(problem.task, SuiteTask)
        controls = kept.known(left_in(problem.task), problem.packages, level=level)
        if controls is None:
            found["not graded yet"] += 1
        elif controls.outside:
            found["outside"] += 1
        else:
            found["with a chance" if controls.chance < 1 else "without a chance"] += 1
            found["with a chance below 1e-4"] += controls.chance < 1e-4
    return dict(found)


def main() -> None:
    """Print a line a round and the median ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--problems", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--coverage", action="store_true")
    given = parser.parse_args()
    if given.coverage:
        print(json.dumps(coverage(given.data)))
        return
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: given.cores]))
    peer = (given.peers / "bigcode-project+bigcodebench").resolve()
    problems = chosen(given.data, given.problems)
    profile = open_profile("strict")
    with Sandbox(limits_for(profile, problems), workers=given.cores) as sandbox:
        seconds, _, passed = ours(problems, given.cores, sandbox, profile)
        print(f"ahead of the rounds: controls found and {passed} of {len(problems)} passed in {seconds:.1f} s")
        ratios = []
        for number in range(given.rounds):
            our_s, our_cpu_s, our_passed = ours(problems, given.cores, sandbox, profile)
            their_s, their_cpu_s, their_passed = theirs(peer, problems, given.cores)
            ratios.append(their_s / our_s)
            row = {
                "round": number, "ours_per_s": round(len(problems) / our_s, 2), "ours_passed": our_passed,
                "theirs_per_s": round(len(problems) / their_s, 2), "theirs_passed": their_passed,
                "ratio": round(ratios[-1], 2), "cpu_ratio": round(their_cpu_s / our_cpu_s, 2),
            }  # fmt: skip
            print(json.dumps(row), flush=True)
    print(f"median ratio {statistics.median(ratios):.2f} over {given.rounds} rounds, {given.cores} cores")


if __name__ == "__main__":
    main()
