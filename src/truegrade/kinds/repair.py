"""Repair a program: its tests are calls with plain values (QuixBugs), or those of the function that it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.repairs import RepairTask, grade_repair, suite_of
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
        return repair_prompts(task)

    def extract(self, task: CasesTask, completion: Completion) -> Answer:
        """The repaired program, whole."""
        return code_answer(completion, task.entry_point)

    def judge(self, problem: Problem, task: CasesTask, answer: Answer, context: Context) -> Judgement:
        """Test by test, several to a process."""
        return judged_repair(task, answer.value or "", context)

    def count(self, problem: Problem, task: CasesTask, answer: Answer, context: Context) -> TestCount | None:
        """The calls."""
        return counted_tests(task, answer.value or "", context)

    def buggy(self, task: CasesTask) -> str:
        """The program to repair."""
        return task.buggy

    def upstream(self, task: CasesTask) -> Iterator[UpstreamField]:
        """Both programs."""
        yield "prompt", "buggy", task.buggy
        yield "reference", "correct", task.reference


def repair_prompts(task: RepairTask) -> dict[str, RenderPrompt]:
    """CORAL-X's; ``base`` is the same text to continue, up to where the open fence is closed."""
    values = {"name": task.entry_point, "buggy": task.buggy}
    return {
        "default": lambda: chat("quixbugs.repair", values),
        "base": lambda: base("quixbugs.repair", values, stop=(FENCE,)),
    }


def judged_repair(task: RepairTask, program: str, context: Context) -> Judgement:
    """A program under the tests of a task taken apart, one try for each that takes too long."""
    return grade_repair(suite_of(task), program, context.executor, cpu_s=context.cpu_s(task.cpu_s), timeouts=1)


def counted_tests(task: RepairTask, program: str, context: Context) -> TestCount | None:
    """How many of these tests a program passes."""
    judged = judged_repair(task, program, context)
    if judged.reason is Reason.GRADER_ERROR or judged.harness is None:
        return None
    return TestCount(judged.harness["passed"], judged.harness["tests"])


KIND = RepairKind()
"""The object that everything asks."""
