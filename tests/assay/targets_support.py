"""Problems, probes and graders for the tests of foreign targets."""

from __future__ import annotations

from typing import Any

from truegrade.assay.records import Danger, Dispatch, Probe, Said, probe_id
from truegrade.assay.targets.base import Target
from truegrade.records import Case, CasesTask, FunctionTask, Problem

RIGHT = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return a - b\n"
RAISES = "def add(a, b):\n    raise ValueError(a)\n"
EQUAL_TO_ALL = (
    "class Any:\n    def __eq__(self, other):\n        return True\n\ndef add(a, b):\n    return Any()\n"
)

LEAKY = '''
"""Believes what the program itself says: the tests run in its namespace."""
import json

def reward(program, tests):
    space = {}
    try:
        exec(program, space)
        for test in tests:
            exec(test, space)
    except Exception:
        return 0.0
    return 1.0
'''
HONEST = '''
"""Compares text that the program did not make."""
import ast, os, subprocess, sys

def reward(program, tests):
    for test in tests:
        call, wanted = ast.unparse(ast.parse(test).body[0].test).split(" == ")
        source = program + f"\\nprint(repr({call}))\\n"
        done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=20)
        if done.returncode or done.stdout.strip() != wanted:
            return 0.0
    return 1.0
'''


def add_problem(number: int = 0) -> Problem:
    """Add two numbers."""
    tests = "assert add(1, 2) == 3\nassert add(0, -4) == -4"
    task = FunctionTask(prompt="Add two numbers.", entry_point="add", tests=tests, reference=RIGHT)
    return problem_of(task, f"add/{number}")


def cases_problem(*cases: tuple[tuple[Any, ...], Any]) -> Problem:
    """A function with calls as tests."""
    made = tuple(Case(arguments=arguments, expected=expected) for arguments, expected in cases)
    return problem_of(CasesTask(entry_point="f", buggy="", reference="", cases=made), "f")


def problem_of(task: Any, name: str) -> Problem:
    """A problem of a set that nobody published."""
    return Problem(id=name, benchmark="own", dataset_sha256="0", cluster=name, task=task)


def sending(code: str, *, danger: Danger = "h0", problem: Problem | None = None, **more: Any) -> Dispatch:
    """A program on its way."""
    problem = problem or add_problem()
    kind = more.pop("kind", "mutant")
    probe = Probe(
        id=probe_id(problem.id, kind, "own", code), problem_id=problem.id, kind=kind, origin="own", code=code,
        label=more.pop("label", "wrong"), danger=danger, **more,
    )  # fmt: skip
    return Dispatch(probe=probe, problem=problem)


def asked(target: Target, *sent: Dispatch) -> list[Said]:
    """What it says, once it is closed."""
    try:
        return list(target.grade(sent))
    finally:
        target.close()


def verdicts(said: list[Said]) -> list[bool | None]:
    """Passed, refused, or no verdict."""
    return [one.passed for one in said]
