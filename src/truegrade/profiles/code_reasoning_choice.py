"""Reading a choice as akshsgaur/code-reasoning-repro @6c43fa8 does: the first closing brace ends the object."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from truegrade.extraction.parsing import quietly
from truegrade.profiles.assertion_regex import DOTTED_NAME, asserted_value
from truegrade.records import Answer, Reason

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
