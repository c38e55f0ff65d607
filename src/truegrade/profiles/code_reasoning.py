"""`seed-regex`, `code-reasoning`, `code-reasoning-notebook`: the code of akshsgaur/code-reasoning-repro @6c43fa8.

`paper-tags` takes the prompt of arXiv 2504.05518, which that code asks, at its word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec

from truegrade.extraction.assertions import extract_output_answer
from truegrade.extraction.blocks import answer_blocks
from truegrade.extraction.choices import Choice
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, quietly, unix_newlines
from truegrade.files import syntax
from truegrade.grading import marks
from truegrade.grading.judgement import Judgement, shortened
from truegrade.grading.marks import REVERTED
from truegrade.kinds import Context
from truegrade.profiles.base import Profile, Way
from truegrade.records import Answer, ChoiceTask, Completion, OutputTask, Problem, Reason

# -------- `code-reasoning` and `code-reasoning-notebook`: the code of akshsgaur/code-reasoning-repro @6c43fa8.


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
            return EqualityResult(bool(syntax.literal_eval(predicted) == syntax.literal_eval(expected)))
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
            return str(syntax.literal_eval(literal))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return literal.strip('"')


def _predicted(assertion: str) -> str:
    """The text behind ``==``, else all of it."""
    text = _CLOSING.sub("", _OPENING.sub("", assertion.strip()))
    value = asserted_value(text, head=DOTTED_NAME)
    return text if value is None else value


# ----------- `seed-regex`: the rule as it is written down in akshsgaur/code-reasoning-repro, October 20, 2025.
# Its name is older than this file: stored runs carry it. No random seed is meant.


def _seed_extract(problem: Problem, task: OutputTask, completion: Completion) -> Answer:
    """One regular expression in the first block; text that is already extracted stays as it is."""
    text = completion.text or ""
    if completion.form == "answer":
        return Answer(value=text, found="as given", form="answer")
    block = first_block(text)
    value = None if block is None else asserted_value(block)
    if value is None:
        return Answer(value=text.strip(), found="whole reply", form="answer")
    return Answer(value=value, found="block", form="answer")


def _compare(task: OutputTask, answer: Answer, *, ends_the_run: bool) -> Judgement:
    """As text, then as literals."""
    other = task.pairing.other if task.pairing else None
    return judge_published(answer.value or "", task.expected, other, ends_the_run=ends_the_run)


class SeedRegex(Profile):
    """Tags, one regular expression, else the whole reply; compared as text, then as literals."""

    name = "seed-regex"
    version = "2025-10-20"
    counts_failed = True
    current = False
    ways: ClassVar[Mapping[str, Way]] = {
        "output_prediction": Way(
            extract=_seed_extract,
            judge=lambda problem, task, answer, context: _compare(task, answer, ends_the_run=True),
            executes=False,
        )
    }


def _tags_extract(completion: Completion, fallback: re.Pattern[str]) -> Answer:
    """Its regular expressions; text that is already extracted stays as it is."""
    text = completion.text or ""
    if completion.form == "answer":
        return Answer(value=text, found="as given", form="answer")
    block = first_block(text)
    if block is not None:
        value = asserted_value(block)
        return Answer(value=block if value is None else value, found="block", form="answer")
    value = asserted_value(text, tail=fallback)
    if value is not None:
        return Answer(value=value, found="body", form="answer")
    return Answer(value=text.strip(), found="whole reply", form="answer")


def _judge_choice(problem: Problem, task: ChoiceTask, answer: Answer, context: Context) -> Judgement:
    choice = msgspec.json.decode(answer.value or "", type=Choice)
    chose_a = choice.chosen_program == "A"
    own, other = task.expected if chose_a else task.expected[::-1]
    chosen = (
        marks.CHOSE_A if chose_a else marks.CHOSE_B,
        marks.CHOSE_ORIGINAL if choice.chosen_program == task.original else marks.CHOSE_MUTANT,
    )
    judgement = judge_published(choice.value or "", own, other)
    return msgspec.structs.replace(judgement, marks=(*chosen, *judgement.marks))


def _tagged(fallback: re.Pattern[str], *, fields: bool) -> dict[str, Way]:
    """Tags, else an assertion in the reply, else all of it.

    Args:
        fallback: tail of the expression that is tried outside blocks.
        fields: whether the second way to read a choice compiles.
    """
    return {
        "output_prediction": Way(
            extract=lambda problem, task, completion: _tags_extract(completion, fallback),
            judge=lambda problem, task, answer, context: _compare(task, answer, ends_the_run=False),
            executes=False,
        ),
        "execution_choice": Way(
            extract=lambda problem, task, completion: read_choice(completion.text or "", fields=fields),
            judge=_judge_choice,
            executes=False,
        ),
    }


class CodeReasoning(Profile):
    """Tags, else the first assertion in the reply, else all of it."""

    name = "code-reasoning"
    version = "6c43fa8"
    counts_failed = True
    current = False
    ways: ClassVar[Mapping[str, Way]] = _tagged(REST_OF_LINE, fields=True)
    variants: tuple[str, ...] = ("default", "bedrock", "inference-py")


class CodeReasoningNotebook(CodeReasoning):
    """The same with the notebooks' fallback, which lost a ``\\n`` and stores one character."""

    name = "code-reasoning-notebook"
    ways: ClassVar[Mapping[str, Way]] = _tagged(ONE_CHARACTER, fields=False)
    variants = ("default", "one-shot", "leetcode-notebook", "dsl-notebook")


# ------ `paper-tags`: the prompt of arXiv 2504.05518 taken at its word. What stands in the tags is the answer.


def _tagged_value(problem: Problem, task: OutputTask, completion: Completion) -> Answer:
    """What the last closed block says; text that is already extracted is read like a block."""
    text = unix_newlines(completion.text or "")
    if completion.form == "answer":
        return extract_output_answer(text, task.function)
    blocks = answer_blocks(text).closed
    if not blocks:
        return Answer(value=None, found="no closed block", reason=Reason.NO_ANSWER, form="answer")
    return extract_output_answer(blocks[-1].text, task.function)


class PaperTags(Profile):
    """Tags are required, and nothing outside them is looked at."""

    name = "paper-tags"
    version = "1"
    current = False
    ways: ClassVar[Mapping[str, Way]] = {"output_prediction": Way(extract=_tagged_value)}
    variants = ("default", "one-shot")
