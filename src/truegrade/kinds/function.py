"""Write a function, or repair a buggy one; the tests are Python that calls it (HumanEval, MBPP)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from truegrade import prompts
from truegrade.errors import UserError
from truegrade.grading.executor import Executor
from truegrade.grading.functions import grade_by_tests
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.problem_tests import SourceTests
from truegrade.grading.programs import called_class, method_call
from truegrade.grading.repairs import Suite, suite_of
from truegrade.grading.trials import PytestRun, run_outside
from truegrade.kinds.base import Context, Kind, Needs, ShownPart, UpstreamField
from truegrade.kinds.code import code_answer, code_to_continue, named_description, shown_code, stored_code
from truegrade.kinds.repair import counted_tests, judged_repair, repair_prompts
from truegrade.prompts.making import RenderPrompt, as_stored, chat, continuation, origin
from truegrade.records import Answer, Completion, FunctionTask, Pairing, Problem, Prompt
from truegrade.statistics.reasoning_records import PredictionPrompt

_MBPP_SHOTS = ("MBPP/2", "MBPP/3", "MBPP/4")
"""Worked examples of the MBPP paper's prompt (google-research/google-research mbpp/README.md)."""


class FunctionKind(Kind[FunctionTask]):
    """The tests run in a judge process, which calls the program in its own."""

    task = FunctionTask
    names = ("function", "description", "repair")
    variants = ("default", "base", "paper")

    def name(self, task: FunctionTask) -> str:
        """By whether a program is given, and whether there is code to continue."""
        return "repair" if task.buggy else "function" if task.prefix else "description"

    def shown(self, task: FunctionTask) -> ShownPart:
        """Words, name, code to continue and the tests that MBPP shows."""
        return shown_code(task)

    def prompts(self, task: FunctionTask, examples: Mapping[str, Problem]) -> Mapping[str, RenderPrompt]:
        """Code to continue, or words, to which MBPP adds tests."""
        if task.buggy:
            return repair_prompts(task.entry_point, task.buggy)
        if called_class(task):  # words that end in the class to complete
            return {"default": lambda: as_stored(task.prompt, source="the data set's words, as stored")}
        if task.prefix == task.prompt:
            return code_to_continue(task.prompt, base=bool(task.prefix))
        if not task.shown_tests:
            return named_description(task.prompt, task.entry_point)
        values = {"prompt": task.prompt, "tests": "\n".join(task.shown_tests)}
        return {
            "default": lambda: chat("strict.description.user", values),
            "paper": lambda: _mbpp_paper(task, examples),
        }

    def extract(self, task: FunctionTask, completion: Completion) -> Answer:
        """The program, whole or behind the prompt's own code."""
        return code_answer(completion, task.entry_point, task.prefix, called_class(task))

    def tests(self, task: FunctionTask) -> SourceTests:
        """Their source."""
        return SourceTests(
            entry_point=task.entry_point, source=task.tests, setup=task.setup, shown=task.shown_tests,
            plain_arguments=task.plain_arguments, method_call=method_call(task), owner=called_class(task),
        )  # fmt: skip

    def with_tests(self, task: FunctionTask, tests: SourceTests) -> FunctionTask:
        """Other source."""
        return msgspec.structs.replace(task, tests=tests.source, shown_tests=tests.shown)

    def suite(self, task: FunctionTask) -> Suite:
        """Its assertions."""
        return suite_of(task)

    def tests_run(self, task: FunctionTask, folder: str) -> Callable[[str, Executor], PytestRun]:
        """They run outside the program's process."""
        return lambda program, executor: run_outside(task, program, executor)

    def judge(self, problem: Problem, task: FunctionTask, answer: Answer, context: Context) -> Judgement:
        """All tests at once; of a repair, test by test."""
        if task.buggy:
            return judged_repair(self.suite(task), answer.value or "", context.cpu_s(task.cpu_s), context)
        limited = msgspec.structs.replace(task, cpu_s=context.cpu_s(task.cpu_s))
        return grade_by_tests(limited, self.program(task, answer), context.executor)

    def count(self, problem: Problem, task: FunctionTask, answer: Answer, context: Context) -> TestCount | None:
        """The top-level asserts."""
        program = answer.value or "" if task.buggy else self.program(task, answer)
        return counted_tests(self.suite(task), program, context.cpu_s(task.cpu_s), context)

    def needs(self, task: FunctionTask) -> Needs:
        """pytest, where the tests import it."""
        return Needs(packages=("pytest",) if "import pytest" in task.tests else (), cpu_s=task.cpu_s)

    def reversal(self, problem: Problem, task: FunctionTask) -> Problem | None:
        """A changed problem with the tests of its original, and the other way round."""
        if task.pairing is None or task.pairing.other is None:
            return None
        other = msgspec.structs.replace(task, tests=task.pairing.other, pairing=None)
        return msgspec.structs.replace(problem, task=other)

    def buggy(self, task: FunctionTask) -> str:
        """The program to repair."""
        return task.buggy

    def written_anew(self, task: FunctionTask) -> FunctionTask:
        """Without the program to repair."""
        return msgspec.structs.replace(task, buggy="")

    def pairing(self, task: FunctionTask) -> Pairing | None:
        """Of a changed problem, or of the original of one."""
        return task.pairing

    def question(self, problem: Problem, task: FunctionTask) -> PredictionPrompt | None:
        """A changed problem, or the original of one: is the answer that of the other?"""
        if (pairing := task.pairing) is None:
            return None
        return PredictionPrompt(
            id=problem.id, cluster=problem.cluster, item=pairing.item, case=pairing.case, shown=pairing.shown,
            mutation=pairing.mutation, differs=True,
        )  # fmt: skip

    def upstream(self, task: FunctionTask) -> Iterator[UpstreamField]:
        """HumanEval's fields and, where tests are shown, MBPP's, whose tests are a list of statements."""
        yield from stored_code(task)
        yield "test", "test", task.tests.removesuffix(f"\ncheck({task.entry_point})")
        if task.shown_tests:
            yield "test", "test_list", "\n".join(task.shown_tests)
            yield "test", "test_imports", task.setup
            yield "test", "test_setup_code", task.setup
            # Elsewhere `code` is the program that a model wrote; beside the tests it is the data set's own.
            yield "reference", "code", task.reference
            yield "prompt", "text", task.prompt


def _mbpp_paper(task: FunctionTask, examples: Mapping[str, Problem]) -> Prompt:
    """Three worked examples, an empty line between them, then the task up to ``[BEGIN]``."""
    shown = [examples[key].task for key in _MBPP_SHOTS if key in examples]
    solved = [shot for shot in shown if isinstance(shot, FunctionTask)]
    if len(solved) != len(_MBPP_SHOTS):
        raise UserError(f"prompt variant 'paper' shows {', '.join(_MBPP_SHOTS)}, which this data set lacks")
    texts = [_mbpp_text(shot, shot.reference) for shot in solved]
    texts.append(_mbpp_text(task, "").removesuffix("\n[DONE]"))
    content = "\n\n".join(texts)
    return continuation(content, source=origin("mbpp.paper"), stop=("[DONE]",), shots=_MBPP_SHOTS)


def _mbpp_text(task: FunctionTask, code: str) -> str:
    return prompts.render("mbpp.paper", prompt=task.prompt, tests="\n".join(task.shown_tests), code=code)


KIND = FunctionKind()
"""The object that everything asks."""
