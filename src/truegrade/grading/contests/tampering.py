"""Whether what a program was seen to answer is right, by the rules of the published graders.

A profile owes the published verdict, also where a program reaches its grader. Such a pass is marked, and what
decides is what the program does: unless `screen` finds its text so plain that it cannot reach anything, it is run
again where no expected output is, and has to give right answers there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from truegrade.grading.contests.output_comparison import same_output
from truegrade.grading.contests.tests import decoded

_DIGITS = 50_000
"""Of the longest integer that a published grader reads."""
_LONGER, _LONG = 6, 1000
"""A right value told as JSON has at most so many times the characters of the expected text, and so many more."""
_BY_NUMPY = re.compile(r"bool|u?int(?:8|16|32|64)|float(?:16|32|64)")
_WORD = re.compile(r"\S+")


def contradicted(
    observed: Sequence[str | None],
    expected: Sequence[str],
    *,
    stdin: bool,
    right: Callable[..., bool],
) -> bool:
    """Whether what was seen of a program that passed is wrong on some test.

    Args:
        observed: what the program printed, or returned as JSON; None where that was not told.
        expected: as stored.
        stdin: which of the two it is.
        right: `right`, or another grader's in its place.
    """
    if len(observed) != len(expected):
        return True
    pairs = zip(observed, expected, strict=True)
    return any(text is not None and not right(text, wanted, stdin=stdin) for text, wanted in pairs)


def right(text: str, wanted: str, *, stdin: bool) -> bool:
    """Whether one answer is right; costs no more than a small multiple of the expected one's length.

    Args:
        text: what the program printed, or `told.as_told` of what it returned.
        wanted: as stored: for a returned value JSON, or itself a text where it is none.
        stdin: which of the two it is.
    """
    if stdin:
        return text.strip() == wanted.strip() or (_same_shape(text, wanted) and same_output(text, wanted))
    if text and text == wanted and "NaN" not in text:  # a NaN equals nothing
        return True  # decoding both would cost more than many a program
    if len(text) > _LONGER * len(wanted) + _LONG:
        return False
    try:
        expected = decoded(wanted, _DIGITS)
    except (ValueError, RecursionError):
        expected = wanted
    try:
        got = decoded(text, _DIGITS)
        return bool((_rebuilt(got) if '"numpy"' in text else got) == expected)
    except Exception:  # no JSON, nested too deeply, arrays that cannot be compared: no published grader passes it
        return False


def _same_shape(text: str, wanted: str) -> bool:
    """Whether two texts have as many lines, and lines that differ as many words: no flood is taken apart."""
    text, wanted = text.strip(), wanted.strip()
    if text.count("\n") != wanted.count("\n"):
        return False
    for got, line in zip(text.split("\n"), wanted.split("\n"), strict=True):
        words = len(line.split())
        if got != line and sum(1 for _ in islice(_WORD.finditer(got), words + 1)) != words:
            return False
    return True


def _rebuilt(value: Any) -> Any:
    """The value with what only numpy compares as it was."""
    if isinstance(value, list):
        return [_rebuilt(item) for item in value]
    if isinstance(value, dict):
        if value.keys() == {"numpy", "type"} and _BY_NUMPY.fullmatch(str(value["type"])):
            import numpy as np

            return np.array(value["numpy"], value["type"])[()]
        return {key: _rebuilt(item) for key, item in value.items()}
    return value
