"""What the trainers' rewards share that have no words of their own: they grade replies to whatever was asked."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from truegrade.grading.contests.tests import Tests, UndecodableTests, decode
from truegrade.grading.judgement import Judgement
from truegrade.grading.tests_forms import tests_of
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule, Takes, unsupported
from truegrade.profiles.base import has_rules as covers_kind
from truegrade.profiles.refusals import check_variant
from truegrade.profiles.strict_prompts import render_prompt
from truegrade.records import Answer, Completion, ContestTask, FunctionTask, Problem, Prompt, Reason
from truegrade.records.kinds import problem_kind

STRICT_WORDS = Rule("prompt", "none of its own: the data set's rows hold it; here the words of `strict`", "ours")
NO_TESTS = Judgement(reason=Reason.GRADER_ERROR, detail="the problem has no tests")
"""Where the trainer pays 0 or stops: nothing is known of the program."""


class StrictWorded(Profile):
    """A reward: it takes a program out of a reply, and never words a problem."""

    takes: ClassVar[Takes] = "program"

    @abstractmethod
    def cut(self, reply: str) -> str | None:
        """The program in a reply; None where the trainer pays nothing because it finds none."""

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The words of `strict`."""
        check_variant(self, variant)
        refuse_other(self, problem)
        return render_prompt(problem, None, examples)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """What the trainer runs; a program that was already cut out as it is."""
        refuse_other(self, problem)
        text = completion.text or ""
        if completion.form != "reply":
            return Answer(value=text, found="as given: a whole program")
        code = self.cut(text)
        if code is None:
            return Answer(value=None, found="no block that the trainer reads", reason=Reason.NO_CODE)
        return Answer(value=code, found="as the trainer cuts it")


def refuse_other(profile: Profile, problem: Problem) -> None:
    """Refuse a problem that the reward has no rules for.

    Raises:
        UserError: it has none.
    """
    if not covers_kind(profile, problem_kind(problem.task), problem.benchmark):
        raise unsupported(profile, problem)


def contest_tests(task: ContestTask) -> Tests | Judgement:
    """The tests of a contest problem, or what is said where there are none to be had."""
    try:
        tests = decode(task)
    except UndecodableTests as error:
        return Judgement(reason=Reason.GRADER_ERROR, detail=str(error))
    return tests if tests.inputs else NO_TESTS


def assert_tests(problem: Problem, task: FunctionTask) -> list[str]:
    """The tests of a function as the data sets of asserts hold them; one source where they are more than that."""
    found = tests_of(problem, "asserts")
    return [f"{task.setup}\n{task.tests}"] if found.why_not else list(found.tests)
