"""`code-reasoning` and `code-reasoning-notebook`: the code of akshsgaur/code-reasoning-repro @6c43fa8."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

import msgspec

from truegrade.errors import UnknownName
from truegrade.extraction.choices import Choice
from truegrade.grading import marks
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.assertion_regex import (
    ONE_CHARACTER,
    REST_OF_LINE,
    asserted_value,
    first_block,
    judge_published,
)
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule
from truegrade.profiles.code_reasoning_choice import read_choice
from truegrade.profiles.execution_prompts import choice_prompts, output_prompts
from truegrade.profiles.refusals import check_variant
from truegrade.profiles.seed_regex import COMPARISON, DEFECTS, FAILED, predicted_task
from truegrade.records import Answer, ChoiceTask, Completion, Problem, Prompt
from truegrade.records.kinds import Kind

_REPO = "akshsgaur/code-reasoning-repro@6c43fa8 src/models"
_CODE = f"{_REPO}/inference.py, bedrock_claude/prompts.py"
_NOTEBOOKS = f"{_REPO}/gpt_oss_evaluation_colab.ipynb, DSLgpt_oss_evaluation_colab.ipynb, deepseek-coder-7b.ipynb"
_BLOCK = Rule(
    "extraction",
    r"first \[ANSWER\](.*?)\[/ANSWER\], any case; in it group 1 of assert\s+\w+\([^)]*\)\s*==\s*(.+), else all"
    " of the block",
    _CODE,
)
_AFTER = (
    COMPARISON,
    Rule("comparison", "choice: right if what follows == in the assertion (without one, all of its text) equals"
         " what the chosen program returns", f"{_REPO}/bedrock_claude/execution_choice.py"),
    Rule("limits", "none; here a prediction of over 100,000 characters is compared as text only", _CODE),
    Rule("aggregation", "pass@k, mean over problems; OC, MC, OR, MR per case (notebooks) or over all cases of an"
         " item (Bedrock): both are in every summary", f"{_REPO}/evaluate.py, bedrock_claude"),
    FAILED,
)  # fmt: skip
_CHOICE_DEFECTS = (
    r"choice: the object ends at the first }: an answer with a dictionary or a set is cut",
    "choice: chosen_program must be the first key, and keys stand in double quotes",
)


class CodeReasoning(Profile):
    """Tags, else the first assertion in the reply, else all of it."""

    name: ClassVar[str] = "code-reasoning"
    version: ClassVar[str] = "6c43fa8"
    summary: ClassVar[str] = "code-reasoning-repro's scripts: tags, else the first assertion, else the whole reply"
    counts_failed: ClassVar[bool] = True
    current: ClassVar[bool] = False
    covers: ClassVar[tuple[Kind, ...]] = ("output_prediction", "execution_choice")
    variants: ClassVar[tuple[str, ...]] = ("default", "bedrock", "inference-py")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "the paper's zero-shot prompts without a system message; inference-py and bedrock: with the"
             " one that these still send, and Bedrock's own words for a choice", _CODE),
        _BLOCK,
        Rule("extraction", r"without a block group 1 of the first assert\s+\w+\([^)]*\)\s*==\s*(.+?)(?:\n|$), else"
             " the whole reply, stripped", _CODE),
        Rule("extraction", r'choice: \{\s*"chosen_program"\s*:.*?\} as JSON, else its two fields by regular'
             " expressions; a letter other than A and B is an invalid run. A field outputs, which no prompt asks"
             " for, is not read", f"{_REPO}/bedrock_claude/prompts.py"),
        *_AFTER,
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        *DEFECTS,
        *_CHOICE_DEFECTS,
        "choice: an assertion that is a number ends the run; here it is wrong",
        "an exception of the comparison counts as wrong: `{[1]: 2}`",
    )
    fallback: ClassVar[re.Pattern[str]] = REST_OF_LINE
    """Tail of the expression that is tried outside blocks."""
    fields_pattern: ClassVar[bool] = True
    """Whether its second way to read a choice compiles."""

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The repository's own words; see `variants`."""
        name = check_variant(self, variant)
        if isinstance(problem.task, ChoiceTask):
            choices = choice_prompts(problem.task)
        else:
            choices = output_prompts(predicted_task(self, problem))
        if name not in choices:
            known = [known for known in self.variants if known in choices]
            raise UnknownName("prompt variant", name, known, f"for {problem.benchmark} under {self.name}")
        return choices[name]()

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Its regular expressions; text that is already extracted stays as it is."""
        text = completion.text or ""
        if isinstance(problem.task, ChoiceTask):
            return read_choice(text, fields=self.fields_pattern)
        predicted_task(self, problem)
        if completion.form == "answer":
            return Answer(value=text, found="as given", form="answer")
        block = first_block(text)
        if block is not None:
            value = asserted_value(block)
            return Answer(value=block if value is None else value, found="block", form="answer")
        value = asserted_value(text, tail=self.fallback)
        if value is not None:
            return Answer(value=value, found="body", form="answer")
        return Answer(value=text.strip(), found="whole reply", form="answer")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Compare as text, then as literals."""
        if isinstance(problem.task, ChoiceTask):
            return _grade_choice(problem.task, answer)
        task = predicted_task(self, problem)
        return judge_published(answer.value or "", task.expected, task.pairing.other if task.pairing else None)

    def executes(self, problem: Problem) -> bool:
        """Nothing is executed."""
        return False


class CodeReasoningNotebook(CodeReasoning):
    """The same with the notebooks' fallback, which lost a ``\\n`` and stores one character."""

    name: ClassVar[str] = "code-reasoning-notebook"
    summary: ClassVar[str] = "code-reasoning-repro's notebooks: the same, but the fallback takes one character"
    variants: ClassVar[tuple[str, ...]] = ("default", "one-shot", "leetcode-notebook", "dsl-notebook")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "zero-shot (gpt-oss; DeepSeek on LeetCode) or one-shot (DeepSeek on DSL-List, LLM-List), no"
             " system message; leetcode-notebook and dsl-notebook: their words for a choice", _NOTEBOOKS),
        _BLOCK,
        Rule("extraction", r"without a block group 1 of the first assert\s+\w+\([^)]*\)\s*==\s*(.+?)(?:|$): one"
             " character; else the whole reply, stripped", _NOTEBOOKS),
        Rule("extraction", r'choice: \{\s*"chosen_program"\s*:.*?\} as JSON; the expression for the assertion in'
             " anything else does not compile, so it is an invalid run. The LLM-List notebook reads from the first"
             " { to the last }: not reproduced", _NOTEBOOKS),
        *_AFTER,
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        *DEFECTS,
        "without tags one character is the answer: 24 is graded by its 2",
        *_CHOICE_DEFECTS,
        "choice: an object that is no JSON (single quotes, the example's own \\') is an invalid run",
        "an exception of the comparison counts as wrong: `{[1]: 2}`",
    )
    fallback: ClassVar[re.Pattern[str]] = ONE_CHARACTER
    fields_pattern: ClassVar[bool] = False


def _grade_choice(task: ChoiceTask, answer: Answer) -> Judgement:
    choice = msgspec.json.decode(answer.value or "", type=Choice)
    chose_a = choice.chosen_program == "A"
    own, other = task.expected if chose_a else task.expected[::-1]
    chosen = (
        marks.CHOSE_A if chose_a else marks.CHOSE_B,
        marks.CHOSE_ORIGINAL if choice.chosen_program == task.original else marks.CHOSE_MUTANT,
    )
    judgement = judge_published(choice.value or "", own, other)
    return msgspec.structs.replace(judgement, marks=(*chosen, *judgement.marks))
