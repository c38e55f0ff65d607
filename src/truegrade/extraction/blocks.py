"""``[ANSWER] ... [/ANSWER]`` blocks of a reply."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_TAG = re.compile(r"\[(/?)ANSWER\]|\[PYTHON\]", re.IGNORECASE)
_CUT_TAG = re.compile(r"\[(?:/(?:A(?:N(?:S(?:W(?:ER?)?)?)?)?)?)?\Z", re.IGNORECASE)

KEPT_FIRST, KEPT_LAST = 100, 400
"""Of more blocks than this only the first and the last are read: a reply with so many is broken output."""


@dataclass(frozen=True, slots=True)
class Block:
    """The text between two tags, and how many ``[PYTHON]`` tags stand before it."""

    text: str
    example: int
    found: str = "block"
    """``open_block`` where nothing closes it."""


@dataclass(frozen=True, slots=True)
class AnswerBlocks:
    """The blocks of a reply. ``open`` is the text behind a last tag that nothing closes, else empty."""

    closed: tuple[Block, ...]
    open: str
    examples: int = 0
    """``[PYTHON]`` tags in all."""

    def parts(self) -> list[Block]:
        """All blocks in order; one that is left open is the last."""
        left_open = [Block(self.open, self.examples, "open_block")] if self.open.strip() else []
        return [*self.closed, *left_open]


def holds_tag(text: str) -> bool:
    """Whether a tag stands in a text."""
    return _TAG.search(text) is not None


def answer_blocks(text: str, quoted: Sequence[tuple[int, int]] = ()) -> AnswerBlocks:
    """Find the blocks of a text; tags in any case; of several opening tags in a row the last one counts.

    Tags inside the stretches ``quoted`` are none.

    A closing tag without an opening one closes a block that began with the text: CRUXEval's prompts end with an
    open ``[ANSWER]``.
    """
    spans: list[tuple[int, int, int]] = []
    start: int | None = 0
    opened, example = False, 0
    for tag in _TAG.finditer(text):
        if any(first <= tag.start() < last for first, last in quoted):
            continue
        if tag.group(1) is None:
            example += 1
        elif not tag.group(1):
            start, opened = tag.end(), True
        elif start is not None:
            spans.append((start, tag.start(), example))
            start, opened = None, False
    kept = spans if len(spans) <= KEPT_FIRST + KEPT_LAST else spans[:KEPT_FIRST] + spans[-KEPT_LAST:]
    closed = tuple([Block(text[first:last], example) for first, last, example in kept])
    left = _CUT_TAG.sub("", text[start:].rstrip()) if opened and start is not None else ""
    return AnswerBlocks(closed, left, example)
