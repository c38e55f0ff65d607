"""What trainers' rewards share: those made of LiveCodeBench's grader, and those without words of their own."""

from __future__ import annotations

import re
from abc import abstractmethod

import msgspec

from truegrade.extraction.blocks import spans
from truegrade.grading.contests.harness import grade_as
from truegrade.grading.contests.tests import Tests, UndecodableTests, decode
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.grading.tests_forms import put_tests
from truegrade.kinds import kind_of
from truegrade.profiles.base import Profile, covered_task
from truegrade.profiles.contest_profile import ContestProfile, timed
from truegrade.profiles.livecodebench import official_prompt
from truegrade.records import Answer, Completion, ContestTask, FunctionTask, Problem, Prompt, Reason

# ---------------------- What the rewards made of LiveCodeBench's grader share: fences, and no run without one.


NO_TEST = "the reward refuses a problem without tests"
_OPENING = re.compile(r"```(?:\w+)?\n")


def last_block(reply: str) -> str | None:
    """The last block whose opening fence has nothing but a word behind it, stripped; None where there is none.

    rllm-org/rllm@9beb6e0 ``rllm/rewards/code_reward.py``, for all its data sets, and NovaSky-AI/SkyRL@a956457
    ``skyrl-gym/skyrl_gym/envs/lcb/livecodebench.py`` ``extract_code_from_model``.
    """
    found = spans(reply, _OPENING, "```")
    return found[-1].strip() if found else None


class ContestReward(ContestProfile):
    """A trainer's reward on contest problems."""

    current = False
    needs_a_test = True
    """Whether the reward raises where there is no test."""

    def render_contest(self, task: ContestTask) -> Prompt:
        """LiveCodeBench's words."""
        return official_prompt(task)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Cut the program out of a reply; one that holds none is paid nothing."""
        covered_task(self, problem, ContestTask)
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
            tests = decode(covered_task(self, problem, ContestTask))
        except UndecodableTests as error:
            return Judgement(reason=Reason.GRADER_ERROR, detail=str(error))
        if self.needs_a_test and not tests.inputs:
            return Judgement(reason=Reason.GRADER_ERROR, detail=NO_TEST)
        judged = self.graded(answer.value or "", tests, executor)
        return msgspec.structs.replace(judged, harness=None)

    def graded(self, code: str, tests: Tests, executor: Executor) -> Judgement:
        """All tests in one process."""
        return grade_as(timed(self.harness, self), code, tests, executor)


# ----------------------------------------------------------------------------------------------------------------
# What the trainers' rewards share that have no words of their own: they grade replies to whatever was asked.


NO_TESTS = Judgement(reason=Reason.GRADER_ERROR, detail="the problem has no tests")
"""Where the trainer pays 0 or stops: nothing is known of the program."""


class StrictWorded(Profile):
    """A reward: it takes a program out of a reply, and never words a problem."""

    takes = "program"

    @abstractmethod
    def cut(self, reply: str) -> str | None:
        """The program in a reply; None where the trainer pays nothing because it finds none."""

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """What the trainer runs; a program that was already cut out as it is."""
        self.kind(problem)
        text = completion.text or ""
        if completion.form != "reply":
            return Answer(value=text, found="as given: a whole program")
        code = self.cut(text)
        if code is None:
            return Answer(value=None, found="no block that the trainer reads", reason=Reason.NO_CODE)
        return Answer(value=code, found="as the trainer cuts it")


def contest_tests(task: ContestTask) -> Tests | Judgement:
    """The tests of a contest problem, or what is said where there are none to be had."""
    try:
        tests = decode(task)
    except UndecodableTests as error:
        return Judgement(reason=Reason.GRADER_ERROR, detail=str(error))
    return tests if tests.inputs else NO_TESTS


def assert_tests(problem: Problem, task: FunctionTask) -> list[str]:
    """The tests of a function as the data sets of asserts hold them; one source where they are more than that."""
    found = put_tests(problem.id, kind_of(task).tests(task), "asserts")
    return [f"{task.setup}\n{task.tests}"] if found.why_not else list(found.tests)
