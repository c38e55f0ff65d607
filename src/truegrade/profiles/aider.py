"""`aider`: the Python exercises of the polyglot benchmark as Aider-AI/aider @5dc9490 asks and grades them.

One try. The second try, for which the model is shown the output of the tests, is the agent `aider`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from msgspec import structs

from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, from_outcome
from truegrade.grading.trials import PACKAGES
from truegrade.profiles.aider_whole import BENCHMARKS, SOURCE, TIMEOUT_S, first_chat, run_tests, whole_file
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule, Takes
from truegrade.profiles.refusals import check_variant, covered_task
from truegrade.records import Answer, Completion, Problem, Prompt, Reason, SuiteTask
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_HARNESS = f"{SOURCE} benchmark/benchmark.py"
_TESTS_FAILED = 1
"""Exit code of pytest where tests ran and some failed."""
_SUMMED = re.compile(r"^(?:FAILED|ERROR) .*", re.MULTILINE)


class Aider(Profile):
    """Whole files, run by pytest."""

    name: ClassVar[str] = "aider"
    version: ClassVar[str] = "5dc9490"
    summary: ClassVar[str] = "Aider's polyglot benchmark, edit format whole, one try: pytest, exit code 0, 180 s"
    covers: ClassVar[tuple[Kind, ...]] = ("suite",)
    takes: ClassVar[Takes] = "program"
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({"suite": BENCHMARKS})
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "introduction, instructions and instructions.append, then the addendum: modify the file,"
             " keep the names, standard library only", f"{_HARNESS} run_test_real, benchmark/prompts.py"),
        Rule("prompt", "format whole: system message with the reminder, a worked example as messages, the starter,"
             " the exercise with the reminder behind it; for a model without settings of its own, in English",
             f"{SOURCE} aider/coders/base_coder.py format_chat_chunks, aider/coders/wholefile_prompts.py"),
        Rule("extraction", "blocks between lines that begin with ```; a block is the file's if the line before it"
             " is its name (also with a folder, *, `, # or : around it), else if it was mentioned in backticks,"
             " else if that line is empty; of equals the first. A last block may be open",
             f"{SOURCE} aider/coders/wholefile_coder.py get_edits"),
        Rule("extraction", "not reproduced: other files that a reply writes, a further question where flake8"
             " objects or an edit fails (3 in a try at most), other edit formats", f"{SOURCE} base_coder.py"),
        Rule("program", "the answer, the tests and what they import in a folder, and pytest in that folder; here"
             " without .meta, where Aider leaves the reference", f"{_HARNESS} run_unit_tests"),
        Rule("comparison", "passed if pytest ends with exit code 0", f"{_HARNESS} run_unit_tests"),
        Rule("limits", "180 s; here 180 s of CPU time and of wall time", f"{_HARNESS} run_unit_tests"),
        Rule("aggregation", "pass_rate_1: the first try; pass_rate_2 is the agent aider's", f"{_HARNESS}"),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "a program that leaves with exit code 0, or changes unittest, passes (mark tests-inside)",
        "a sentence directly before the fence is taken for a file's name, and the exercise fails",
        "of two blocks for one file the first counts, also where the second corrects it",
    )
    limits: ClassVar[Limits] = Limits(cpu_s=TIMEOUT_S, wall_s=TIMEOUT_S, packages=("numpy", *PACKAGES))

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """Aider's first messages."""
        check_variant(self, variant)
        task = covered_task(self, problem, SuiteTask)
        return first_chat(task.prompt, f"{task.module}.py", task.starter).prompt()

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """What the reply makes the exercise's file hold."""
        file = f"{covered_task(self, problem, SuiteTask).module}.py"
        text = completion.text or ""
        if completion.form != "reply":
            return Answer(value=text, found="as given: a whole program")
        content = whole_file(text, file)
        if content is None:
            return Answer(value=None, found=f"no block for {file}", reason=Reason.NO_CODE)
        return Answer(value=content, found=f"block for {file}")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Run pytest; the verdict is its exit code."""
        covered_task(self, problem, SuiteTask)
        ran = run_tests(problem, answer.value or "", executor, timeout_s=self.cpu_s(TIMEOUT_S))
        judged = from_outcome(ran.outcome, marks=(TESTS_INSIDE,))
        if judged.reason is not Reason.RUNTIME_ERROR or ran.outcome.exit_code != _TESTS_FAILED:
            return judged
        named = _SUMMED.search(ran.output)
        return structs.replace(judged, reason=Reason.WRONG_ANSWER, detail=named[0] if named else judged.detail)
