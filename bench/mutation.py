"""All mutants of real programs, traced in the jail: how long it takes, and where the time goes.

    python -m bench mutation DATA_FOLDER [--programs 110] [--workers 2]

The programs are those of QuixBugs with literal inputs, and the longest of MBPP whose tests are calls with literal
results; up to three cases each. Prints programs, lines, mutants, kinds of outcome, and seconds.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from truegrade.builders.mutation.file import mutate_rows
from truegrade.builders.mutation.mutants import MutationOptions
from truegrade.builders.mutation.preserving import REWRITINGS
from truegrade.datasets.executions import ExecutionRow
from truegrade.sandbox import Limits, Sandbox

CASES = 3
OFFICIAL_RANGE = range(11, 511)
"""MBPP's test split."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--programs", type=int, default=110)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    quixbugs, mbpp = list(_quixbugs(asked.data)), list(_mbpp(asked.data))
    mbpp.sort(key=lambda row: (-row.code.count("\n"), row.id))
    rows = [*quixbugs, *mbpp][: asked.programs]
    lines = [sum(1 for line in row.code.splitlines() if line.strip()) for row in rows]
    print(f"{len(rows)} programs, {statistics.mean(lines):.1f} lines on average, {min(lines)} to {max(lines)}")
    with Sandbox(Limits(memory_bytes=1 << 30), asked.workers, allow_unsafe=True) as sandbox:
        print(f"{asked.workers} workers, protection level {sandbox.level}")
        list(mutate_rows(rows[:2], MutationOptions(), sandbox))  # so that no first start is measured
        for name, options in {
            "coverage": MutationOptions(),
            "all, with rewritings": MutationOptions(select="all", preserve=tuple(REWRITINGS)),
            "published, first": MutationOptions(operators=("published",), select="first"),
        }.items():
            _measure(name, rows, options, sandbox, asked.workers)


def _measure(
    name: str, rows: list[ExecutionRow], options: MutationOptions, sandbox: Sandbox, workers: int
) -> None:
    start_s, start = time.monotonic(), os.times()
    made = list(mutate_rows(rows, options, sandbox, workers=workers))
    wall_s, end = time.monotonic() - start_s, os.times()
    own_s = end.user + end.system - start.user - start.system
    by_row = {str(row.id).partition("/")[0]: row.metadata["mutation"] for row in made if row.metadata}
    kinds: Counter[str] = Counter()
    for facts in by_row.values():
        kinds.update(facts.get("mutants", {}))
    best = [row.mutation_info for row in made if row.mutation_info]
    print(f"\n{name}: {kinds.total()} mutants in {wall_s:.1f} s, {own_s:.1f} s of CPU in this process")
    print(f"  {kinds.total() / wall_s:.0f} mutants/s; {dict(kinds.most_common())}")
    print(f"  {len(best)} rows with a mutant, {Counter(info.mutation_type for info in best).most_common()}")
    print(f"  mean similarity of lines {statistics.mean(info.coverage_similarity or 0 for info in best):.3f}")
    for identity, facts in by_row.items():
        if "reason" in facts:
            print(f"  {identity}: {facts['reason']}")


def _quixbugs(folder: Path) -> Iterator[ExecutionRow]:
    for line in (folder / "quixbugs.jsonl").read_text().splitlines():
        item: dict[str, Any] = json.loads(line)
        if item["test_kind"] != "json" or item["name"] in {"knapsack", "levenshtein"}:
            continue  # these two have tests that take minutes
        calls = [f"{item['name']}({', '.join(map(repr, inputs))})" for inputs, _ in item["tests"][:CASES]]
        yield from _row(item["name"], item["name"], item["correct"], calls)


def _mbpp(folder: Path) -> Iterator[ExecutionRow]:
    for line in (folder / "mbpp.jsonl").read_text().splitlines():
        item: dict[str, Any] = json.loads(line)
        calls = []
        for test in item["test_list"][:CASES]:
            match ast.parse(test).body:
                case [ast.Assert(test=ast.Compare(left=ast.Call(func=ast.Name()) as call, ops=[ast.Eq()]))]:
                    calls.append(call)
        if item["task_id"] in OFFICIAL_RANGE and calls and len({ast.unparse(call.func) for call in calls}) == 1:
            texts = [ast.unparse(call) for call in calls]
            yield from _row(f"mbpp{item['task_id']}", ast.unparse(calls[0].func), item["code"], texts)


def _row(name: str, function: str, code: str, calls: list[str]) -> Iterator[ExecutionRow]:
    """A row with the outputs that the program gives; none if it gives no literals. The programs are trusted."""
    try:
        outputs = []
        for call in calls:
            namespace: dict[str, Any] = {}
            exec(code, namespace)
            outputs.append(repr(eval(call, namespace)))
            ast.literal_eval(outputs[-1])
    except (ValueError, SyntaxError, NameError, TypeError):
        return
    yield ExecutionRow(id=name, function_name=function, code=code, input=tuple(calls), output=tuple(outputs))
