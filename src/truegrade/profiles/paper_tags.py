"""`paper-tags`: the prompt of arXiv 2504.05518 taken at its word. What stands in the tags is the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from truegrade.extraction.assertions import extract_output_answer
from truegrade.extraction.blocks import answer_blocks
from truegrade.extraction.parsing import unix_newlines
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.grading.predictions import grade_output
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule
from truegrade.profiles.code_reasoning import predicted_task
from truegrade.profiles.prompt_building import output_prompts
from truegrade.profiles.refusals import check_variant
from truegrade.records import Answer, Completion, Problem, Prompt, Reason
from truegrade.records.kinds import Kind

_PAPER = "arXiv 2504.05518, as quoted in akshsgaur/code-reasoning-repro@6c43fa8 src/models/inference.py"


class PaperTags(Profile):
    """Tags are required, and nothing outside them is looked at."""

    name: ClassVar[str] = "paper-tags"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "the paper's prompt at its word: an assertion in [ANSWER] tags, or no answer"
    current: ClassVar[bool] = False
    covers: ClassVar[tuple[Kind, ...]] = ("output_prediction",)
    variants: ClassVar[tuple[str, ...]] = ("default", "one-shot")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "the paper's zero-shot prompt, or its one-shot prompt; no system message", _PAPER),
        Rule("extraction", "the last closed [ANSWER] block holds one assertion on the asked function, or a"
             " literal, and nothing else; without such a block there is no answer", "ours"),
        Rule("comparison", "Python == of literals, read by ast; nothing is executed", "ours"),
        Rule("aggregation", "every reply counts; a sample without one is missing, as under strict", "ours"),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "a right answer without tags, in a tag that is cut off, or with prose in the block is lost",
        "a tag in the thinking counts like one in the answer",
        "how the paper's authors read replies is not published; this is the strictest reading of their prompt",
    )

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The paper's words."""
        return output_prompts(predicted_task(self, problem))[check_variant(self, variant)]()

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """What the last closed block says; text that is already extracted is read like a block."""
        task = predicted_task(self, problem)
        text = unix_newlines(completion.text or "")
        if completion.form == "answer":
            return extract_output_answer(text, task.function)
        blocks = answer_blocks(text).closed
        if not blocks:
            return Answer(value=None, found="no closed block", reason=Reason.NO_ANSWER, form="answer")
        return extract_output_answer(blocks[-1].text, task.function)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Compare two literals."""
        return grade_output(predicted_task(self, problem), answer)

    def executes(self, problem: Problem) -> bool:
        """Nothing is executed."""
        return False
