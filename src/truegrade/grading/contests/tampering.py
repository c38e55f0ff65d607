"""Whether a program that a published grader passed has only told that grader so.

A profile owes the published verdict, also where a program reaches its grader. Two looks from outside find most of
them: what the program was seen to answer must be right by our comparison, and a program that names means of
reaching a grader must be right without expected outputs in its process. Not covered: a program that hides these
means from its text *and* sends the right answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from truegrade.grading.contests.comparison import same_output

_ORDINARY = "name|main|init|lt|gt|le|ge|repr|str|len|getitem|setitem|iter|next|call|add|sub|mul|slots|future"
_MEANS = re.compile(
    rf"__(?!(?:{_ORDINARY})__)\w+__"
    r"|\b(?:gc|inspect|ctypes|traceback|faulthandler|importlib|pickle|marshal|signal|tracemalloc)\b"
    r"|\b\w*(?:_frame|currentframe|f_back|f_locals|f_globals|settrace|setprofile|exc_info)\b"
    r"|\bmodules\b|\b(?:getattr|setattr|delattr|eval|exec|compile|globals|locals|vars)\s*\(|/proc/|lcb_runner|evalscope"
)


def suspicious(code: str) -> bool:
    """Whether the text names means of reaching a grader; most programs that do mean no harm."""
    return _MEANS.search(code) is not None


def contradicted(
    results: Sequence[Any], observed: Sequence[str | None], expected: Sequence[str], *, stdin: bool
) -> bool:
    """Whether a test counts as right although what was observed of it is wrong.

    Args:
        results: as published, one a test.
        observed: what the program printed, or returned as JSON; None where that was not told.
        expected: as stored.
        stdin: which of the two it is.
    """
    return any(
        bool(result) and text is not None and not _right(text, wanted, stdin=stdin)
        for result, text, wanted in zip(results, observed, expected, strict=False)
        if not (isinstance(result, int) and result < 0)
    )


def _right(text: str, wanted: str, *, stdin: bool) -> bool:
    if stdin:
        return same_output(text, wanted)
    if text and text == wanted and "NaN" not in text:  # a NaN equals nothing
        return True  # decoding both would cost more than many a program
    try:
        return bool(json.loads(text) == json.loads(wanted))
    except json.JSONDecodeError:
        return False
    except (
        ValueError,
        RecursionError,
    ):  # an integer of too many digits for this interpreter, or nested too deeply
        return True
