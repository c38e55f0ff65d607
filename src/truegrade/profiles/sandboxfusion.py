"""`sandboxfusion`: CRUXEval as bytedance/SandboxFusion @469de08 grades it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from truegrade.errors import UnknownName
from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, from_outcome
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule
from truegrade.profiles.cruxeval import published_prompts, published_task
from truegrade.profiles.prompt_building import continuation
from truegrade.profiles.refusals import check_variant
from truegrade.records import Answer, Completion, OutputTask, Problem, Prompt
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_SOURCE = "bytedance/SandboxFusion@469de08 sandbox/datasets/cruxeval.py"
_STOPS = ("# done", "[/ANSWER]")


class Sandboxfusion(Profile):
    """``assert <completion> == f(<input>)``, run as a script and judged by its exit code."""

    name: ClassVar[str] = "sandboxfusion"
    version: ClassVar[str] = "469de08"
    summary: ClassVar[str] = "SandboxFusion's CRUXEval: a script of 30 s, exit code 0 is right, echoes pass"
    covers: ClassVar[tuple[Kind, ...]] = ("output_prediction", "input_prediction")
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType(
        {"output_prediction": ("cruxeval-output",), "input_prediction": ("cruxeval-input",)}
    )
    variants: ClassVar[tuple[str, ...]] = ("default", "cot", "phind")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "CRUXEval's texts, unchanged, for a base model; no stop strings (the wrapping that"
             " coding_wrap_prompt asks for is not offered here)", f"{_SOURCE} _generate_single_prompt"),
        Rule("extraction", "up to # done, then up to [/ANSWER]; then text after the first [ANSWER], if there is"
             " one; then 'f' + text after the first 'assert f'", f"{_SOURCE} evaluate_single"),
        Rule("extraction", "then the text between the first == and the next (output) or before the first (input)",
             f"{_SOURCE} evaluate_single"),
        Rule("program", "code + newline + assert <completion> == f(<input>), or == <output>",
             f"{_SOURCE} evaluate_single"),
        Rule("comparison", "passed if the script ends with exit code 0", f"{_SOURCE} evaluate_single"),
        Rule("limits", "30 s; here 30 s of CPU time and 31 s of wall time", f"{_SOURCE} evaluate_single"),
        Rule("aggregation", "one completion an item; the share accepted", _SOURCE),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "output: an echo of the call is a tautology and passes on every item, and so does `1 or 1`",
        "an answer that leaves with exit code 0 passes: exit(), sys.exit(0), os._exit(0)",
        "an object equal to everything passes; whatever is a true first operand of `or` passes",
        "any == inside a string or an argument ends the extracted value",
        "the first [ANSWER] counts, be it the word between two tags of a sentence",
    )
    limits: ClassVar[Limits] = Limits(cpu_s=30.0, wall_s=31.0)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """CRUXEval's words: ``default`` (direct), ``cot``, or for outputs ``phind``."""
        name = check_variant(self, variant)
        render = published_prompts(self, problem).get("cruxeval" if name == "default" else f"cruxeval-{name}")
        if render is None:
            known = ("default", "cot")
            raise UnknownName("prompt variant", name, known, f"for {problem.benchmark} under {self.name}")
        published = render()
        return continuation(published.messages[0].content, source=published.source)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The published post-processing of replies; what is already extracted stays as it is."""
        task = published_task(self, problem)
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
        task = published_task(self, problem)
        other = f"f({task.arguments})" if isinstance(task, OutputTask) else task.expected
        source = f"{task.program}\nassert {answer.value or ''} == {other}"
        return from_outcome(executor.script(source), marks=(TESTS_INSIDE,))
