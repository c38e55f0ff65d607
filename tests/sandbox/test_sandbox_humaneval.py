"""Every HumanEval reference passes, with the tests outside and inside; every empty body fails."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from truegrade.sandbox import Limits, Sandbox


@pytest.fixture(scope="module")
def problems(humaneval_file):
    with gzip.open(humaneval_file, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def judge(sandbox, problem, body):
    name = problem["entry_point"]
    return sandbox.judge(
        problem["prompt"] + body,
        f"{problem['test']}\ncheck({name})",
        [name],
        trusted=problem["prompt"] + "\n    pass\n",
    )


def inside(sandbox, problem, body):
    name = problem["entry_point"]
    return sandbox.inside(f"{problem['prompt']}{body}\n{problem['test']}\ncheck({name})")


@pytest.mark.slow
@pytest.mark.parametrize("mode", [judge, inside])
def test_references_pass(problems, mode):
    with Sandbox(Limits(cpu_s=5), workers=2, allow_unsafe=True) as sandbox, ThreadPoolExecutor(2) as threads:
        outcomes = list(threads.map(lambda p: mode(sandbox, p, p["canonical_solution"]), problems))
    assert len(outcomes) == 164
    failed = {p["task_id"]: o for p, o in zip(problems, outcomes, strict=True) if o.status != "passed"}
    assert failed == {}


@pytest.mark.parametrize("mode", [judge, inside])
def test_empty_bodies_fail(problems, mode):
    with Sandbox(Limits(cpu_s=5), workers=2, allow_unsafe=True) as sandbox, ThreadPoolExecutor(2) as threads:
        outcomes = list(threads.map(lambda p: mode(sandbox, p, "    pass\n"), problems[::10]))
    assert {o.status for o in outcomes} <= {"wrong_answer", "runtime_error"}
