"""A problem with some of its tests alone, for rewards that count no more."""

from __future__ import annotations

import ast
import json

from msgspec import structs

from truegrade.grading.contests.tests import decode
from truegrade.grading.programs import statements
from truegrade.grading.suites import is_test
from truegrade.records import CasesTask, ContestTask, FunctionTask, OracleTask, Problem, Task


def first_tests(problem: Problem, most: int) -> Problem:
    """The problem with its first tests alone; for counting, since a right answer passes all of them.

    Args:
        problem: whose kind has tests that can be counted; another is returned as it is.
        most: tests that are left, at least 1.

    Raises:
        UndecodableTests: the tests of a contest problem cannot be read.
        SyntaxError: those of a function are no Python.
    """
    # What is kept of a reference's outputs goes by this hash, and fewer inputs have fewer outputs.
    identity = f"{problem.dataset_sha256}:{most}"
    return structs.replace(problem, task=_shortened(problem.task, most), dataset_sha256=identity)


def _shortened(task: Task, most: int) -> Task:
    if isinstance(task, ContestTask):
        tests = decode(task)
        rows = [{"input": i, "output": o} for i, o in zip(tests.inputs[:most], tests.outputs[:most], strict=True)]
        return structs.replace(task, public_tests=json.dumps(rows), private_tests="[]")
    if isinstance(task, OracleTask):
        left = max(0, most - len(task.base_inputs))
        return structs.replace(task, base_inputs=task.base_inputs[:most], plus_inputs=task.plus_inputs[:left])
    if isinstance(task, CasesTask):
        return structs.replace(task, cases=task.cases[:most])
    if isinstance(task, FunctionTask):
        body = statements(task.tests)
        left_out = {id(node) for node in [node for node in body if is_test(node)][most:]}
        kept = [node for node in body if id(node) not in left_out]
        return structs.replace(task, tests=ast.unparse(ast.Module(kept, [])))
    return task
