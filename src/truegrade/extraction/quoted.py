"""The final channel of a reply whose answer quotes a marker: ``'</think>'`` in a value or program ends nothing.

A marker is quoted if the expression or the program that it stands in still is Python with question marks in its
place, which Python reads in strings and comments alone. A program without a fence counts only as all that is said
behind a thought, or as a whole reply.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from truegrade.extraction.expressions import expression_ends
from truegrade.extraction.fences import fenced_blocks
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, Fault, Parser
from truegrade.extraction.special_tokens import without_special_tokens
from truegrade.extraction.thinking import (
    FinalChannel,
    Quoted,
    Weigh,
    Weight,
    final_channel,
    masked,
    thoughts_end,
)
from truegrade.records import Answer, Reason

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
