"""The regular expressions of akshsgaur/code-reasoning-repro @6c43fa8, and its comparison of two values.

The expressions are re-expressed so that a hostile reply takes linear time; what they match is the same
(``tests/profiles/test_code_reasoning.py`` compares with the expressions themselves).
"""

from __future__ import annotations

import ast
import re
from typing import Final

import msgspec

from truegrade.extraction.parsing import MAX_SOURCE_CHARS, quietly
from truegrade.grading.judgement import Judgement, shortened
from truegrade.grading.marks import REVERTED
from truegrade.records import Reason

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
