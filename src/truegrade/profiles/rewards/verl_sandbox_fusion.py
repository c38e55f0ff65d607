"""`verl-sandbox-fusion`: ``sandbox_fusion`` of verl-project/verl @1dda039, asked of bytedance/SandboxFusion."""

from __future__ import annotations

from typing import ClassVar

from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.trials import ScriptTest, as_file, first_failure, passed_of, script_trials, wrapped
from truegrade.profiles.base import Rule
from truegrade.profiles.refusals import covered_task
from truegrade.profiles.rewards.strict_worded import (
    NO_TESTS,
    STRICT_WORDS,
    StrictWorded,
    assert_tests,
    contest_tests,
)
from truegrade.records import Answer, ContestTask, FunctionTask, Problem
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_FOLDER = "verl-project/verl@1dda039 verl/utils/reward_score/sandbox_fusion"
_SCORE, _UTILS = f"{_FOLDER}/__init__.py", f"{_FOLDER}/utils.py"
_RUNNER = "bytedance/SandboxFusion@469de08 sandbox/runners"
TIMEOUT_S = 10.0
SCORED = 10
"""Tests at the front that count."""


class VerlSandboxFusion(StrictWorded):
    """One request a test: programs on standard input, functions by name, asserts."""

    name: ClassVar[str] = "verl-sandbox-fusion"
    version: ClassVar[str] = "1dda039"
    summary: ClassVar[str] = "verl's SandboxFusion reward: a script a test of 10 s, the first 10 count"
    covers: ClassVar[tuple[Kind, ...]] = ("function", "description", "contest")
    rules: ClassVar[tuple[Rule, ...]] = (
        STRICT_WORDS,
        Rule("extraction", "behind the last ```python up to the next ```; without one, between the first two"
             " ```, less a first line of letters alone; no ```: reward 0", f"{_SCORE} compute_score"),
        Rule("program", "standard input: the program, two newlines; asserts (assert_case): the assert behind"
             " them; a source of tests that is more than asserts is one of these here", f"{_UTILS}"
             " check_correctness"),
        Rule("program", "fn_name: 18 star imports and 16 imports in front; a global of that name, else a method of"
             " Solution, is called with a JSON value a line and its result printed, containers, booleans and None"
             " as JSON", f"{_UTILS} _process_single_case"),
        Rule("program", "a file, run as __main__ by an interpreter of its own; here one that reads standard input"
             " has no __file__", f"{_RUNNER}/major.py"),
        Rule("comparison", "exit code 0, and both texts equal less newlines at their ends; asserts: exit code 0",
             f"{_UTILS} _process_single_case"),
        Rule("limits", "10 s of wall time a test; here 10 s of CPU and 11 s of wall time; 1,024 MB of address"
             " space there, 4 GiB here", f"{_UTILS} DEFAULT_TIMEOUT"),
        Rule("aggregation", "the share of the first 10 tests that pass; the others are run and count for nothing,"
             " and are not run here", f"{_SCORE} compute_score (continuous)"),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "asserts: a program that leaves with exit code 0 passes; tests share its process (mark tests-inside)",
        "without a python fence the first block of any other is run, be it an example of output",
        "```python behind the program, as in a sentence, is where the program is taken from",
        "fn_name: a text is compared without quotes, a failing call is an empty output with exit code 0",
        "fn_name: 1.0 is not 1, and tuples are lists; values that JSON does not hold end with exit code 1",
        "standard input: blanks at a line's end and 1.0 for 1 are wrong",
        "errors of the service score 0 there; here they are grader errors",
        "no tests pay 0 there; here they are grader errors",
    )
    limits: ClassVar[Limits] = Limits(cpu_s=TIMEOUT_S, wall_s=TIMEOUT_S + 1, processes=16)

    def cut(self, reply: str) -> str | None:
        """Behind the last python fence, else the first block."""
        if "```python" in reply:
            return reply.rpartition("```python")[2].partition("```")[0]
        if "```" not in reply:
            return None
        block = reply.split("```", 2)[1]
        first, newline, rest = block.partition("\n")
        return rest if newline and first.strip().isalpha() else block

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Passes where the first ten tests do."""
        scripts = self._scripts(problem, answer.value or "")
        if isinstance(scripts, Judgement):
            return scripts
        marks = () if isinstance(problem.task, ContestTask) else (TESTS_INSIDE,)
        trials = script_trials(scripts, same_text, executor, cpu_s=self.cpu_s(TIMEOUT_S))
        return first_failure(trials, len(scripts), marks=marks)

    def tests_passed(self, problem: Problem, answer: Answer, executor: Executor) -> TestCount | None:
        """Of the first ten."""
        scripts = self._scripts(problem, answer.value or "")
        if isinstance(scripts, Judgement):
            return None
        return passed_of(script_trials(scripts, same_text, executor, cpu_s=self.cpu_s(TIMEOUT_S)))

    def _scripts(self, problem: Problem, code: str) -> list[ScriptTest] | Judgement:
        task = covered_task(self, problem, FunctionTask, ContestTask)
        if isinstance(task, FunctionTask):
            asserts = assert_tests(problem, task)
            return [as_file(f"{code}\n\n{one}", "main.py") for one in asserts[:SCORED]] or NO_TESTS
        tests = contest_tests(task)
        if isinstance(tests, Judgement):
            return tests
        source = f"{code}\n\n"
        source = source if tests.function is None else wrapped(source, tests.function)
        pairs = list(zip(tests.inputs, tests.outputs, strict=True))[:SCORED]
        return [ScriptTest(source=source, stdin=given, expected=wanted) for given, wanted in pairs]


def same_text(got: str, expected: str) -> bool:
    """Whether two outputs are the same but for newlines at their ends."""
    return got.rstrip("\n") == expected.rstrip("\n")
