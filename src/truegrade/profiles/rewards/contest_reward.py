"""What the rewards made of LiveCodeBench's grader share: fences, and no run without one."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec

from truegrade.grading.contests.harness import grade_as
from truegrade.grading.contests.tests import Tests, UndecodableTests, decode
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.base import Rule
from truegrade.profiles.contest_profile import ContestProfile, contest_task, timed
from truegrade.profiles.livecodebench_prompts import official_prompt
from truegrade.records import Answer, Completion, ContestTask, Problem, Prompt, Reason

PROMPT = Rule("prompt", "LiveCodeBench's words, system and user message: the reward has none of its own", "ours")
SHARED_DEFECTS = (
    "tests share the candidate's process: a program that reaches them is paid (marks tests-inside, tampering)",
    "a program can write the list that carries the results: not reproduced, such a program is not paid here",
    "state of the module, the class and the one object survives from test to test",
    "an exit code never fails; SystemExit ends a stdin program's test well and a functional one's process",
    "no memory limit (here 4 GiB)",
)
NO_TEST = "the reward refuses a problem without tests"
_BLOCK = re.compile(r"```(?:\w+)?\n(.*?)```", re.DOTALL)


def no_error(error: str) -> dict[str, Any]:
    """The metadata of a process that died: these rewards keep none."""
    return {}


def last_block(reply: str) -> str | None:
    """The last block whose opening fence has nothing but a word behind it, stripped; None where there is none.

    rllm-org/rllm@9beb6e0 ``rllm/rewards/code_reward.py`` and NovaSky-AI/SkyRL@a956457
    ``skyrl-gym/skyrl_gym/envs/lcb/livecodebench.py`` ``extract_code_from_model``.
    """
    blocks = _BLOCK.findall(reply)
    return blocks[-1].strip() if blocks else None


class ContestReward(ContestProfile):
    """A trainer's reward on contest problems."""

    current: ClassVar[bool] = False
    needs_a_test: ClassVar[bool] = True
    """Whether the reward raises where there is no test."""

    def render_contest(self, task: ContestTask) -> Prompt:
        """LiveCodeBench's words."""
        return official_prompt(task)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Cut the program out of a reply; one that holds none is paid nothing."""
        contest_task(self, problem)
        text = completion.text or ""
        if completion.form in ("program", "answer"):
            return Answer(value=text, found="as given: a whole program")
        code = self.block(text)
        if code is None:
            return Answer(value=None, found="no program by the reward's rule", reason=Reason.NO_CODE)
        return Answer(value=code, found="by the reward's rule")

    def cut(self, reply: str) -> str:
        """The program in a reply; empty where there is none."""
        return self.block(reply) or ""

    def block(self, reply: str) -> str | None:
        """The program in a reply; None where the reward pays nothing without a run."""
        return last_block(reply)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Whether the reward is full; these rewards write no more than that number of a sample."""
        try:
            tests = decode(contest_task(self, problem))
        except UndecodableTests as error:
            return Judgement(reason=Reason.GRADER_ERROR, detail=str(error))
        if self.needs_a_test and not tests.inputs:
            return Judgement(reason=Reason.GRADER_ERROR, detail=NO_TEST)
        judged = self.graded(answer.value or "", tests, executor)
        return msgspec.structs.replace(judged, harness=None)

    def graded(self, code: str, tests: Tests, executor: Executor) -> Judgement:
        """All tests in one process."""
        return grade_as(timed(self.harness, self), code, tests, executor)
