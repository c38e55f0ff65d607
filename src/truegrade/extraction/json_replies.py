"""Replies that are one JSON object, as models write them that were told to: its texts, by their fields' names."""

from __future__ import annotations

import json
from typing import Any

from truegrade.extraction.blocks import fenced_blocks

_MOST_FIELDS = 50


def texts_of_object(reply: str) -> dict[str, str]:
    """The texts in a reply that is a JSON object, alone or in its only fence; empty for any other reply.

    Names of fields inside others are joined by dots. A line break inside a text may stand as it is.
    """
    found: dict[str, str] = {}
    values: list[tuple[str, Any]] = [("", _object(reply))]
    while values and len(found) < _MOST_FIELDS:
        path, value = values.pop(0)
        if isinstance(value, str) and path:
            found[path] = value
        elif isinstance(value, dict):
            values += [(f"{path}.{name}" if path else name, held) for name, held in value.items()]
    return found


def _object(reply: str) -> Any:
    text = reply.strip()
    if not text.startswith("{"):
        fences = fenced_blocks(text) if "{" in text else []
        text = fences[0].code.strip() if len(fences) == 1 else ""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
