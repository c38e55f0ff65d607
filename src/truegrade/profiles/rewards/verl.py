"""`verl-prime` and `verl-sandbox-fusion`: two rewards of verl-project/verl @1dda039."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from truegrade.grading.contests import Rules, prime
from truegrade.grading.contests.driver import import_string
from truegrade.grading.contests.harness import Harness, grade_as
from truegrade.grading.contests.tests import Tests, UndecodableTests, decode
from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.joined_tests import with_joined
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.trials import ScriptTest, as_file, first_failure, passed_of, script_trials, wrapped
from truegrade.profiles.base import covered_task
from truegrade.profiles.contest_profile import OFFICIAL_RULES, no_metadata, timed
from truegrade.profiles.harness_runs import RELIABILITY_GUARD
from truegrade.profiles.rewards.reward_profiles import (
    NO_TESTS,
    ContestReward,
    StrictWorded,
    assert_tests,
    contest_tests,
)
from truegrade.records import Answer, ContestTask, FunctionTask, Problem, Reason
from truegrade.sandbox import Limits

# ---------------------------------------- `verl-prime`: verl's reward `prime_code`, verl-project/verl@1dda039.


SHARED_BY = 10
"""Tests at the front whose share is paid where not all pass."""
_ALARM = "SIGALRM"
_OPENING, _FENCE = "```python", "```"
_LONGER, _LONG = 6, 1000
"""A right answer has at most so many times the characters of the expected text, and so many more."""


def _all_true(results: list[Any]) -> bool:
    return all(result is True for result in results)


def _right(text: str, wanted: str, *, stdin: bool) -> bool:
    """Whether an answer is right, seen from outside; keys of dictionaries are texts on both sides."""
    if stdin:
        return prime.right_output(text.splitlines(), wanted)
    if len(text) > _LONGER * len(wanted) + _LONG:
        return False
    try:
        got, expected = json.loads(text), json.loads(wanted)
    except (ValueError, RecursionError):
        return False
    first = expected[:1] if isinstance(expected, list) else [expected]
    return got == expected or got in first or (isinstance(got, list) and got == first)


_HARNESS = Harness(
    rules=OFFICIAL_RULES
    | {
        "world": "string",
        "timeout_s": 5.0,
        "announces_alarm": False,
        "int_digits": 4300,
        "disabled": [*RELIABILITY_GUARD, "sys.modules:subprocess", "sys.modules:ctypes"],
        "module": "verl.utils.reward_score.prime_code.testing_util",
        "preamble": import_string.replace("50000", "6*10**5"),
        "prime": True,
    },
    added_s=0.0,
    runner_error=no_metadata,
    passes=_all_true,
    right=_right,
    all_tests_s=6.0,
)


class VerlPrime(ContestReward):
    """``compute_score`` with ``continuous=True``, as ``default_compute_score`` calls it."""

    name = "verl-prime"
    version = "1dda039"
    needs_a_test = False
    harness = _HARNESS

    def block(self, reply: str) -> str | None:
        """The text of the last block of Python; a reply without fences is the program."""
        return reply.rsplit(_OPENING, maxsplit=1)[-1].split(_FENCE, maxsplit=1)[0]

    def graded(self, code: str, tests: Tests, executor: Executor) -> Judgement:
        """All tests in one process; where one fails, the first 10 again, to the first that fails."""
        judged = super().graded(code, tests, executor)
        if judged.reason is Reason.KILLED and _ALARM in judged.detail:
            judged = msgspec.structs.replace(judged, reason=Reason.TIME_LIMIT, time_sensitive=True)
        if judged.passed or not tests.inputs:
            return judged
        for one in self._alone(tests):
            again = grade_as(self._patient(), code, one, executor)
            if not again.passed:
                return judged
        return msgspec.structs.replace(
            again, detail="the first tests pass, each in a process of its own; all together they do not"
        )

    def tests_passed(self, problem: Problem, answer: Answer, executor: Executor) -> TestCount | None:
        """Of the first 10 tests, each in a process of its own: the share that a wrong program is paid."""
        try:
            tests = decode(covered_task(self, problem, ContestTask))
        except UndecodableTests:
            return None
        alone, code = self._alone(tests), answer.value or ""
        passed = sum(grade_as(self._patient(), code, one, executor).passed for one in alone)
        return TestCount(passed, len(alone)) if alone else None

    def _alone(self, tests: Tests) -> list[Tests]:
        """The first tests, each by itself; the function's name is lost on the way."""
        pairs = list(zip(tests.inputs, tests.outputs, strict=True))[:SHARED_BY]
        return [Tests(inputs=(given,), outputs=(wanted,), function=None) for given, wanted in pairs]

    def _patient(self) -> Harness:
        rules: Rules = {**_HARNESS.rules, "timeout_s": 10.0}
        return timed(msgspec.structs.replace(_HARNESS, rules=rules, all_tests_s=11.0), self)


# ----------------------------------------------------------------------------------------------------------------
# `verl-sandbox-fusion`: ``sandbox_fusion`` of verl-project/verl @1dda039, asked of bytedance/SandboxFusion.


TIMEOUT_S = 10.0
SCORED = 10
"""Tests at the front that count."""


class VerlSandboxFusion(StrictWorded):
    """One request a test: programs on standard input, functions by name, asserts."""

    name = "verl-sandbox-fusion"
    version = "1dda039"
    covers = ("function", "description", "contest")
    limits = Limits(cpu_s=TIMEOUT_S, wall_s=TIMEOUT_S + 1, processes=16)

    def cut(self, reply: str) -> str | None:
        """Behind the last python fence, else the first block."""
        if "```python" in reply:
            return reply.rpartition("```python")[2].partition("```")[0]
        if "```" not in reply:
            return None
        block = reply.split("```", 2)[1]
        first, newline, rest = block.partition("\n")
        return rest if newline and first.strip().isalpha() else block

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Passes where the first ten tests do."""
        scripts = self._scripts(problem, answer.value or "")
        if isinstance(scripts, Judgement):
            return scripts
        trials = script_trials(scripts, same_text, executor, cpu_s=self.cpu_s(TIMEOUT_S))
        task = problem.task
        if not isinstance(task, FunctionTask):
            return first_failure(trials, len(scripts))
        judged = first_failure(trials, len(scripts), marks=(TESTS_INSIDE,))
        # The same program stands before each test.
        return with_joined(judged, scripts[0].stdin, assert_tests(problem, task)[0])

    def tests_passed(self, problem: Problem, answer: Answer, executor: Executor) -> TestCount | None:
        """Of the first ten."""
        scripts = self._scripts(problem, answer.value or "")
        if isinstance(scripts, Judgement):
            return None
        return passed_of(script_trials(scripts, same_text, executor, cpu_s=self.cpu_s(TIMEOUT_S)))

    def _scripts(self, problem: Problem, code: str) -> list[ScriptTest] | Judgement:
        task = problem.task
        if isinstance(task, FunctionTask):
            asserts = assert_tests(problem, task)
            return [as_file(f"{code}\n\n{one}", "main.py") for one in asserts[:SCORED]] or NO_TESTS
        assert isinstance(task, ContestTask)  # what it covers
        tests = contest_tests(task)
        if isinstance(tests, Judgement):
            return tests
        source = f"{code}\n\n"
        source = source if tests.function is None else wrapped(source, tests.function)
        pairs = list(zip(tests.inputs, tests.outputs, strict=True))[:SCORED]
        return [ScriptTest(source=source, stdin=given, expected=wanted) for given, wanted in pairs]


def same_text(got: str, expected: str) -> bool:
    """Whether two outputs are the same but for newlines at their ends."""
    return got.rstrip("\n") == expected.rstrip("\n")
