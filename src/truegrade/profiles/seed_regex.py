"""`seed-regex`: the rule as it is written down in akshsgaur/code-reasoning-repro, October 20, 2025.

Its name is older than this file: stored runs carry it. No random seed is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.assertion_regex import asserted_value, first_block, judge_published
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule
from truegrade.profiles.execution_prompts import output_prompts
from truegrade.profiles.refusals import check_variant, covered_task
from truegrade.records import Answer, Completion, OutputTask, Problem, Prompt
from truegrade.records.kinds import Kind

_UPDATE = "akshsgaur/code-reasoning-repro@6c43fa8 src/models/EXECUTION_PREDICTION_UPDATE.md"

COMPARISON = Rule(
    "comparison",
    "equal as stripped text, else equal under == after ast.literal_eval; nothing is executed",
    _UPDATE,
)
FAILED = Rule(
    "aggregation",
    "a row whose `success` is false is an attempt that is wrong",
    "akshsgaur/code-reasoning-repro@6c43fa8 src/models/evaluate.py evaluate_model_results",
)
DEFECTS = (
    "[^)]* ends at the first ): a call with a tuple, a call or a ')' among its arguments is not read",
    "perfect answers score about 96 % on CRUXEval, for that reason alone",
    "the value ends with its line: one over several lines is cut",
    "the first block counts: the word between two tags of a sentence, an echo of `== ??`, a first try",
    "an assertion without `assert`, or with the value first, is not read",
    "thinking and answer are one text",
    "True equals 1 and 2 equals 2.0; nan, inf and custom reprs are equal as text only",
)


class SeedRegex(Profile):
    """Tags, one regular expression, else the whole reply; compared as text, then as literals."""

    name: ClassVar[str] = "seed-regex"
    version: ClassVar[str] = "2025-10-20"
    summary: ClassVar[str] = "execution prediction as first written down: tags, one regex, else the whole reply"
    counts_failed: ClassVar[bool] = True
    current: ClassVar[bool] = False
    covers: ClassVar[tuple[Kind, ...]] = ("output_prediction",)
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "the paper's zero-shot prompt, no system message", _UPDATE),
        Rule("extraction", r"first \[ANSWER\](.*?)\[/ANSWER\], any case; in it group 1 of"
             r" assert\s+\w+\([^)]*\)\s*==\s*(.+)", _UPDATE),
        Rule("extraction", "without such a block, or such an assertion in it, the whole reply, stripped", _UPDATE),
        COMPARISON,
        Rule("limits", "none; here a prediction of over 100,000 characters is compared as text only", _UPDATE),
        Rule("aggregation", "pass@k, mean over problems", _UPDATE),
        FAILED,
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        *DEFECTS,
        "a block that the expression does not match is given up for the whole reply, tags included",
        "the prose names a search for `assert ... == VALUE` outside tags, which the code lacks",
        "only ValueError and SyntaxError are caught: `{[1]: 2}` ends the run; here it is wrong",
    )

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The zero-shot prompt, self-contained."""
        return output_prompts(predicted_task(self, problem))[check_variant(self, variant)]()

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """One regular expression in the first block; text that is already extracted stays as it is."""
        text = completion.text or ""
        predicted_task(self, problem)
        if completion.form == "answer":
            return Answer(value=text, found="as given", form="answer")
        block = first_block(text)
        value = None if block is None else asserted_value(block)
        if value is None:
            return Answer(value=text.strip(), found="whole reply", form="answer")
        return Answer(value=value, found="block", form="answer")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Compare as text, then as literals."""
        task = predicted_task(self, problem)
        other = task.pairing.other if task.pairing else None
        return judge_published(answer.value or "", task.expected, other, ends_the_run=True)

    def executes(self, problem: Problem) -> bool:
        """Nothing is executed."""
        return False


def predicted_task(profile: Profile, problem: Problem) -> OutputTask:
    """The task of a problem that is covered and asks for a value; raises as `covered_task` does."""
    return covered_task(profile, problem, OutputTask)
