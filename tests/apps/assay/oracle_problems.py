"""Small problems whose right answers are known, for the tests of the stronger oracle."""

from __future__ import annotations

from typing import Any

from truegrade.records import Case, CasesTask, FunctionTask, OracleTask, Problem, Task

CLAMP = "def clamp(values, top):\n    return [min(value, top) for value in values]\n"
CLAMP_CALLS = (([1, 5, 9], 4), ([2, 2], 7), ([], 3))


def problem(task: Task, problem_id: str = "own/1") -> Problem:
    return Problem(id=problem_id, benchmark="own", dataset_sha256="0" * 64, cluster=problem_id, task=task)


def clamp_problem(**changes: Any) -> Problem:
    """Asserts with plain values."""
    tests = "assert clamp([1, 5, 9], 4) == [1, 4, 4]\nassert clamp([2, 2], 7) == [2, 2]\nassert clamp([], 3) == []"
    given = {"prompt": "clamp", "entry_point": "clamp", "tests": tests, "reference": CLAMP, **changes}
    return problem(FunctionTask(**given))


def oracle_problem(reference: str, inputs: tuple[tuple[Any, ...], ...], **changes: Any) -> Problem:
    given = {"prompt": "", "entry_point": "f", "reference": reference, "base_inputs": inputs, **changes}
    return problem(OracleTask(**given))


def cases_problem(reference: str, cases: tuple[Case, ...], **changes: Any) -> Problem:
    return problem(CasesTask(entry_point="f", buggy="", reference=reference, cases=cases, **changes))
