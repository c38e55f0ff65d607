"""Solve a contest problem: a program on stdin and stdout, or a method; every test in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from truegrade.extraction.contest_programs import extract_contest_program
from truegrade.extraction.programs import extract_program
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.kinds.base import Context, Kind, ShownPart, UpstreamField
from truegrade.kinds.code import whole_program
from truegrade.prompts.making import RenderPrompt, chat
from truegrade.records import Answer, Completion, ContestTask, Problem, Prompt, Reason


class ContestKind(Kind[ContestTask]):
    """The starter code decides how a problem is worded, the function's name how it is judged."""

    task = ContestTask
    names = ("contest",)

    def shown(self, task: ContestTask) -> ShownPart:
        """The words."""
        return ShownPart(text=task.question)

    def prompts(self, task: ContestTask, examples: Mapping[str, Problem]) -> Mapping[str, RenderPrompt]:
        """LiveCodeBench's own words."""
        return {"default": lambda: question("lcb.official.chat.user", task, system="lcb.official.system")}

    def continues(self, task: ContestTask, prompt: Prompt) -> bool:
        """A program is whole."""
        return False

    def extract(self, task: ContestTask, completion: Completion) -> Answer:
        """The program in a reply; text that somebody already extracted is one."""
        text = completion.text or ""
        if completion.form in ("program", "answer"):
            return whole_program(completion)
        if task.function is None:
            return extract_contest_program(text)
        return extract_program(text, task.function, called_on="Solution")

    def reference(self, task: ContestTask) -> str | None:
        """A right program, where the data set has one."""
        return task.reference or None

    def judge(self, problem: Problem, task: ContestTask, answer: Answer, context: Context) -> Judgement:
        """Every test in a process of its own; tests that cannot be decoded are the grader's fault."""
        from truegrade.grading.contests.separate import grade_separately  # which others would wait for
        from truegrade.grading.contests.tests import UndecodableTests, decode

        try:
            tests = decode(task)
        except UndecodableTests as error:
            return Judgement(reason=Reason.GRADER_ERROR, detail=str(error))
        return grade_separately(answer.value or "", tests, context.executor)

    def count(self, problem: Problem, task: ContestTask, answer: Answer, context: Context) -> TestCount | None:
        """The problem's tests."""
        from truegrade.grading.contests.separate import count_passed
        from truegrade.grading.contests.tests import UndecodableTests, decode

        try:
            return count_passed(answer.value or "", decode(task), context.executor)
        except UndecodableTests:
            return None

    def learnable(self, task: ContestTask) -> tuple[str, ...]:
        """The words too, since few data sets hold programs."""
        return (*super().learnable(task), task.question)

    def upstream(self, task: ContestTask) -> Iterator[UpstreamField]:
        """The words."""
        yield "prompt", "question_content", task.question


def kind_of_prompt(task: ContestTask) -> Literal["functional", "stdin"]:
    """``functional`` or ``stdin``: the starter code decides how a problem is worded, not how it is graded."""
    return "functional" if task.starter_code else "stdin"


def question(prompt_id: str, task: ContestTask, *, system: str | None = None) -> Prompt:
    """A problem in the words of the text ``prompt_id`` and its kind."""
    values = {"question": task.question} | ({"starter": task.starter_code} if task.starter_code else {})
    return chat(f"{prompt_id}.{kind_of_prompt(task)}", values, system=system)


KIND = ContestKind()
"""The object that everything asks."""
