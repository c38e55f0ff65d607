"""`code-r1`: ``coder1`` of ganler/code-r1 @443f8da, executed by firejail."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from truegrade.extraction.blocks import spans
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.joined_tests import with_joined
from truegrade.grading.judgement import Judgement
from truegrade.grading.trials import ScriptTest, as_file, first_failure, script_trials
from truegrade.kinds import Context
from truegrade.profiles.base import Way
from truegrade.profiles.rewards.reward_profiles import StrictWorded, assert_tests, contest_tests
from truegrade.records import Answer, ContestTask, FunctionTask, Problem, Verdict
from truegrade.sandbox import Limits

TIMEOUT_S = 30.0
PASSED, FAILED, NO_ANSWER = 1.1, 0.1, -1.1
"""Rewards: where all pass; where one fails; where the format is wrong or there is no code."""
_OPENING = re.compile(r"```(?:\w+)?\n")
_THINK, _THOUGHT, _ANSWER, _ANSWERED = "<think>", "</think>", "<answer>", "</answer>"


def _judge_asserts(problem: Problem, task: FunctionTask, answer: Answer, context: Context) -> Judgement:
    """Program and tests in one script."""
    tests = "\n".join(assert_tests(problem, task))
    source = f"{answer.value or ''}\n{tests}"
    judged = _run([as_file(source, "main.py")], context, (TESTS_INSIDE,))
    return with_joined(judged, source, tests)


def _judge_streams(problem: Problem, task: ContestTask, answer: Answer, context: Context) -> Judgement:
    """A script a test."""
    found = contest_tests(task)
    if isinstance(found, Judgement):
        return found
    pairs = zip(found.inputs, found.outputs, strict=True)
    code = answer.value or ""
    return _run([ScriptTest(source=code, stdin=given, expected=wanted) for given, wanted in pairs], context)


def _run(scripts: Sequence[ScriptTest], context: Context, marks: tuple[str, ...] = ()) -> Judgement:
    trials = script_trials(scripts, same_stripped, context.executor, cpu_s=context.cpu_s(TIMEOUT_S))
    return first_failure(trials, len(scripts), marks=marks)


class CodeR1(StrictWorded):
    """Tests behind the program in one script, or a script a test of standard input."""

    name = "code-r1"
    version = "443f8da"
    ways: ClassVar[Mapping[str, Way]] = {
        "function": Way(judge=_judge_asserts),
        "description": Way(judge=_judge_asserts),
        "contest": Way(judge=_judge_streams),
    }
    scored = ("reward",)
    limits = Limits(cpu_s=TIMEOUT_S, wall_s=TIMEOUT_S + 1, processes=32, open_files=32, scratch_bytes=2 * 2**20)

    def cut(self, reply: str) -> str | None:
        """The fences of the last answer."""
        if not well_formed(reply):
            return None
        blocks = spans(spans(reply, _ANSWER, _ANSWERED)[-1].strip(), _OPENING, "\n```")
        return "\n".join(blocks).strip() or None

    def scores(self, verdict: Verdict) -> Mapping[str, float]:
        """The reward of an answer."""
        if verdict.passed:
            return {"reward": PASSED}
        return {"reward": NO_ANSWER if verdict.answer is None else FAILED}


def well_formed(reply: str) -> bool:
    """Whether ``<think>.*</think>.*<answer>.*</answer>$`` matches the stripped reply, found in linear time."""
    text = reply.strip()
    if not (text.startswith(_THINK) and text.endswith(_ANSWERED)):
        return False
    thought = text.find(_THOUGHT, len(_THINK))
    answer = text.find(_ANSWER, thought + len(_THOUGHT)) if thought >= 0 else -1
    return 0 <= answer <= len(text) - len(_ANSWER) - len(_ANSWERED)


def same_stripped(got: str, expected: str) -> bool:
    """Whether two outputs are the same but for blanks at their ends."""
    return got.strip() == expected.strip()
