"""Hardened tests beside the inputs of the extended benchmark, on the same wrong programs that neither has seen.

    python -m bench assay_hardening mbpp-sanitized JOURNAL [--data FOLDER] [--limit 120]

JOURNAL is the ``.journal.jsonl`` that ``truegrade assay harden mbpp-sanitized --seed 1 --out …`` left. Printed are
the wrong mutants of the held-out half that the benchmark's own tests accept, how many of them each suite still
accepts, the number of tests, and the CPU seconds of the references. Mutants that do not end are left out.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from truegrade.apps.assay.building import reference_of
from truegrade.apps.assay.hardening_forms import with_tests
from truegrade.apps.assay.hardening_problem import HardenedProblem, HardeningOptions, HardeningWork
from truegrade.apps.assay.input_domain import find_companions
from truegrade.apps.assay.oracle import build_oracle
from truegrade.apps.assay.running import LABEL_LIMITS
from truegrade.benchmarks import load_benchmark
from truegrade.grading.judgement import Judgement
from truegrade.profiles import open_profile
from truegrade.records import Answer, OracleTask, Problem
from truegrade.sandbox import Sandbox
from truegrade.statistics import wilson
from truegrade.store.journal import read_journal

SUITES = ("own", "hardened", "extended")
STRICT = open_profile("strict")


def main() -> None:
    """Print the table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("benchmark")
    asked.add_argument("journal", type=Path)
    asked.add_argument("--data", type=Path)
    asked.add_argument("--limit", type=int)
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    loaded = load_benchmark(given.benchmark, given.data)
    companions = find_companions(given.benchmark, loaded.problems, given.data, print)
    lines = {line.problem_id: line for line in read_journal(given.journal, HardenedProblem)}
    total: Counter[str] = Counter()
    with Sandbox(LABEL_LIMITS, workers=1) as sandbox:
        for problem in loaded.problems[: given.limit]:
            extended, line = companions.get(problem.id), lines.get(problem.id)
            if extended is not None and line is not None and line.tests:
                total.update(compared(problem, extended, line, given.seed, sandbox))
    held = total["held-out"]
    for name in SUITES:
        low, high = wilson(total[name], held)
        print(
            f"{name:9} accepts {total[name]:4} of {held} held-out wrong mutants, {100 * total[name] / held:.1f} %"
            f" [{100 * low:.1f}, {100 * high:.1f}]; tests added {total[f'{name} tests']:6};"
            f" CPU of the references {total[f'{name} CPU'] / 1000:.2f} s"
        )


def compared(
    problem: Problem, extended: Problem, line: HardenedProblem, seed: int, sandbox: Sandbox
) -> Counter[str]:
    """One problem: how many held-out mutants each suite accepts, its tests, and milliseconds of the reference."""
    found: Counter[str] = Counter()
    oracle = build_oracle(problem, extended, sandbox, generated=400, seed=seed)
    if isinstance(oracle, str) or not isinstance(extended.task, OracleTask):
        return found
    suites = {"own": problem, "hardened": with_tests(problem, line.tests, line.comparator), "extended": extended}
    programs = HardeningWork(problem, oracle, HardeningOptions(seed=seed), sandbox).held_out
    survivors = [code for code in programs if _judged(suites["own"], code, sandbox).passed]
    found["held-out"] = len(programs)
    for name in SUITES:
        found[name] = sum(_judged(suites[name], code, sandbox).passed for code in survivors)
        found[f"{name} CPU"] = round(1000 * (_judged(suites[name], reference_of(problem), sandbox).cpu_s or 0.0))
    found["hardened tests"] = len(line.tests)
    found["extended tests"] = len(extended.task.base_inputs) + len(extended.task.plus_inputs)
    return found


def _judged(problem: Problem, code: str, sandbox: Sandbox) -> Judgement:
    return STRICT.judgement(problem, Answer(value=code, found="", form="program"), sandbox)
