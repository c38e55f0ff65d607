"""Judging a predicted value: the policies of equality, and what it says of a pair of programs."""

from __future__ import annotations

import msgspec

from truegrade.extraction.assertions import of_another_call
from truegrade.extraction.parsing import parse_literal
from truegrade.grading import marks
from truegrade.grading.judgement import Judgement, shortened
from truegrade.grading.literals import compare
from truegrade.records import Answer, Reason


def marked_call(judgement: Judgement, answer: Answer) -> Judgement:
    """The judgement, marked where the value was stated of another call."""
    if not of_another_call(answer):
        return judgement
    return msgspec.structs.replace(judgement, marks=(*judgement.marks, marks.OTHER_CALL))


def judge_value(got: str, expected: str, other: str | None) -> Judgement:
    """``python_eq`` decides; marks say where another policy would decide otherwise, and what else it equals.

    Args:
        got: the predicted literal.
        expected: what the program returns.
        other: what the other program of a pair returns. `marks.REVERTED` says that the prediction equals it, right
            or wrong: whether it may count as a reversion is for statistics, which see both values.
    """
    comparison = compare(expected, got)
    found = []
    if other is not None and compare(other, got).python_eq:
        found.append(marks.REVERTED)
    if not comparison.python_eq:
        detail = f"answered {shortened(got)}, expected {shortened(expected)}"
        return Judgement(reason=Reason.WRONG_ANSWER, detail=detail, marks=tuple(found))
    if not comparison.strict_typed:
        found.append(marks.TYPES_DIFFER)
    if not comparison.repr_exact:
        found.append(marks.TEXT_DIFFERS)
    return Judgement(reason=Reason.PASSED, detail=comparison.why, marks=tuple(found))


def differing(one: str, other: str | None) -> tuple[bool, bool, bool]:
    """Whether two literals differ under Python's ``==``, whether one is a boolean, whether one is a list of them.

    Where akshsgaur/code-reasoning-repro@6c43fa8 takes the cases of an item together, it leaves such a list out of
    reversion as well (src/models/bedrock_claude/prompts.py, `is_boolean_output`).
    """
    if other is None:
        return False, False, False
    boolean = any(text.strip() in {"True", "False"} for text in (one, other))
    booleans = any(_is_booleans(text) for text in (one, other))
    return one != other and not compare(one, other).python_eq, boolean, booleans


def _is_booleans(text: str) -> bool:
    """Whether a literal is a list of booleans and not empty."""
    if not text.lstrip().startswith("["):
        return False
    value = getattr(parse_literal(text), "value", None)
    return isinstance(value, list) and bool(value) and all(isinstance(item, bool) for item in value)
