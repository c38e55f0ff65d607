"""EvalPlus' first step of reading a reply: the span of lines that parses and has most lines that are not blank.

evalplus/evalplus@26d6d00 ``evalplus/sanitize.py`` ``code_extract`` tries every span of two or more lines, which
takes minutes for a long reply. Here the same span is found with about one parse a line, because a text that
CPython's parser gives up on before its end stays unreadable whatever lines follow it.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from enum import Enum, auto

# One lock for all who silence warnings: `catch_warnings` swaps process-wide state.
from truegrade.extraction.parsing import quietly

MAX_PARSED_CHARS = 5_000_000
"""What is parsed for one reply, at most about 5 s; then the best span so far is taken. EvalPlus has no bound."""

_ANSI = re.compile(r"\x1B(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])")
_ALLOW_INCOMPLETE_INPUT = 0x4000
"""``PyCF_ALLOW_INCOMPLETE_INPUT`` of CPython >= 3.11 (``Include/cpython/compile.h``): a fault at the very end of
the text is reported as incomplete input."""


class _Reading(Enum):
    WHOLE = auto()
    BEGUN = auto()
    """Not a module, but more lines may make it one."""
    BROKEN = auto()
    """Not a module, whatever follows."""


def longest_span(reply: str) -> str:
    """The chosen lines, terminal colours removed. Where nothing parses, the first line. Runs nothing."""
    lines = _ANSI.sub("", reply).split("\n")
    search = _Search(lines)
    best, most = (0, 0), 0
    with quietly():
        for first in range(len(lines) - 1):
            last = search.end_of_longer(first, most)
            if last is not None:
                best, most = (first, last), search.filled_lines(first, last)
    return "\n".join(lines[best[0] : best[1] + 1])


class _Search:
    """Reads spans of lines; ``first`` and ``last`` are indices, both included."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._chars_left = MAX_PARSED_CHARS
        self._filled = [0]
        """Lines before an index that are not blank."""
        for line in lines:
            self._filled.append(self._filled[-1] + bool(line.strip()))

    def filled_lines(self, first: int, last: int) -> int:
        """Lines of the span that are not blank."""
        return self._filled[last + 1] - self._filled[first]

    def end_of_longer(self, first: int, most: int) -> int | None:
        """Where the longest span from ``first`` ends that has more than ``most`` lines; None if none parses."""
        least = self._nearest_end(first, most + 1)
        if least is None or self._read(first, least) is _Reading.BROKEN:
            return None
        last = self._last_unbroken(first, least)
        while last >= least:
            if self._read(first, last) is _Reading.WHOLE:
                nearest = self._nearest_end(first, self.filled_lines(first, last)) or last
                ends = range(nearest, last)
                return next((end for end in ends if self._read(first, end) is _Reading.WHOLE), last)
            last = min(last - 1, self._line_left_open(first, last) - 1)
        return None

    def _nearest_end(self, first: int, count: int) -> int | None:
        """End of the shortest span, of two lines at least, with this many that are not blank."""
        end = bisect_left(self._filled, self._filled[first] + count, lo=first + 1) - 1
        return max(end, first + 1) if end < len(self._lines) else None

    def _last_unbroken(self, first: int, least: int) -> int:
        """The last end up to which the span is not broken: once it is, it stays so."""
        last = len(self._lines) - 1
        if self._read(first, last) is not _Reading.BROKEN:
            return last
        ends = range(least, last + 1)
        return least - 1 + bisect_right(ends, False, key=lambda end: self._read(first, end) is _Reading.BROKEN)

    def _read(self, first: int, last: int) -> _Reading:
        source = "\n".join(self._lines[first : last + 1])
        if self._chars_left <= 0:
            return _Reading.BROKEN
        reading = _read(source)
        # A broken text was read up to its fault only; the rest of it was only copied.
        self._chars_left -= len(source) // (50 if reading is _Reading.BROKEN else 1)
        return reading

    def _line_left_open(self, first: int, last: int) -> int:
        """Where the bracket or string begins that is still open at the end; else the line behind the span.

        No span that ends in between can parse.
        """
        try:
            compile("\n".join(self._lines[first : last + 1]), "<reply>", "exec", ast.PyCF_ONLY_AST, True)
        except SyntaxError as error:
            message = error.msg or ""
            if error.lineno and (message.endswith("was never closed") or "triple-quoted" in message):
                return first + error.lineno - 1
        except (ValueError, MemoryError, RecursionError):
            pass
        return last + 1


def _read(source: str) -> _Reading:
    try:
        compile(source, "<reply>", "exec", ast.PyCF_ONLY_AST | _ALLOW_INCOMPLETE_INPUT, dont_inherit=True)
    except SyntaxError as error:
        return _Reading.BEGUN if error.msg == "incomplete input" else _Reading.BROKEN
    except (ValueError, MemoryError, RecursionError):
        # Null bytes, lone surrogates, deep nesting: more lines mend none of them. EvalPlus crashes on some.
        return _Reading.BROKEN
    return _Reading.WHOLE
