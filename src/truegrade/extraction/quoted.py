"""The final channel of a reply whose answer quotes a marker: ``'</think>'`` in a value or program ends nothing.

A marker is quoted if the expression or the program that it stands in still is Python with question marks in its
place, which Python reads in strings and comments alone. A program without a fence counts only as a whole reply.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from truegrade.extraction.expressions import expression_ends
from truegrade.extraction.fences import fenced_blocks
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, Fault, Parser
from truegrade.extraction.thinking import FinalChannel, Quoted, final_channel, masked

_MAX_TRIES = 3
"""Ends of an expression, behind the marker, that are tried."""


def final_channel_of_answer(reply: str, function: str) -> FinalChannel:
    """The final channel of a reply that predicts a value of the function, or arguments of it."""
    return final_channel(reply, _in_expression(reply, ("assert", "[ANSWER]", f"{function}(")))


def final_channel_of_choice(reply: str, function: str) -> FinalChannel:
    """The final channel of a reply that chooses a program and predicts a value of the function."""
    return final_channel(reply, _in_expression(reply, ("assert", "{", f"{function}(")))


def final_channel_of_program(reply: str) -> FinalChannel:
    """The final channel of a reply that holds a program."""
    parser, text = Parser(), cache(lambda: masked(reply))
    fences = cache(lambda: fenced_blocks(text()))

    def quoted(start: int, end: int) -> bool:
        around = [fence.code for fence in fences() if fence.start <= start and end <= fence.end]
        codes = around if fences() else [text()]
        return any(not isinstance(parser.module(code), Fault) for code in codes)

    return final_channel(reply, quoted)


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
