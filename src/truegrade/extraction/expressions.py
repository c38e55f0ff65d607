"""How far a Python expression reaches into text that goes on with something else.

A scanner in two states (an operand is due, or an operator may follow) walks over tokens and notes where the
expression could end. It makes no tree: callers parse the longest end that parses. Brackets and strings are skipped
as a whole, so a newline or a parenthesis inside a value ends nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from truegrade.extraction.parsing import MAX_NESTING, TOO_DEEP, TOO_LONG

_PREFIX = r"(?:[rbuf]|rb|br|rf|fr)?"
_STRING = (
    rf'{_PREFIX}(?:"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*"""' + r"|'''[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*'''"
    r'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*"' + r"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*')"
)
# A full stop right behind a whole number ends a sentence: no model writes `5.` for a float.
_NUMBER = r"(?:0[xob][\da-f_]+|(?:\d[\d_]*(?:\.\d[\d_]*|\.(?=[ej]))?|\.\d[\d_]*)(?:e[+-]?\d[\d_]*)?j?)"
_WORD_OPERATORS = r"(?:and|or|if|else|in|is\s+not|is|not\s+in)\b"

_BLANK = re.compile(r"[ \t\f]*+(?:\\\r?\n[ \t\f]*+)*")
_SIGN = re.compile(r"[-+~]|not\b")
_STRINGS = re.compile(_STRING, re.DOTALL | re.IGNORECASE)
_ATOM = re.compile(rf"(?i:{_NUMBER})(?!\w)|\.\.\.|(?!(?:and|or|if|else|in|is|not|lambda|assert)\b)[^\W\d]\w*")
_OPERATOR = re.compile(rf"\*\*|//|<<|>>|==|!=|<=|>=|[-+*/%@&|^<>]|{_WORD_OPERATORS}")
_ATTRIBUTE = re.compile(r"\.[^\W\d]\w*")
_INSIDE_BRACKETS = re.compile(rf"{_STRING}|#[^\n]*+|[\[({{]|[\])}}]|['\"]", re.DOTALL | re.IGNORECASE)
_CLOSERS = {"[": "]", "(": ")", "{": "}"}

_MAX_ENDS = 10_000


class Reach(NamedTuple):
    """What was found of an expression, and what the search cost."""

    ends: list[int]
    """Every place where the expression could end, nearest first; empty if there is none."""
    read_to: int
    """Offset up to which text was read; may lie behind the last end."""
    exceeded: str
    """`TOO_LONG` or `TOO_DEEP` if the expression goes on where the search stopped."""


def expression_ends(text: str, start: int, limit: int) -> Reach:
    """Where an expression that begins at ``start`` could end.

    Args:
        text: any text.
        start: where to begin; blanks are skipped.
        limit: nothing at or behind this offset is read.
    """
    scanner = _Scanner(text, limit)
    at: int | None = start
    while at is not None and len(scanner.ends) < _MAX_ENDS and scanner.operand(at):
        scanner.trailers()
        at = scanner.operator()
    return Reach(scanner.ends, scanner.read_to, scanner.exceeded)


class _Scanner:
    """The state of one scan: the ends noted so far and how far the text was read."""

    def __init__(self, text: str, limit: int) -> None:
        self.text, self.limit = text, min(limit, len(text))
        self.ends: list[int] = []
        self.read_to = 0
        self.exceeded = ""

    def operand(self, at: int) -> bool:
        """Note the end of signs and one atom: a name, a number, strings side by side, or brackets."""
        at = self._blank(at)
        while (sign := _SIGN.match(self.text, at, self.limit)) is not None:
            at = self._blank(sign.end())
        if at < self.limit and self.text[at] in _CLOSERS:
            return self._note(self._brackets(at))
        end = None
        while (string := _STRINGS.match(self.text, at, self.limit)) is not None:
            end = string.end()
            at = self._blank(end)
        if end is None:
            self._cut_in_text(at)
        if end is None and (atom := _ATOM.match(self.text, at, self.limit)) is not None:
            end = atom.end()
        return self._note(end)

    def trailers(self) -> None:
        """Note the ends of the calls, subscripts and attributes that follow the last end."""
        more = True
        while more and len(self.ends) < _MAX_ENDS:
            at = self._blank(self.ends[-1])
            if at < self.limit and self.text[at] in "([":
                more = self._note(self._brackets(at))
            else:
                attribute = _ATTRIBUTE.match(self.text, self.ends[-1], self.limit)
                more = self._note(attribute.end() if attribute else None)

    def operator(self) -> int | None:
        """Where the next operand would begin, if an operator follows the last end."""
        operator = _OPERATOR.match(self.text, self._blank(self.ends[-1]), self.limit)
        return operator.end() if operator else None

    def _note(self, end: int | None) -> bool:
        if end is None:
            return False
        self.ends.append(end)
        self.read_to = max(self.read_to, end)
        return True

    def _blank(self, at: int) -> int:
        match = _BLANK.match(self.text, at, self.limit)
        return match.end() if match else at

    def _brackets(self, start: int) -> int | None:
        """Offset behind the bracket that closes the one at ``start``, if one does."""
        awaited: list[str] = []
        for token in _INSIDE_BRACKETS.finditer(self.text, start, self.limit):
            self.read_to = max(self.read_to, token.end())
            mark = token.group()
            if mark in _CLOSERS:
                awaited.append(_CLOSERS[mark])
                if len(awaited) > MAX_NESTING:
                    self.exceeded = TOO_DEEP
                    return None
            elif mark in {"]", ")", "}"}:
                if awaited.pop() != mark:
                    return None
                if not awaited:
                    return token.end()
            elif mark in {"'", '"'}:
                self._cut_in_text(token.start())
                return None
        self.read_to = self.limit
        if self.limit < len(self.text):
            self.exceeded = TOO_LONG
        return None

    def _cut_in_text(self, at: int) -> None:
        """Note that a string is still open where the search has to stop, if one is."""
        if at < self.limit < len(self.text) and self.text[at] in "'\"":
            triple = self.text.startswith(3 * self.text[at], at)
            if triple or self.text.find("\n", at, self.limit) < 0:
                self.exceeded = TOO_LONG
