"""What a grader's answer means: passed or not, a score, or why it is no verdict."""

from __future__ import annotations

import math
from typing import Any

import msgspec

TEXT, RAISED, HUNG, DIED, SCORE = "grader_text:", "grader_raised:", "grader_hung:", "grader_died:", "grader_score:"
"""How `Said.detail` begins where there is no verdict: it answered in words; it raised an exception or an error of
HTTP; it took longer than it may; its process ended; it gave what is no score (None, NaN, a list of several)."""
NOT_PUT, NOT_SENT = "tests_form:", "not_sent:"
"""The same where nothing was sent: the problem's tests have no such shape; the probe is too dangerous."""
OPAQUE = "opaque"
_TRUTHS = ("passed", "is_correct", "correct")
_NUMBERS = ("score", "reward", "scores", "rewards")
MAX_DETAIL = 300


class Reading(msgspec.Struct, frozen=True):
    """What was understood."""

    passed: bool | None
    score: float | None = None
    detail: str = ""


def read(value: Any) -> Reading:
    """The meaning of a plain value: a truth value; a number, of which 1 and more is passed; a list of one of them;
    a dictionary with ``score`` or ``reward``, and perhaps ``passed`` or ``is_correct``, which then decides."""
    match value:
        case bool() | int() | float() if math.isfinite(value):
            found = Reading(value >= 1, float(value))
        case str():
            found = Reading(None, None, no_verdict(TEXT, value))
        case [one]:
            found = read(one)
        case list():
            found = Reading(None, None, f"{SCORE} a list of {len(value)}")
        case dict():
            found = _of_fields(value)
        case _:
            found = Reading(None, None, f"{SCORE} {value}")
    return found


def _of_fields(value: dict[str, Any]) -> Reading:
    if OPAQUE in value:
        return Reading(None, None, no_verdict(SCORE, f"a value of type {value[OPAQUE]}"))
    truth = next((value[name] for name in _TRUTHS if isinstance(value.get(name), bool)), None)
    number = next((read(value[name]) for name in _NUMBERS if name in value), None)
    if number is None:
        if truth is None:
            return Reading(None, None, no_verdict(SCORE, f"a dictionary with {', '.join(value) or 'nothing'}"))
        return Reading(truth, float(truth))
    return number if truth is None else Reading(truth, number.score)


def no_verdict(prefix: str, text: object) -> str:
    """A detail: the prefix, and the text as one line that a terminal can show."""
    line = " ".join(str(text).split())
    return f"{prefix} {''.join(c if c.isprintable() else '?' for c in line)}"[:MAX_DETAIL]
