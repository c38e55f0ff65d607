"""What stands between two marks, as published one-line patterns find it."""

from __future__ import annotations

import re


def spans(text: str, opening: str | re.Pattern[str], closing: str) -> list[str]:
    """What ``re.findall(OPENING(.*?)CLOSING, DOTALL)`` finds, in linear time.

    Args:
        text: to be searched.
        opening: a text, or a pattern that is searched in linear time and has no lookbehind.
        closing: a text.
    """
    pattern = re.compile(re.escape(opening)) if isinstance(opening, str) else opening
    found: list[str] = []
    position = 0
    while (opened := pattern.search(text, position)) is not None:
        # Where nothing closes this one, nothing closes a later one.
        if (end := text.find(closing, opened.end())) < 0:
            break
        found.append(text[opened.end() : end])
        position = end + len(closing)
    return found
