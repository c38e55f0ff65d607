"""Replies that are a JSON object, as models write them that were told to: its texts, by their fields' names."""

from __future__ import annotations

import json
import re
from typing import Any

from truegrade.patterns import pattern

_MOST_FIELDS = 50
_MOST_OBJECTS, _MOST_TRIES = 10, 20
_BEGINS = pattern(r"(?:\A|(?<=[^\s=(\[,{]))\s{0,20}(\{)\s{0,200}\"")
"""Behind words, or a fence; what Python writes in front of a dictionary is none."""
_CODE = pattern(
    r"^[ \t]*(?:(?:async[ \t]+)?def\s+\w+\s*\(|class\s+\w+\s*[(:]|import\s+\w|from\s+\S+\s+import\s"
    r"|(?:return|yield)\b)|\blambda\b",
    re.MULTILINE,
)


def texts_of_object(reply: str) -> dict[str, str]:
    """The texts in a reply that is a JSON object, words around it apart; empty for any other reply.

    Words are no code. Of several objects each gives its texts, and of one name the last counts. Names of fields
    inside others are joined by dots. A line break inside a text may stand as it is.
    """
    found: dict[str, str] = {}
    values: list[tuple[str, Any]] = [("", held) for held in _objects(reply)]
    while values and len(found) < _MOST_FIELDS:
        path, value = values.pop(0)
        if isinstance(value, str) and path:
            found[path] = value
        elif isinstance(value, dict):
            values += [(f"{path}.{name}" if path else name, held) for name, held in value.items()]
    return found


def _objects(reply: str) -> list[Any]:
    found: list[Any] = []
    words, end, tries = "", 0, 0
    read = json.JSONDecoder(strict=False).raw_decode
    while len(found) < _MOST_OBJECTS and tries < _MOST_TRIES and (begin := _BEGINS.search(reply, end)):
        tries += 1
        at, words = begin.start(1), words + reply[end : begin.start(1)]
        try:
            held, end = read(reply, at)
        except (ValueError, RecursionError):
            words, end = words + "{", at + 1
        else:
            found.append(held)
    return [] if _CODE.search(words + reply[end:]) else found
