"""`blog`: the pipeline of "Replicating Paper Performance Part 1", NotAlvin/NotAlvin.github.io @d884b6b."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from truegrade import prompts
from truegrade.errors import UserError
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.function_scope import cut_fence, grade_in_function_scope
from truegrade.profiles.harness_runs import FunctionProfile
from truegrade.prompts.making import origin
from truegrade.records import Answer, Completion, FunctionTask, Message, Problem, Prompt, Reason
from truegrade.sandbox import Limits

_SHOTS = ("HumanEval/0", "HumanEval/1")

NOTEBOOK_IMPORTS = ("import copy", "import json", "import time")
"""Modules of the standard library that the notebook's own code uses; answers find them without importing."""


class Blog(FunctionProfile):
    """Five answers a task, the last def of the test in front of each, executed in a notebook's function."""

    name, version = "blog", "d884b6b"
    current = False
    takes = "program"
    only = MappingProxyType({"function": ("humaneval",)})
    limits = Limits(cpu_s=10.0)
    scores_shots = ("humaneval",)
    reported = ("first_sample", "any_correct", "all_solutions")
    own_file = "blog"

    def ask(self, task: FunctionTask, problem: Problem, examples: Mapping[str, Problem]) -> Prompt:
        """The post's system and user message. Its shots are scored, see `defects`."""
        first, second = (_shot(examples, name) for name in _SHOTS)
        user = prompts.render(
            "blog.programmer.user",
            shot1_prompt=first.prompt,
            shot1_solution=_solution(first),
            shot2_prompt=second.prompt,
            shot2_solution=_solution(second),
            prompt=task.prompt,
        )
        system = prompts.render("agentcoder.programmer.system")
        messages = (Message(role="system", content=system), Message(role="user", content=user))
        return Prompt(messages=messages, source=origin("blog.programmer.user"), shots=_SHOTS)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Cut the first Python fence out; an answer that defines nothing is dropped."""
        given = completion.form == "program"
        read = super().extract(problem, completion)
        found = "as given" if given else read.found
        if "def " not in (read.value or ""):
            return Answer(value=None, found=f"{found}; dropped: no def", reason=Reason.NO_CODE)
        return Answer(value=read.value, found=found)

    def read(self, task: FunctionTask, reply: str) -> Answer:
        """The first Python fence."""
        code, found = cut_fence(reply)
        return Answer(value=code, found=found)

    def kept(self, completion: Completion, answer: Answer) -> str:
        """What stood in the fence, a def in it or not: answers are dropped only when they are scored."""
        text = completion.text or ""
        return text if completion.form == "program" else cut_fence(text)[0]

    def program(self, task: FunctionTask, answer: Answer) -> str:
        """The last def of the test, the answer, and the check of its first def."""
        code = answer.value or ""
        name = code.split("def ")[1].split("(", maxsplit=1)[0].strip()
        return f"{last_def(task)}\n\n{code}\n\ncheck({name})"

    def run(self, source: str, executor: Executor) -> Judgement:
        """In function scope."""
        return grade_in_function_scope(source, NOTEBOOK_IMPORTS, executor)


def last_def(task: FunctionTask) -> str:
    """The data set's test from its last ``def`` on."""
    test = task.tests.removesuffix(f"\ncheck({task.entry_point})")
    return "def " + test.split("def ")[-1].strip()


def _shot(examples: Mapping[str, Problem], name: str) -> FunctionTask:
    task = examples[name].task if name in examples else None
    if not isinstance(task, FunctionTask):
        raise UserError(f"the blog's prompt shows {', '.join(_SHOTS)}, which this data set lacks; use 'humaneval'")
    return task


def _solution(shot: FunctionTask) -> str:
    """The canonical body, as the data set stores it."""
    return shot.reference.removeprefix(shot.prompt)
