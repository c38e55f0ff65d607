"""`sandboxfusion`: CRUXEval as bytedance/SandboxFusion @469de08 grades it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, from_outcome
from truegrade.profiles.base import NO_EXAMPLES, Profile, covered_task
from truegrade.profiles.cruxeval import published_prompt
from truegrade.prompts.making import continuation
from truegrade.records import Answer, Completion, InputTask, OutputTask, Problem, Prompt
from truegrade.sandbox import Limits

_STOPS = ("# done", "[/ANSWER]")


class Sandboxfusion(Profile):
    """``assert <completion> == f(<input>)``, run as a script and judged by its exit code."""

    name = "sandboxfusion"
    version = "469de08"
    covers = ("output_prediction", "input_prediction")
    only = MappingProxyType({"output_prediction": ("cruxeval-output",), "input_prediction": ("cruxeval-input",)})
    variants = ("default", "cot", "phind")
    limits = Limits(cpu_s=30.0, wall_s=31.0)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """CRUXEval's words: ``default`` (direct), ``cot``, or for outputs ``phind``."""
        published = published_prompt(self, problem, variant)
        return continuation(published.messages[0].content, source=published.source)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The published post-processing of replies; what is already extracted stays as it is."""
        task = covered_task(self, problem, OutputTask, InputTask)
        text = completion.text or ""
        if completion.form == "answer":
            return Answer(value=text, found="as given", form="answer")
        for stop in _STOPS:
            text = text.split(stop, maxsplit=1)[0]
        if "[ANSWER]" in text:
            text = text.split("[ANSWER]")[1].strip()
        if "assert f" in text:
            text = "f" + text.split("assert f")[1].strip()
        if "==" in text:
            text = text.split("==")[1 if isinstance(task, OutputTask) else 0].strip()
        return Answer(value=text, found="beside the first ==", form="answer")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Run program and assertion as a script."""
        task = covered_task(self, problem, OutputTask, InputTask)
        other = f"f({task.arguments})" if isinstance(task, OutputTask) else task.expected
        source = f"{task.program}\nassert {answer.value or ''} == {other}"
        return from_outcome(executor.script(source), marks=(TESTS_INSIDE,))
