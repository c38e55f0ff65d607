"""`aider`: the Python exercises of the polyglot benchmark as Aider-AI/aider @5dc9490 asks and grades them.

One try. The second try, for which the model is shown the output of the tests, is the agent `aider`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import structs

from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, from_outcome
from truegrade.grading.trials import PACKAGES
from truegrade.profiles.aider_whole import BENCHMARKS, TIMEOUT_S, first_chat, run_tests, whole_file
from truegrade.profiles.base import NO_EXAMPLES, Profile, check_variant, covered_task
from truegrade.records import Answer, Completion, Problem, Prompt, Reason, SuiteTask
from truegrade.sandbox import Limits

_TESTS_FAILED = 1
"""Exit code of pytest where tests ran and some failed."""
_SUMMED = re.compile(r"^(?:FAILED|ERROR) .*", re.MULTILINE)


class Aider(Profile):
    """Whole files, run by pytest."""

    name = "aider"
    version = "5dc9490"
    covers = ("suite",)
    takes = "program"
    only = MappingProxyType({"suite": BENCHMARKS})
    limits = Limits(cpu_s=TIMEOUT_S, wall_s=TIMEOUT_S, packages=("numpy", *PACKAGES))

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
