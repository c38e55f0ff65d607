"""`evalscope-sandbox`: LiveCodeBench of modelscope/evalscope @fde259d2 in its container, as its docs advise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from truegrade.grading.contests.sandboxed import grade_sandboxed
from truegrade.grading.contests.tests import UndecodableTests, decode
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles import evalscope_contests
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule
from truegrade.profiles.contest_profile import CONTEST_LIMITS, TIMEOUT_S, contest_task
from truegrade.profiles.refusals import check_variant
from truegrade.records import Answer, Completion, Problem, Prompt, Reason
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_SANDBOX = "modelscope/evalscope@fde259d2 evalscope/benchmarks/live_code_bench/sandbox_evaluate_utils.py"


class EvalscopeSandbox(Profile):
    """One script a test, no preamble, no Decimal rule."""

    name: ClassVar[str] = "evalscope-sandbox"
    version: ClassVar[str] = "fde259d2"
    summary: ClassVar[str] = "EvalScope's container path for LiveCodeBench: a script a test, judged by its output"
    covers: ClassVar[tuple[Kind, ...]] = ("contest",)
    limits: ClassVar[Limits] = replace(CONTEST_LIMITS, processes=16)
    rules: ClassVar[tuple[Rule, ...]] = (
        *evalscope_contests.ASKED,
        Rule("program", "stdin: a replaced sys.stdin, then the answer; functional: imports of json, sys, ast and"
             " seven typing names, the answer, the call. No preamble", _SANDBOX),
        Rule("program", "functional: an input of one line is one argument, read as JSON; of several lines one"
             " argument a line, read as a Python literal, else as text", _SANDBOX),
        Rule("comparison", "stdin: exit code 0 and the whole stripped text equal", _SANDBOX),
        Rule("comparison", "functional: exit code 0 and TEST_PASSED anywhere in the output", _SANDBOX),
        Rule("limits", "6 s a test, none for all together; here 6 s of CPU time, 7 s of wall time and"
             " 16 processes", _SANDBOX),
        Rule("aggregation", "acc is 1 if every test passes", _SANDBOX),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "functional: a program that prints TEST_PASSED passes (mark tests-inside)",
        "functional: one argument that is a list is passed whole, several on one line are one",
        "functional: true, false and null in an input of several lines stay texts",
        "functional: an answer that holds three apostrophes, or ends in one, is a SyntaxError",
        "stdin: 1.0 is not 1, two blanks are not one",
        "zero tests pass; a function named '' is graded as a program on standard input",
    )

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """EvalScope's words."""
        check_variant(self, variant)
        return evalscope_contests.render_contest(contest_task(self, problem))

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The last two fences."""
        contest_task(self, problem)
        return evalscope_contests.cut(completion)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """A script a test; the harness' details are in ``Judgement.harness``."""
        try:
            tests = decode(contest_task(self, problem))
        except UndecodableTests as error:
            return Judgement(reason=Reason.GRADER_ERROR, detail=str(error))
        return grade_sandboxed(answer.value or "", tests, executor, timeout_s=self.cpu_s(TIMEOUT_S))
