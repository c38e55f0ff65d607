"""Rows of published data sets as labels, and as rows of `truegrade.benchmarks.own_rows`."""

from __future__ import annotations

import ast
import gzip
import json
import re
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

from bench.assay_grading import Labelled
from bench.snapshots import Snapshot
from truegrade.builders.mutation.mutants import MutationOptions, mutants_of, normalised

HUMANEVALPACK = "evaluation/create/humaneval-x/data/python/data/humanevalpack.jsonl"
"""In bigcode-project/octopack@e17a8f6."""
LEETCODE = {
    "test": "data/LeetCodeDataset-v0.3.1-test.jsonl.gz",
    "train": "data/LeetCodeDataset-v0.2.0-train.jsonl.gz",
}
"""In newfacade/LeetCodeDataset@182cd19."""
BIGCODEBENCH = "data/BigCodeBench.jsonl.gz"
"""In bigcode-project/bigcodebench-annotation@a3b8985."""
_INFINITY = "from math import inf\n\n"
"""What expected values mention; the set has it in its prompt, that is on the program's side."""
_MENTIONED = re.compile(r"\binf\b")
_METHOD = re.compile(r"Solution\(\)\.(\w+)")


def rows_of(snapshot: Snapshot, path: str) -> list[dict[str, Any]]:
    """JSON Lines, compressed or not.

    Raises:
        OSError: the snapshot lacks the file.
    """
    content = snapshot.read(path)
    if content is None:
        raise OSError(f"{snapshot.path} holds no {path}")
    text = (gzip.decompress(content) if path.endswith(".gz") else content).decode("utf-8")
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def uses(source: str, name: str, *, called: bool = False) -> bool:
    """Whether source names a function, or calls it; what is no Python (examples of HumanEval/115) does not."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:
        return False
    found = [node.func for node in nodes if isinstance(node, ast.Call)] if called else nodes
    return any(isinstance(node, ast.Name) and node.id == name for node in found)


# -------------------------------------------------------------------------------------------- HumanEvalPack


def humanevalpack(rows: list[dict[str, Any]]) -> Iterator[Labelled]:
    """The program of each row with its bug, and without."""
    for row in rows:
        problem = row["task_id"].replace("Python/", "HumanEval/")
        for field, label, kind in (
            ("buggy_solution", "wrong", row["bug_type"]),
            ("canonical_solution", "right", "canonical"),
        ):
            program = row["declaration"] + row[field]
            yield Labelled(problem=problem, program=program, label=label, source=f"humanevalpack: {kind}")


def mutants(rows: list[dict[str, Any]], count: int) -> Iterator[Labelled]:
    """So many mutants of each canonical program, drawn by the problem's id."""
    for row in rows:
        problem = row["task_id"].replace("Python/", "HumanEval/")
        code = normalised(row["declaration"] + row["canonical_solution"])
        made = mutants_of(code, MutationOptions())
        for each in Random(problem).sample(made, min(count, len(made))):
            yield Labelled(problem=problem, program=each.code, label="wrong", source=f"mutant: {each.operator}")


def example_rows(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """HumanEval's problems with the examples of their prompts for tests, as HumanEvalPack has them.

    Its bugs were chosen to fail HumanEval's own tests, so only weaker ones can say how often bugs pass.
    """
    for row in rows:
        name = row["entry_point"]
        tests = row["example_test"]
        if uses(tests, name, called=True):
            yield {
                "id": row["task_id"].replace("Python/", "HumanEval/"),
                "prompt": row["prompt"],
                "entry_point": name,
                "tests": tests,
                "reference": row["prompt"] + row["canonical_solution"],
            }


# ----------------------------------------------------------------------------------------- LeetCodeDataset


def leetcode_row(row: dict[str, Any]) -> dict[str, Any]:
    """A problem whose solution is ``class Solution`` and a function of the method's name that calls it.

    The function makes a new object for each call, as LeetCode does. Helpers for lists and trees, which the set has
    in its prompt, stand in the reference; the tests use them there.

    Raises:
        ValueError: the entry point is no method of Solution.
    """
    method = _METHOD.fullmatch(row["entry_point"])
    if method is None:
        raise ValueError(f"{row['task_id']}: the entry point {row['entry_point']!r} is no method of Solution")
    name = method[1]
    head = _INFINITY if _MENTIONED.search(row["test"]) else ""
    call = f"\n\ndef {name}(*args, **kwargs):\n    return Solution().{name}(*args, **kwargs)\n"
    return {
        "id": row["task_id"],
        "prompt": row["query"],
        "entry_point": name,
        # A method may be called `check`, too.
        "tests": f"{head}{row['test'].replace('def check(', 'def run_tests(', 1).rstrip()}\n\nrun_tests({name})\n",
        "reference": f"{row['prompt'].rstrip()}\n\n{row['completion'].rstrip()}{call}",
        "tags": {"difficulty": row.get("difficulty") or row["meta"]["difficulty"]},
    }


# -------------------------------------------------------------------------------------------- BigCodeBench


_RUN = """

_result = unittest.TestResult()
unittest.defaultTestLoader.loadTestsFromTestCase(TestCases).run(_result)
assert _result.testsRun and _result.wasSuccessful(), [str(what) for what in _result.failures + _result.errors]
"""


def needs_only_the_standard_library(row: dict[str, Any]) -> bool:
    """Whether the set names no other library for a task; its tests may still import one."""
    libraries = row["libs"] if isinstance(row["libs"], list) else ast.literal_eval(row["libs"])
    return all(each.partition(".")[0] in sys.stdlib_module_names for each in libraries)


def bigcodebench_row(row: dict[str, Any]) -> dict[str, Any]:
    """A problem whose tests are a suite of `unittest`, run to its end and asserted to succeed."""
    return {
        "id": row["task_id"],
        "prompt": row["prompt"],
        "entry_point": row["entry_point"],
        "tests": f"import unittest\n{row['test'].rstrip()}{_RUN}",
        "reference": row["prompt"] + row["canonical_solution"],
    }
