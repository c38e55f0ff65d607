"""Solve a contest problem: a program on stdin and stdout, or a method; every test in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Literal

import msgspec

from truegrade.extraction.contest_programs import extract_contest_program
from truegrade.extraction.programs import extract_program
from truegrade.grading.contests.tests import Tests, UndecodableTests, decode, stored_text
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.kinds.base import Context, Kind, ShownPart, UpstreamField
from truegrade.kinds.code import whole_program
from truegrade.prompts.making import RenderPrompt, chat
from truegrade.records import Answer, Completion, ContestTask, FileSpan, Problem, Prompt, Reason


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

    def entry_point(self, task: ContestTask) -> str | None:
        """The method."""
        return task.function

    def tests(self, task: ContestTask) -> Tests | str:
        """Texts and outputs, public ones first; or why they cannot be decoded."""
        try:
            return decode(task)
        except UndecodableTests as error:
            return str(error)

    def with_tests(self, task: ContestTask, tests: Tests) -> ContestTask:
        """Others, all public."""
        rows = zip_longest(tests.inputs, tests.outputs, tests.or_outputs)
        texts = [{"input": given, "output": output} | ({"or_output": other} if other else {})
                 for given, output, other in rows]  # fmt: skip
        return msgspec.structs.replace(task, public_tests=json.dumps(texts), private_tests="[]")

    def public(self, task: ContestTask) -> ContestTask:
        """Without its private tests."""
        return msgspec.structs.replace(task, private_tests="[]")

    def refusal(self, task: ContestTask) -> tuple[str, str] | None:
        """Tests that are elsewhere, or that could unpack to more than somebody else may ask for."""
        if isinstance(task.private_tests, FileSpan):
            return "private_tests", "a request cannot name files of this machine"
        if not task.private_tests.lstrip().startswith("["):
            return "private_tests", "send private tests as JSON text, a list; packed ones are not taken"
        return None

    def carried(self, task: ContestTask) -> ContestTask:
        """Its private tests may lie in the data set's file."""
        if isinstance(task.private_tests, str):
            return task
        return msgspec.structs.replace(task, private_tests=stored_text(task.private_tests))

    def judge(self, problem: Problem, task: ContestTask, answer: Answer, context: Context) -> Judgement:
        """Every test in a process of its own; tests that cannot be decoded are the grader's fault."""
        from truegrade.grading.contests.separate import grade_separately  # which others would wait for

        tests = self.tests(task)
        if isinstance(tests, str):
            return Judgement(reason=Reason.GRADER_ERROR, detail=tests)
        return grade_separately(answer.value or "", tests, context.executor)

    def count(self, problem: Problem, task: ContestTask, answer: Answer, context: Context) -> TestCount | None:
        """The problem's tests."""
        from truegrade.grading.contests.separate import count_passed

        tests = self.tests(task)
        return None if isinstance(tests, str) else count_passed(answer.value or "", tests, context.executor)

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
