"""Repair a program: its tests are calls with plain values (QuixBugs), or those of the function that it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.problem_tests import CallTests
from truegrade.grading.repairs import Suite, grade_repair, suite_of_calls
from truegrade.kinds.base import Context, Kind, UpstreamField
from truegrade.kinds.code import code_answer
from truegrade.prompts.making import RenderPrompt, base, chat
from truegrade.records import Answer, CasesTask, Completion, Problem, Reason

FENCE = "```"


class RepairKind(Kind[CasesTask]):
    """The buggy program is shown, and its name says what it is to do."""

    task = CasesTask
    names = ("repair",)

    def prompts(self, task: CasesTask, examples: Mapping[str, Problem]) -> Mapping[str, RenderPrompt]:
        """Of `repair_prompts`."""
        return repair_prompts(task.entry_point, task.buggy)

    def extract(self, task: CasesTask, completion: Completion) -> Answer:
        """The repaired program, whole."""
        return code_answer(completion, task.entry_point)

    def tests(self, task: CasesTask) -> CallTests:
        """The calls."""
        return CallTests(
            entry_point=task.entry_point, cases=task.cases, comparator=task.comparator, skipped=task.skipped,
            slow=task.slow,
        )  # fmt: skip

    def with_tests(self, task: CasesTask, tests: CallTests) -> CasesTask:
        """Other calls."""
        return msgspec.structs.replace(task, cases=tests.cases)

    def judge(self, problem: Problem, task: CasesTask, answer: Answer, context: Context) -> Judgement:
        """Test by test, several to a process."""
        return judged_repair(
            suite_of_calls(self.tests(task)), answer.value or "", context.cpu_s(task.cpu_s), context
        )

    def count(self, problem: Problem, task: CasesTask, answer: Answer, context: Context) -> TestCount | None:
        """The calls."""
        return counted_tests(
            suite_of_calls(self.tests(task)), answer.value or "", context.cpu_s(task.cpu_s), context
        )

    def buggy(self, task: CasesTask) -> str:
        """The program to repair."""
        return task.buggy

    def upstream(self, task: CasesTask) -> Iterator[UpstreamField]:
        """Both programs."""
        yield "prompt", "buggy", task.buggy
        yield "reference", "correct", task.reference


def repair_prompts(entry_point: str, buggy: str) -> dict[str, RenderPrompt]:
    """CORAL-X's; ``base`` is the same text to continue, up to where the open fence is closed."""
    values = {"name": entry_point, "buggy": buggy}
    return {
        "default": lambda: chat("quixbugs.repair", values),
        "base": lambda: base("quixbugs.repair", values, stop=(FENCE,)),
    }


def judged_repair(suite: Suite, program: str, cpu_s: float, context: Context) -> Judgement:
    """A program under tests one by one, of which one may take too long."""
    return grade_repair(suite, program, context.executor, cpu_s=cpu_s, timeouts=1)


def counted_tests(suite: Suite, program: str, cpu_s: float, context: Context) -> TestCount | None:
    """How many of these tests a program passes."""
    judged = judged_repair(suite, program, cpu_s, context)
    if judged.reason is Reason.GRADER_ERROR or judged.harness is None:
        return None
    return TestCount(judged.harness["passed"], judged.harness["tests"])


KIND = RepairKind()
"""The object that everything asks."""
