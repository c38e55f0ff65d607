"""Write a function; its outputs are compared with those of a reference on given inputs (the plus sets)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from truegrade.grading.functions import count_by_oracle, expected_outputs, grade_by_oracle
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.problem_tests import ReferenceTests
from truegrade.kinds.base import Context, Kind, ShownPart, UpstreamField
from truegrade.kinds.code import code_answer, code_to_continue, shown_code, stored_code
from truegrade.prompts.making import RenderPrompt
from truegrade.records import Answer, Completion, OracleTask, Problem


class OracleKind(Kind[OracleTask]):
    """What the reference returns is found once, and kept."""

    task = OracleTask
    names = ("oracle",)
    variants = ("default", "base")

    def shown(self, task: OracleTask) -> ShownPart:
        """As of a function."""
        return shown_code(task)

    def prompts(self, task: OracleTask, examples: Mapping[str, Problem]) -> Mapping[str, RenderPrompt]:
        """As of a function."""
        return code_to_continue(task.prompt, base=bool(task.prefix))

    def extract(self, task: OracleTask, completion: Completion) -> Answer:
        """The program, whole or behind the prompt's own code."""
        return code_answer(completion, task.entry_point, task.prefix)

    def tests(self, task: OracleTask) -> ReferenceTests:
        """The inputs."""
        return ReferenceTests(
            entry_point=task.entry_point, reference=task.reference, inputs=task.base_inputs,
            further=task.plus_inputs, comparator=task.comparator, atol=task.atol,
        )  # fmt: skip

    def with_tests(self, task: OracleTask, tests: ReferenceTests) -> OracleTask:
        """Other inputs."""
        return msgspec.structs.replace(task, base_inputs=tests.inputs, plus_inputs=tests.further)

    def judge(self, problem: Problem, task: OracleTask, answer: Answer, context: Context) -> Judgement:
        """Output by output, outside the program's process."""
        key, kept, cpu_s = _key(problem), context.kept(expected_outputs), context.cpu_s(task.cpu_s)
        return grade_by_oracle(key, task, self.program(task, answer), kept, context.executor, min_cpu_s=cpu_s)

    def count(self, problem: Problem, task: OracleTask, answer: Answer, context: Context) -> TestCount | None:
        """The inputs."""
        key, kept, cpu_s = _key(problem), context.kept(expected_outputs), context.cpu_s(task.cpu_s)
        return count_by_oracle(key, task, self.program(task, answer), kept, context.executor, min_cpu_s=cpu_s)

    def upstream(self, task: OracleTask) -> Iterator[UpstreamField]:
        """HumanEval's fields, and the tests that MBPP shows."""
        yield from stored_code(task)
        if task.shown_tests:
            yield "test", "test_list", "\n".join(task.shown_tests)


def _key(problem: Problem) -> str:
    return f"{problem.dataset_sha256}/{problem.id}"


KIND = OracleKind()
"""The object that everything asks."""
