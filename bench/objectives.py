"""What scoring a repair costs: linters and line counts, per program.

    python -m bench objectives QUIXBUGS [--rounds 5]

QUIXBUGS is the file or a checkout. CPU milliseconds of this process for the linters; wall milliseconds for
counting lines, which happens in the jail.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from truegrade.apps.evolve.objectives import CostMeter
from truegrade.apps.evolve.roles import repair_of
from truegrade.benchmarks import load_benchmark
from truegrade.extraction.parsing import Fault, parse_module
from truegrade.grading.static_findings import Linter
from truegrade.sandbox import Limits, Sandbox


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    problems = load_benchmark("quixbugs", options.data).problems
    programs = [program for p in problems for program in (repair_of(p).buggy, repair_of(p).reference)]
    trees = [(program, tree) for program in programs if not isinstance(tree := parse_module(program), Fault)]

    linter = Linter()
    linter.check(trees[0][1], trees[0][0])  # so that no first use is measured
    started = time.process_time()
    for _ in range(options.rounds):
        for program, tree in trees:
            linter.check(tree, program)
    lint_ms = 1e3 * (time.process_time() - started) / options.rounds / len(trees)

    meter, passed = CostMeter(), [True] * 100
    with Sandbox(Limits(), workers=1) as jail:
        for problem in problems:  # references are counted once
            meter.cost(problem, repair_of(problem).reference, passed, jail)
        started = time.perf_counter()
        for problem in problems:
            meter.cost(problem, repair_of(problem).reference, passed, jail)
        count_ms = 1e3 * (time.perf_counter() - started) / len(problems)
    print(f"{len(trees)} programs, load {os.getloadavg()[0]:.1f}")
    print(f"flake8 and bandit   {lint_ms:6.2f} ms of CPU a program")
    print(f"lines counted       {count_ms:6.1f} ms a program, all its tests")
