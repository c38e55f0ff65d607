"""`human-eval`: the grader of openai/human-eval @6d43fb9, run in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule, Takes
from truegrade.profiles.prompt_building import CODEX_STOP, continuation
from truegrade.profiles.refusals import check_variant, function_task
from truegrade.profiles.reliability_guard import grade_guarded
from truegrade.records import Answer, Completion, Form, Problem, Prompt
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_EXECUTION = "openai/human-eval@6d43fb9 human_eval/execution.py"


class HumanEval(Profile):
    """OpenAI's reference grader: prompt + completion + test, executed; no extraction."""

    name: ClassVar[str] = "human-eval"
    version: ClassVar[str] = "6d43fb9"
    summary: ClassVar[str] = "OpenAI's grader: prompt + completion + test in one process, 3 s, no extraction"
    covers: ClassVar[tuple[Kind, ...]] = ("function",)
    takes: ClassVar[Takes] = "continuation"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "prompt",
            "the data set's prompt, as stored, for a base model to continue",
            "arXiv 2107.03374 section 2",
        ),
        Rule("prompt", r"stop at \nclass \ndef \n# \nif \nprint", "arXiv 2107.03374 section 3.1"),
        Rule("extraction", "none: the completion is used as it is", _EXECUTION),
        Rule("program", "prompt + completion + newline + test + newline + check(entry_point)", _EXECUTION),
        Rule(
            "program", "exec in an empty globals dict: __name__ is 'builtins', main blocks do not run", _EXECUTION
        ),
        Rule("program", "reliability_guard: destructive names of os, shutil, subprocess are None", _EXECUTION),
        Rule("comparison", "passed if execution ends without an exception; SystemExit fails", _EXECUTION),
        Rule("limits", "3 s, no memory limit; here 3 s of CPU, 4 s of wall time and 4 GiB", _EXECUTION),
        Rule(
            "aggregation", "unbiased pass@k, mean over tasks", "openai/human-eval@6d43fb9 human_eval/evaluation.py"
        ),
    )
    defects: ClassVar[tuple[str, ...]] = (
        "tests share the candidate's process: an object equal to everything passes most tasks (mark tests-inside)",
        "a chat reply with a fence or prose is a syntax error: nothing is extracted",
        "programs that use temporary files fail, because os.unlink and others are None",
        "import numpy works only because the official command imports numpy before it forks; so does this profile",
        "an empty result (crash, exit of the process) is called 'timed out'; here its own reason is given",
        "wall-clock limit: completions that need 2.6 to 3.0 s have the machine's verdict; here CPU time decides",
    )
    limits: ClassVar[Limits] = Limits(cpu_s=3.0, wall_s=4.0)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The data set's prompt, for a base model."""
        check_variant(self, variant)
        task = function_task(self, problem)
        stored = "openai_humaneval" if problem.benchmark == "humaneval" else problem.benchmark
        return continuation(task.prompt, source=f"{stored}, field prompt, as stored", stop=CODEX_STOP)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Use the completion as it is."""
        function_task(self, problem)
        form: Form = "program" if completion.form == "program" else "completion"
        return Answer(value=completion.text or "", found="as it is", form=form)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Execute prompt, completion and test as one program."""
        task = function_task(self, problem)
        prefix = "" if answer.form == "program" else task.prefix
        source = f"{prefix}{answer.value or ''}\n{task.tests}"
        return grade_guarded(source, executor)
