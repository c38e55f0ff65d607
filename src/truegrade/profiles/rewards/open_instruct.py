"""`open-instruct`: ``CodeVerifier`` of allenai/open-instruct @e6c3044 and the service that it asks."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from truegrade.extraction.blocks import spans
from truegrade.grading.contests.harness import Harness, grade_as
from truegrade.grading.contests.tests import Tests
from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.trials import Trial, first_failure, passed_of
from truegrade.profiles.contest_profile import OFFICIAL_RULES, no_metadata, timed
from truegrade.profiles.harness_runs import RELIABILITY_GUARD
from truegrade.profiles.rewards.reward_profiles import StrictWorded, assert_tests, contest_tests
from truegrade.records import Answer, ContestTask, FunctionTask, Problem, Reason
from truegrade.sandbox import Limits

TIMEOUT_S = 1.0
"""Default of ``code_max_execution_time`` (``open_instruct/data_loader.py``)."""
_ADDED_S = 5.0
_OPENING = re.compile(r"```(?:python)?")
KEYWORDS = (
    *("threading", "multiprocess", "multiprocessing", "import os", "from os", "shutil", "import torch"),
    *("from torch", "import sklearn", "from sklearn"),
)
"""A program whose text has one of these is not run."""
GUARD = tuple(name for name in RELIABILITY_GUARD if name not in {"builtins.help", "os.kill", "os.fork"})
_LOADED = ("multiprocessing.util:_close_stdin", "multiprocessing.sharedctypes", "multiprocessing.heap")
"""What the service has imported before its guard takes functions out of `os`."""
_ASSERT = """
def run_individual_test_helper(func, test):
    execution_context = {{"__builtins__": __builtins__}}
    exec(func, execution_context)
    exec(test, execution_context)

def get_successful_tests_fast(program, tests, idx):
    run_individual_test_helper(program, tests[idx])

get_successful_tests_fast({program!r}, {tests!r}, {index})
"""
"""The frames above a program are the original's: it can find its tests in them."""


class _Stdio(Harness, frozen=True, kw_only=True):
    """LiveCodeBench's grader as copied there."""

    def limit_s(self, tests: int) -> float:
        """Seconds for the whole process."""
        return self.rules["timeout_s"] * tests + self.added_s


_HARNESS = _Stdio(
    rules=OFFICIAL_RULES
    | {
        "timeout_s": TIMEOUT_S,
        "int_digits": 4300,
        "disabled": [*GUARD, "sys.modules:numpy"],
        "forked": False,
        "module": "open_instruct.code_utils.testing_util",
    },
    added_s=_ADDED_S,
    runner_error=no_metadata,
)


class OpenInstruct(StrictWorded):
    """Asserts in a process each, or LiveCodeBench's grader for standard input; a list of words ahead of both."""

    name = "open-instruct"
    version = "e6c3044"
    covers = ("function", "description", "contest")
    limits = Limits(cpu_s=TIMEOUT_S, wall_s=2 * TIMEOUT_S, output_bytes=64 * 2**20)

    def cut(self, reply: str) -> str:
        """The last block, or everything."""
        found = spans(reply, _OPENING, "```")
        return found[-1].strip() if found else reply

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Passes where every test does."""
        code, tests = answer.value or "", _tests(problem)
        if isinstance(tests, Judgement):
            return tests
        if (word := next((one for one in KEYWORDS if one in code), None)) is not None:
            return Judgement(reason=Reason.WRONG_ANSWER, detail=f"never run: its text has {word!r}", cpu_s=0.0)
        if isinstance(tests, Tests):
            return self._read(code, tests, executor)
        return first_failure(self._asserted(code, tests, executor), len(tests), marks=(TESTS_INSIDE,))

    def tests_passed(self, problem: Problem, answer: Answer, executor: Executor) -> TestCount | None:
        """Every test is run by itself; none where the text has a word."""
        code, tests = answer.value or "", _tests(problem)
        if isinstance(tests, Judgement):
            return None
        if isinstance(tests, list):
            refused = any(word in code for word in KEYWORDS)
            return TestCount(0, len(tests)) if refused else passed_of(self._asserted(code, tests, executor))
        if any(word in code for word in KEYWORDS):
            return TestCount(0, len(tests.inputs))
        alone = [
            msgspec.structs.replace(tests, inputs=(given,), outputs=(wanted,))
            for given, wanted in zip(tests.inputs, tests.outputs, strict=True)
        ]
        return TestCount(sum(self._read(code, one, executor).passed for one in alone), len(alone))

    def _read(self, code: str, tests: Tests, executor: Executor) -> Judgement:
        read = msgspec.structs.replace(tests, function=None)
        # The service goes on behind a test that fails, and writes no results.
        return msgspec.structs.replace(grade_as(timed(_HARNESS, self), code, read, executor), harness=None)

    def _asserted(self, code: str, tests: list[str], executor: Executor) -> Iterator[Trial]:
        cpu_s = self.cpu_s(TIMEOUT_S)
        for index in range(len(tests)):
            source = _ASSERT.format(program=code, tests=tests, index=index)
            outcome = executor.inside(source, disabled=GUARD, preload=_preload(code), cpu_s=cpu_s)
            passed = outcome.status == Reason.PASSED
            yield outcome, None if passed else (Reason(outcome.status), outcome.detail)


def _tests(problem: Problem) -> list[str] | Tests | Judgement:
    """Asserts, or texts and outputs; or what is said where there are none."""
    task = problem.task
    if isinstance(task, ContestTask):
        return contest_tests(task)
    assert isinstance(task, FunctionTask)  # what it covers
    return assert_tests(problem, task)


def _preload(code: str) -> tuple[str, ...]:
    """What of the service's own imports a program has use for."""
    return _LOADED if re.search("tempfile|concurrent|__stdin__", code) else ()
