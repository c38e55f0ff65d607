"""`code-reasoning` and `code-reasoning-notebook`: the code of akshsgaur/code-reasoning-repro @6c43fa8."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec

from truegrade.errors import UnknownName
from truegrade.extraction.choices import Choice
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, quietly
from truegrade.grading import marks
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, shortened
from truegrade.grading.marks import REVERTED
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule
from truegrade.profiles.prompt_building import choice_prompts, output_prompts
from truegrade.profiles.refusals import check_variant, covered_task
from truegrade.records import Answer, ChoiceTask, Completion, OutputTask, Problem, Prompt, Reason
from truegrade.records.kinds import Kind

# ------- The regular expressions of akshsgaur/code-reasoning-repro @6c43fa8, and its comparison of two values.
# The expressions are re-expressed so that a hostile reply takes linear time; what they match is the same
# (``tests/profiles/test_code_reasoning.py`` compares with the expressions themselves).


NAME: Final = re.compile(r"assert\s+\w+\(")
DOTTED_NAME: Final = re.compile(r"assert\s+[\w\.]+\(")
REST_OF_LINE: Final = re.compile(r"\)\s*==\s*(.+)")
ONE_CHARACTER: Final = re.compile(r"\)\s*==\s*(.)")
"""``(.+?)(?:|$)``: a ``\\n`` got lost in the notebooks, and the empty alternative always matches."""

_OPEN = re.compile(r"\[ANSWER\]", re.IGNORECASE)
_CLOSE = re.compile(r"\[/ANSWER\]", re.IGNORECASE)


def first_block(text: str) -> str | None:
    r"""The first match of ``\[ANSWER\](.*?)\[/ANSWER\]``, stripped; None without a closed block."""
    opened = _OPEN.search(text)
    closed = _CLOSE.search(text, opened.end()) if opened else None
    return text[opened.end() : closed.start()].strip() if opened and closed else None


def asserted_value(text: str, head: re.Pattern[str] = NAME, tail: re.Pattern[str] = REST_OF_LINE) -> str | None:
    r"""Group 1 of the first match of ``<head>[^)]*<tail>``, stripped: what the first such assertion says.

    Args:
        text: a block or a reply.
        head: up to the opening parenthesis.
        tail: from the closing parenthesis on.
    """
    failed = -1
    for start in head.finditer(text):
        close = text.find(")", start.end())
        if close < 0:
            return None
        match = tail.match(text, close) if close != failed else None
        if match is not None:
            return match[1].strip()
        failed = close
    return None


class EqualityResult(msgspec.Struct, frozen=True):
    """Whether two texts are the same value, and the exception that the comparison ended with."""

    same: bool
    raised: str = ""
    """Name of an exception other than the two that the published check catches."""


def published_equality(predicted: str, expected: str) -> EqualityResult:
    """Equal as stripped text, else equal under ``==`` as literals (``src/models/evaluate.py``).

    A prediction of more than `MAX_SOURCE_CHARS` is compared as text only.
    """
    predicted, expected = predicted.strip(), expected.strip()
    if predicted == expected:
        return EqualityResult(True)
    if len(predicted) > MAX_SOURCE_CHARS:
        return EqualityResult(False)
    try:
        with quietly():
            return EqualityResult(bool(ast.literal_eval(predicted) == ast.literal_eval(expected)))
    except (ValueError, SyntaxError):
        return EqualityResult(False)
    except (TypeError, MemoryError, RecursionError) as error:
        return EqualityResult(False, type(error).__name__)


def judge_published(predicted: str, expected: str, other: str | None, *, ends_the_run: bool = False) -> Judgement:
    """Decide by `published_equality`; marked as reverted where it equals the other program's value.

    Args:
        predicted: the extracted text.
        expected: what the program returns.
        other: what the other program of a pair returns.
        ends_the_run: whether the published check lets exceptions through, so that they end its run.
    """
    equality = published_equality(predicted, expected)
    reverted = other is not None and published_equality(predicted, other).same
    marks = (REVERTED,) if reverted else ()
    if equality.same:
        return Judgement(reason=Reason.PASSED, marks=marks)
    detail = f"answered {shortened(predicted)}, expected {shortened(expected)}"
    if equality.raised:
        detail += f" ({equality.raised}{', which ends the published run' if ends_the_run else ''})"
    return Judgement(reason=Reason.WRONG_ANSWER, detail=detail, marks=marks)


# ----------------------------------------------------------------------------------------------------------------
# Reading a choice as akshsgaur/code-reasoning-repro @6c43fa8 does: the first closing brace ends the object.


_OBJECT = re.compile(r'\{\s*"chosen_program"\s*:')
_LETTER = re.compile(r'"chosen_program"\s*:\s*"?([A-Za-z])"?')
_ASSERTION = re.compile(r'"assertion"\s*:\s*("(?:[^"\\]|\\.)*")')
_OPENING = re.compile(r"^\[ASSERTION\]\s*", re.IGNORECASE)
_CLOSING = re.compile(r"\s*\[/ASSERTION\]$", re.IGNORECASE)


def read_choice(reply: str, *, fields: bool) -> Answer:
    """The letter and the predicted text of a reply, as canonical JSON (`truegrade.extraction.choices`).

    Args:
        reply: what the model said.
        fields: whether an object that is no JSON is searched for the two fields.
    """
    start = _OBJECT.search(reply)
    end = reply.find("}", start.end()) if start else -1
    if start is None or end < 0:
        return Answer(value=None, found="no_choice", reason=Reason.NO_ANSWER, form="answer")
    parsed = _parsed(reply[start.start() : end + 1], fields=fields)
    if parsed is None:
        return Answer(value=None, found="unparsable object", reason=Reason.NO_ANSWER, form="answer")
    letter, assertion = parsed.get("chosen_program"), parsed.get("assertion", "")
    if letter not in ("A", "B"):
        return Answer(value=None, found="bad_letter", reason=Reason.NO_ANSWER, form="answer")
    value = _predicted(assertion) if isinstance(assertion, str) else ""
    # JSON can escape half a surrogate pair, which no text of ours can hold and no literal is equal to.
    value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    choice = json.dumps({"chosen_program": letter, "value": value}, separators=(",", ":"), ensure_ascii=False)
    return Answer(value=choice, found="object", form="answer")


def _parsed(source: str, *, fields: bool) -> dict[str, Any] | None:
    try:
        parsed: dict[str, Any] = json.loads(source)
    except (ValueError, RecursionError):
        letter, assertion = _LETTER.search(source), _ASSERTION.search(source)
        if not fields or letter is None or assertion is None:
            return None
        return {"chosen_program": letter[1], "assertion": _unquoted(assertion[1])}
    return parsed


def _unquoted(literal: str) -> str:
    try:
        with quietly():
            return str(ast.literal_eval(literal))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return literal.strip('"')


def _predicted(assertion: str) -> str:
    """The text behind ``==``, else all of it."""
    text = _CLOSING.sub("", _OPENING.sub("", assertion.strip()))
    value = asserted_value(text, head=DOTTED_NAME)
    return text if value is None else value


# ----------- `seed-regex`: the rule as it is written down in akshsgaur/code-reasoning-repro, October 20, 2025.
# Its name is older than this file: stored runs carry it. No random seed is meant.


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
