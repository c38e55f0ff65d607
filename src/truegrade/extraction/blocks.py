"""What stands between two marks of a reply: ``[ANSWER]``, MBPP's, those of one-line patterns, quoted ones.

``[ANSWER] ... [/ANSWER]`` blocks of a reply.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from truegrade.extraction.equalities import expression_ends
from truegrade.extraction.fences import fenced_blocks
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, Fault, Parser
from truegrade.extraction.thinking import (
    FinalChannel,
    Quoted,
    Weigh,
    Weight,
    final_channel,
    masked,
    thoughts_end,
    without_special_tokens,
)
from truegrade.records import Answer, Reason

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


# -------------------------------------- What stands between two marks, as published one-line patterns find it.


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


# ----------------------------------------------------------------------------------------------------------------
# The markers of MBPP's few-shot prompts around an answer: ``[BEGIN]`` and ``[DONE]`` on lines of their own.
# google-research/google-research@30adf0e ``mbpp/README.md``. A chat model asked in that form answers in it, and
# no stop string takes the markers away.


_BEGIN = re.compile(r"\A(?:[^\n]*\n)*?[ \t]*\[BEGIN\][ \t]*\r?\n")
_DONE = re.compile(r"^[ \t]*\[DONE\][ \t]*\r?$", re.MULTILINE)


def between_markers(text: str) -> str:
    """What stands before the first ``[DONE]``, and behind the ``[BEGIN]`` before it where there is one."""
    done = _DONE.search(text)
    kept = text[: done.start()] if done else text
    begin = _BEGIN.match(kept)
    return kept[begin.end() :] if begin else kept


# ----------------------------------------------------------------------------------------------------------------
# The final channel of a reply whose answer quotes a marker: ``'</think>'`` in a value or program ends nothing.
# A marker is quoted if the expression or the program that it stands in still is Python with question marks in its
# place, which Python reads in strings and comments alone. A program without a fence counts only as all that is
# said behind a thought, or as a whole reply.


_MAX_TRIES = 3
"""Tried: ends of an expression behind the marker; thoughts before it, behind which a program may begin."""


def final_channel_of_answer(reply: str, function: str, read: Callable[[str], Answer]) -> FinalChannel:
    """The final channel of a reply that predicts a value of the function, or arguments of it."""
    quoted = _in_expression(reply, ("assert", "[ANSWER]", f"{function}("))
    return final_channel(reply, _weighing(read), quoted)


def final_channel_of_choice(reply: str, function: str, read: Callable[[str], Answer]) -> FinalChannel:
    """The final channel of a reply that chooses a program and predicts a value."""
    quoted = _in_expression(reply, ("assert", "{", f"{function}("))
    return final_channel(reply, _weighing(read), quoted)


def final_channel_of_program(reply: str, weigh: Weigh) -> FinalChannel:
    """The final channel of a reply that holds a program."""
    parser, text = Parser(), cache(lambda: masked(reply))
    fences, ends = cache(lambda: fenced_blocks(text())), cache(lambda: thoughts_end(reply))
    said = cache(lambda: len(without_special_tokens(reply)))
    is_python = cache(lambda code: not isinstance(parser.module(code), Fault))

    def quoted(start: int, end: int) -> bool:
        around = [fence.code for fence in fences() if fence.start <= start and end <= fence.end]
        if around:
            return any(is_python(code) for code in around)
        begins = [0, *ends()[: bisect_right(ends(), start)]]
        over = [to for to in (len(reply), said()) if to >= end]
        return any(is_python(text()[begin:to]) for begin in {0, *begins[-_MAX_TRIES:]} for to in over)

    return final_channel(reply, weigh, quoted)


def _weighing(read: Callable[[str], Answer]) -> Weigh:
    """Says what a passage holds by what is read in it."""

    def weigh(text: str) -> Weight:
        answer = read(text)
        if answer.value is not None:
            return Weight.ANSWER
        missing = answer.reason is Reason.NO_ANSWER and answer.found in {"no_answer", "no_choice"}
        return Weight.NOTHING if missing else Weight.ATTEMPT

    return weigh


def _in_expression(reply: str, openings: Sequence[str]) -> Quoted:
    """Tells markers inside an expression that begins behind one of these words or at one of these brackets."""
    parser, text = Parser(), cache(lambda: masked(reply))

    def quoted(start: int, end: int) -> bool:
        return any(_reaches(parser, text(), begin, end) for begin in _beginnings(text(), openings, start))

    return quoted


def _beginnings(text: str, openings: Sequence[str], start: int) -> Iterator[int]:
    yield 0
    for opening in openings:
        at = text.rfind(opening, max(0, start - MAX_SOURCE_CHARS), start)
        if at >= 0:
            yield at if opening[-1] in "({" else at + len(opening)


def _reaches(parser: Parser, text: str, begin: int, end: int) -> bool:
    """Whether an expression begins there and goes on to ``end`` or further."""
    reach = expression_ends(text, begin, begin + MAX_SOURCE_CHARS)
    parser.charge(max(0, reach.read_to - begin))
    ends = [one for one in reach.ends if one >= end][:_MAX_TRIES]
    return any(not isinstance(parser.expression(text[begin:one].strip()), Fault) for one in ends)
