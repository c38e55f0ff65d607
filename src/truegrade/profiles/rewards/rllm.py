"""`rllm-lcb`, `rllm-humanevalplus` and `rllm-kodcode`: the rewards of rllm-org/rllm @9beb6e0."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from operator import eq
from typing import Any, ClassVar

from truegrade.grading.contests.harness import Harness
from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE, expected_outputs
from truegrade.grading.joined_tests import with_joined
from truegrade.grading.judgement import Judgement
from truegrade.grading.programs import base_imports, statements, without_main_block
from truegrade.grading.tests_forms import CannotPut, calls_in, put_tests
from truegrade.grading.trials import ScriptTest, as_file, first_failure, script_trials
from truegrade.kinds import Context, kind_of
from truegrade.profiles.base import Way, covered_task
from truegrade.profiles.contest_profile import CONTEST_LIMITS, GUARD, OFFICIAL_RULES, no_metadata
from truegrade.profiles.harness_runs import with_tests
from truegrade.profiles.rewards.reward_profiles import ContestReward, StrictWorded, last_block
from truegrade.records import Answer, FunctionTask, OracleTask, Problem, Reason
from truegrade.sandbox import Limits

# ----------- `rllm-lcb`: the reward of rLLM for every data set with inputs and outputs, rllm-org/rllm@9beb6e0.


_NAMES = {
    "itertools": "accumulate chain combinations count cycle groupby islice pairwise permutations product repeat"
    " zip_longest",
    "copy": "deepcopy",
    "string": "ascii_lowercase ascii_uppercase",
    "math": "atan2 ceil comb factorial floor gcd inf isqrt log log10 log2 pi prod sqrt",
    "collections": "Counter OrderedDict defaultdict deque",
    "bisect": "bisect_left bisect_right insort",
    "heapq": "heapify heappop heappush heapreplace merge nlargest nsmallest",
    "functools": "cache cmp_to_key lru_cache partial reduce",
    "random": "randrange shuffle",
    "operator": "iand itemgetter or_ sub xor",
    "os.path": "commonprefix",
    "time": "time",
    "typing": "Any Callable Deque Dict Generator Iterable Iterator List Optional Set Tuple Union",
}
_MODULES = "bisect collections copy datetime functools heapq io itertools math operator os random re string sys"
PREAMBLE = (
    "".join(f"from {module} import {', '.join(names.split())}\n" for module, names in _NAMES.items())
    + "from re import search as re_search\n"
    + "".join(f"import {module}\n" for module in _MODULES.split())
    + "import numpy as np\nimport pandas as pd\n"
)
"""The names that rLLM puts in front of a program, ``rllm/rewards/code_utils/utils.py`` ``BASE_IMPORTS``; SkyRL's
are the same."""


def all_equal_true(results: list[Any]) -> bool:
    """Whether every result equals True."""
    return all(result == True for result in results)  # noqa: E712 - as there: 1.0 and numpy's True are equal to it


RULES = OFFICIAL_RULES | {
    "world": "string",
    "int_digits": 4300,
    "disabled": [name for name in GUARD if name != "os.putenv"],
    "module": "rllm.rewards.code_utils.livecodebench",
    "preamble": PREAMBLE,
}
WITH_PANDAS = replace(CONTEST_LIMITS, packages=("numpy", "pandas"))
"""Where pandas is installed, a program can name it; where it is not, ``pd`` is no name."""


class RllmLcb(ContestReward):
    """``RewardCodeFn`` with ``lcb_check_correctness_v2``."""

    name = "rllm-lcb"
    version = "9beb6e0"
    limits = WITH_PANDAS
    harness = Harness(rules=RULES, added_s=5.0, runner_error=no_metadata, passes=all_equal_true)


# ------------------- `rllm-humanevalplus`: rewards of data source ``humanevalplus`` in rllm-org/rllm @9beb6e0.


PER_TEST_S = 1.0


def _judge_looped(problem: Problem, task: FunctionTask, answer: Answer, context: Context) -> Judgement:
    """One script with the calls as a HumanEval+ row has its own."""
    try:
        return _run_timed(answer.value or "", _looped(task), context)
    except CannotPut as why:
        return Judgement(reason=Reason.GRADER_ERROR, detail=f"{problem.id}: {why}")


def _judge_plus(problem: Problem, task: OracleTask, answer: Answer, context: Context) -> Judgement:
    """One script with the row's own tests."""

    def grade(tests: str) -> Judgement:
        return _run_timed(answer.value or "", tests, context)

    return with_tests(problem, context.kept(expected_outputs), context.executor, grade)


def _run_timed(code: str, tests: str, context: Context) -> Judgement:
    """Program and tests, whose time is that of the tests."""
    count = _inputs(tests)
    if not count:
        return Judgement(reason=Reason.TIME_LIMIT, detail="no list of inputs, and so no time", cpu_s=0.0)
    source = f"{without_main_block(code)}\n\n{tests}\n\n"
    script = as_file(f"\n{base_imports(source)}\n\n{source}", "solution.py")
    trials = script_trials([script], eq, context.executor, cpu_s=context.cpu_s(PER_TEST_S * count))
    return with_joined(first_failure(trials, 1, marks=(TESTS_INSIDE,)), source, tests)


class RllmHumanevalplus(StrictWorded):
    """Program and tests in one script, judged by its exit code."""

    name = "rllm-humanevalplus"
    version = "9beb6e0"
    ways: ClassVar[Mapping[str, Way]] = {
        "function": Way(judge=_judge_looped),
        "description": Way(judge=_judge_looped),
        "oracle": Way(judge=_judge_plus),
    }
    limits = Limits(cpu_s=60.0, processes=16, packages=("numpy", "pandas"))

    def cut(self, reply: str) -> str | None:
        """The last fence."""
        return last_block(reply)


def _looped(task: FunctionTask) -> str:
    """A function's calls as a HumanEval+ row has its own.

    Raises:
        CannotPut: its tests are more than that.
    """
    cases = calls_in(kind_of(task).tests(task), None)
    inputs, results = [list(case.arguments) for case in cases], [case.expected for case in cases]
    return (
        "def assertion(out, exp, atol):\n    assert out == exp\n\ndef check(candidate):\n"
        f"    inputs = {inputs!r}\n    results = {results!r}\n"
        "    for i, (inp, exp) in enumerate(zip(inputs, results)):\n"
        f"        assertion(candidate(*inp), exp, 0)\n\ncheck({task.entry_point})\n"
    )


def _inputs(tests: str) -> int:
    """Length of the last list that a test program assigns to ``inputs``; 0 where there is none."""
    found = [
        node.value
        for node in ast.walk(ast.Module(statements(tests), []))
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "inputs" for target in node.targets)
    ]
    return len(found[-1].elts) if found and isinstance(found[-1], ast.List) else 0


# ------------------------------- `rllm-kodcode`: rewards of data source ``kodcode`` in rllm-org/rllm @9beb6e0.


KODCODE_TEST_S = 5.0
_RUNNER = """import os, sys
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
with open("solution.py", "w", encoding="utf-8") as file:
    file.write(sys.stdin.read())
import pytest
sys.exit(pytest.main(["--maxfail=1", "--no-header", os.path.abspath("solution.py")]))
"""


class RllmKodcode(StrictWorded):
    """Program and tests in one module that pytest runs."""

    name = "rllm-kodcode"
    version = "9beb6e0"
    covers = ("function", "description")
    limits = Limits(cpu_s=60.0, processes=16, packages=("numpy", "pandas", "pytest"))

    def cut(self, reply: str) -> str | None:
        """The last fence."""
        return last_block(reply)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Run pytest on program and tests."""
        task = covered_task(self, problem, FunctionTask)
        put = put_tests(problem.id, kind_of(task).tests(task), "pytest")
        if put.why_not:
            return Judgement(reason=Reason.GRADER_ERROR, detail=put.why_not)
        tests = put.tests
        module = code = without_main_block(answer.value or "")
        if "pytest" not in code:
            body = f"import pytest\n\n{code}\n\n{tests}\n"
            module = f'\n{base_imports(body)}{body}\nif __name__ == "__main__":\n    pytest.main([__file__])\n'
        limit_s = self.cpu_s(KODCODE_TEST_S * tests.count("def test"))
        trials = script_trials([ScriptTest(source=_RUNNER, stdin=module)], eq, executor, cpu_s=limit_s)
        return with_joined(first_failure(trials, 1, marks=(TESTS_INSIDE,)), module, tests)
