"""`human-eval`: the grader of openai/human-eval @6d43fb9, run in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping

from truegrade.profiles.harness_runs import FunctionProfile
from truegrade.prompts.making import CODEX_STOP, continuation
from truegrade.records import Answer, Completion, FunctionTask, Problem, Prompt
from truegrade.sandbox import Limits


class HumanEval(FunctionProfile):
    """OpenAI's reference grader: prompt + completion + test, executed; no extraction."""

    name, version = "human-eval", "6d43fb9"
    takes = "continuation"
    limits = Limits(cpu_s=3.0, wall_s=4.0)

    def ask(self, task: FunctionTask, problem: Problem, examples: Mapping[str, Problem]) -> Prompt:
        """The data set's prompt, for a base model."""
        stored = "openai_humaneval" if problem.benchmark == "humaneval" else problem.benchmark
        return continuation(task.prompt, source=f"{stored}, field prompt, as stored", stop=CODEX_STOP)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The completion as it is."""
        read = super().extract(problem, completion)
        return Answer(value=read.value, found="as it is", form=read.form)

    def read(self, task: FunctionTask, reply: str) -> Answer:
        """The reply as it is."""
        return Answer(value=reply, found="as it is", form="completion")
