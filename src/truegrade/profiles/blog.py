"""`blog`: the pipeline of "Replicating Paper Performance Part 1", NotAlvin/NotAlvin.github.io @d884b6b."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from truegrade import prompts
from truegrade.errors import UserError
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.agentcoder_extraction import cut_fence
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule, Takes
from truegrade.profiles.function_scope import grade_in_function_scope
from truegrade.profiles.prompt_building import origin
from truegrade.profiles.refusals import check_variant, function_task
from truegrade.records import Answer, Completion, FunctionTask, Message, Problem, Prompt, Reason
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_POST = "NotAlvin/NotAlvin.github.io@d884b6b content/posts/Circular Coding.md"
_SHOTS = ("HumanEval/0", "HumanEval/1")

NOTEBOOK_IMPORTS = ("import copy", "import json", "import time")
"""Modules of the standard library that the notebook's own code uses; answers find them without importing."""


class Blog(Profile):
    """Five answers a task, the last def of the test in front of each, executed in a notebook's function."""

    name: ClassVar[str] = "blog"
    version: ClassVar[str] = "d884b6b"
    summary: ClassVar[str] = "the blog's AgentCoder replication: last def of the test + answer, function scope"
    current: ClassVar[bool] = False
    covers: ClassVar[tuple[Kind, ...]] = ("function",)
    takes: ClassVar[Takes] = "program"
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({"function": ("humaneval",)})
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "AgentCoder's text with HumanEval/0 and 1 as shots, indented by 8; system message",
             f"{_POST} fetch_completion"),
        Rule("prompt", "5 completions a task, service defaults; of the first 100 tasks", _POST),
        Rule("extraction", "from the first ```python to the next ```; without one the whole reply",
             "huangd1999/AgentCoder@dddd1b9 src/programmer_humaneval.py; assumed: the post does not show its own"),
        Rule("extraction", "an answer without `def ` is dropped from the task's scores", f"{_POST} scorer"),
        Rule("program", "'def ' + the text behind the last 'def ' of the test, stripped; empty line; answer; empty"
             " line; check(name), the name being the text from the answer's first 'def ' to the next '('",
             f"{_POST} scorer"),
        Rule("program", "exec inside a function: functions see the notebook's globals, not the answer's names",
             f"{_POST} scorer"),
        Rule("comparison", "passed if execution ends without an exception", f"{_POST} scorer"),
        Rule("limits", "none; here 10 s of CPU time", _POST),
        Rule("aggregation", "any-correct and first-pass per task, all solutions as sum / 5, printed in percent of"
             " 100 tasks; a dropped answer counts as wrong in all solutions", _POST),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "HumanEval/0 and 1 are shown solved in the prompt and scored all the same; so does this profile alone",
        "function scope: recursion, helpers and imports of the answer are invisible inside its functions",
        "the prompt is left out, and of the test all but its last def: their imports and helpers are lost",
        "the first def of the answer is graded, whatever its name: a helper before the solution is what is tested",
        "an answer without def is dropped: a first score may be a later answer's; here it is no_code and wrong",
        "only the first line of an inserted text is indented, so prompt, shots and snippet disagree",
        "no sandbox and no time limit: an endless answer ends the experiment; here it fails after 10 s of CPU",
        "SystemExit ends the experiment; here it fails",
        "before Python 3.13 one answer's names stay visible at the top level of the task's next; not reproduced",
        "failed and empty requests are repeated without end, their tokens not counted; not reproduced",
        "no seed, temperature, model version or finish_reason is kept; a run's files keep all four",
        "an exception drops the row and with it the denominator; not reproduced: what is missing is counted",
        "rows whose need_reproduce is false are not asked again, and their time and tokens become 0",
        "tests share the candidate's process: an object equal to everything passes (mark tests-inside)",
    )
    limits: ClassVar[Limits] = Limits(cpu_s=10.0)
    scores_shots: ClassVar[tuple[str, ...]] = ("humaneval",)
    reported: ClassVar[tuple[str, ...]] = ("first_sample", "any_correct", "all_solutions")
    own_file: ClassVar[str | None] = "blog"

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The post's system and user message. Its shots are scored, see `defects`."""
        check_variant(self, variant)
        task = function_task(self, problem)
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
        function_task(self, problem)
        text = completion.text or ""
        code, found = (text, "as given") if completion.form == "program" else cut_fence(text)
        if "def " not in code:
            return Answer(value=None, found=f"{found}; dropped: no def", reason=Reason.NO_CODE)
        return Answer(value=code, found=found)

    def kept(self, completion: Completion, answer: Answer) -> str:
        """What stood in the fence, a def in it or not: answers are dropped only when they are scored."""
        text = completion.text or ""
        return text if completion.form == "program" else cut_fence(text)[0]

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Execute the last def of the test, the answer and the check of its first def in function scope."""
        task = function_task(self, problem)
        code = answer.value or ""
        name = code.split("def ")[1].split("(", maxsplit=1)[0].strip()
        program = f"{last_def(task)}\n\n{code}\n\ncheck({name})"
        return grade_in_function_scope(program, NOTEBOOK_IMPORTS, executor)


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
