"""Write what a suite of unit tests is about (BigCodeBench, a repository's own functions)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import msgspec

from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.marks import READS_TESTS
from truegrade.grading.programs import own_part
from truegrade.grading.static_findings import reads_tests
from truegrade.grading.trials import PytestRun, run_pytest
from truegrade.kinds.base import Context, Kind, Needs, ShownPart, UpstreamField
from truegrade.kinds.code import code_answer, code_to_continue, named_description, stored_code
from truegrade.patterns import pattern
from truegrade.prompts.making import RenderPrompt, chat
from truegrade.records import Answer, Completion, Problem, SuiteTask

SHOWN_S = 180.0
"""CPU seconds, and wall seconds, that all tests of a suite have together where an agent runs them."""
_OWN_MAIN = pattern(r"__name__ *== *['\"]__main__['\"]")


class SuiteKind(Kind[SuiteTask]):
    """The tests run beside the program, or outside its process where values alone pass between them."""

    task = SuiteTask
    names = ("suite",)
    inside = True
    variants = ("default", "base")

    def shown(self, task: SuiteTask) -> ShownPart:
        """Words, name, code to continue and the module that tests import."""
        return ShownPart(text=task.prompt, entry_point=task.entry_point, prefix=task.prefix, module=task.module)

    def prompts(self, task: SuiteTask, examples: Mapping[str, Problem]) -> Mapping[str, RenderPrompt]:
        """Code to continue is asked for as functions are, words as descriptions without tests."""
        if re.search(rf"\bclass {re.escape(task.entry_point)}\b", task.prompt):
            return {"default": lambda: chat("strict.class.user", {"prompt": task.prompt})}
        if task.prefix and task.prefix == task.prompt:
            return code_to_continue(task.prompt)
        return named_description(task.prompt, task.entry_point)

    def extract(self, task: SuiteTask, completion: Completion) -> Answer:
        """The program, whole or behind the prompt's own code."""
        return code_answer(completion, task.entry_point, task.prefix)

    def reference(self, task: SuiteTask) -> str:
        """What of the right program an answer brings."""
        return own_part(task)

    def needs(self, task: SuiteTask) -> Needs:
        """pytest, where it runs the tests, and the processes that the program may start."""
        packages = ("pytest",) if task.framework == "pytest" else ()
        return Needs(packages=packages, processes=task.processes, cpu_s=task.cpu_s)

    def tests_run(self, task: SuiteTask, folder: str) -> Callable[[str, Executor], PytestRun]:
        """By pytest, in the program's process."""

        def run(program: str, executor: Executor) -> PytestRun:
            return run_pytest(task, program, executor, folder=folder, cpu_s=SHOWN_S, wall_s=SHOWN_S)

        return run

    def judge(self, problem: Problem, task: SuiteTask, answer: Answer, context: Context) -> Judgement:
        """By the tests that the reference passes; a program that reads them is marked."""
        from truegrade.grading.suite_grading import grade_left_in
        from truegrade.grading.suite_reference import ReferencesShown

        program = self.program(task, answer)
        judged = grade_left_in(
            task, program, context.kept(ReferencesShown), context.executor,
            min_cpu_s=context.cpu_s(task.cpu_s), packages=problem.packages,
        )  # fmt: skip
        if judged.passed and _reads_tests(task, program):
            # Outside, the run beside the tests is one of two that it has to pass, and proves nothing now.
            mark = READS_TESTS if TESTS_INSIDE in judged.marks else TESTS_INSIDE
            return msgspec.structs.replace(judged, marks=(*judged.marks, mark))
        return judged

    def count(self, problem: Problem, task: SuiteTask, answer: Answer, context: Context) -> TestCount | None:
        """The tests that the reference passes."""
        from truegrade.grading.suite_grading import count_by_suite, left_in
        from truegrade.grading.suite_reference import ReferencesShown

        return count_by_suite(
            left_in(task), self.program(task, answer), context.kept(ReferencesShown), context.executor,
            min_cpu_s=context.cpu_s(task.cpu_s), packages=problem.packages,
        )  # fmt: skip

    def upstream(self, task: SuiteTask) -> Iterator[UpstreamField]:
        """HumanEval's fields."""
        return stored_code(task)


def _reads_tests(task: SuiteTask, program: str) -> bool:
    """Whether a program reads its tests; what stands before every answer, if it is complete, is none of it."""
    own = own_part(task)
    written = program if own == task.reference else program.replace(task.prefix, "", 1)
    # No way to run a suite runs the program as a main module, unless its tests do.
    tests = "\n".join([_OWN_MAIN.sub("", task.tests), *task.files.values()])
    return reads_tests(written, own, imported="__main__" not in tests and "runpy" not in tests)


KIND = SuiteKind()
"""The object that everything asks."""
