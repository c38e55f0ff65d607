"""Equalities between a call and a value read out of text, and how far an expression reaches.

Accepted: ``f(x) == v``, ``v == f(x)``, ``f(x) is None``, parentheses around any part, an assertion message, prose
behind it. Not accepted: compound conditions (``f(x) == 0 or 1``), chains, comparisons that are no equality.

``assert f(x) == 1, 2`` is the tuple ``(1, 2)``: to Python the 2 is a message, but nobody writes a message that is
no text. ``assert f(x) == 'a', 'b'`` is ``'a'`` with a message, as Python has it.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from truegrade.extraction.parsing import (
    MAX_NESTING,
    MAX_SOURCE_CHARS,
    TOO_DEEP,
    TOO_LONG,
    Fault,
    NotALiteralError,
    Parser,
    evaluate,
    is_literal,
    parse_expression,
    read_expression,
)
from truegrade.patterns import pattern

# ----------------------------- How far a Python expression reaches into text that goes on with something else.
# A scanner in two states (an operand is due, or an operator may follow) walks over tokens and notes where the
# expression could end. It makes no tree: callers parse the longest end that parses. Brackets and strings are
# skipped as a whole, so a newline or a parenthesis inside a value ends nothing.

_PREFIX = r"(?:[rbuf]|rb|br|rf|fr)?"
_STRING = (
    rf'{_PREFIX}(?:"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*"""' + r"|'''[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*'''"
    r'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*"' + r"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*')"
)
# A full stop right behind a whole number ends a sentence: no model writes `5.` for a float.
_NUMBER = r"(?:0[xob][\da-f_]+|(?:\d[\d_]*(?:\.\d[\d_]*|\.(?=[ej]))?|\.\d[\d_]*)(?:e[+-]?\d[\d_]*)?j?)"
_WORD_OPERATORS = r"(?:and|or|if|else|in|is\s+not|is|not\s+in)\b"

_BLANK = pattern(r"[ \t\f]*+(?:\\\r?\n[ \t\f]*+)*")
_SIGN = pattern(r"[-+~]|not\b")
_STRINGS = pattern(_STRING, re.DOTALL | re.IGNORECASE)
_ATOM = pattern(rf"(?i:{_NUMBER})(?!\w)|\.\.\.|(?!(?:and|or|if|else|in|is|not|lambda|assert)\b)[^\W\d]\w*")
_OPERATOR = pattern(rf"\*\*|//|<<|>>|==|!=|<=|>=|[-+*/%@&|^<>]|{_WORD_OPERATORS}")
_ATTRIBUTE = pattern(r"\.[^\W\d]\w*")
_INSIDE_BRACKETS = pattern(rf"{_STRING}|#[^\n]*+|[\[({{]|[\])}}]|['\"]", re.DOTALL | re.IGNORECASE)
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


# --------------------------- Calls as text: their name, their arguments, and whether two of them are the same.


def call_named(node: object) -> str | None:
    """Name of the function if the tree is a call of a name or of a method, else None."""
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name
    return None


def parse_call(function: str, arguments: str) -> ast.Call | None:
    """The tree of ``function(arguments)``, which nobody may change; None if that is not one call."""
    call = read_expression(f"{function}({arguments}\n)")
    # `1) + f(2` would close the call early: then the tree is no call, or its function is one itself.
    return call if isinstance(call, ast.Call) and isinstance(call.func, ast.Name | ast.Attribute) else None


def parse_arguments(text: str) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Positional and keyword values of the text inside a call's parentheses; None unless all are literals."""
    call = parse_call("f", text) if len(text) <= MAX_SOURCE_CHARS else None
    if call is None or not isinstance(call.func, ast.Name):
        return None
    names = [keyword.arg for keyword in call.keywords]
    if None in names or len(set(names)) < len(names):
        return None
    try:
        positional = tuple([evaluate(argument) for argument in call.args])
        values = [evaluate(keyword.value) for keyword in call.keywords]
    except NotALiteralError:
        return None
    return positional, {str(name): value for name, value in zip(names, values, strict=True)}


def inside(call_source: str) -> str:
    """Text between the parentheses of a call, given the call's own text."""
    tree = parse_expression(call_source)
    called = ast.get_source_segment(call_source, tree.func) if isinstance(tree, ast.Call) else None
    return call_source[call_source.index("(", len(called or "")) + 1 : -1]


def same_arguments(one: ast.Call, other: ast.Call) -> bool:
    """Whether two calls pass the same values.

    Keywords are compared by name where both calls use the same ones, else in the order written: ``f(n=1)`` and
    ``f(1)`` are the same call, as the text alone does not name the parameters.
    """
    return _by_name(one, other) or _in_order(one) == _in_order(other)


def _by_name(one: ast.Call, other: ast.Call) -> bool:
    if len(one.keywords) != len(other.keywords) or len(one.args) != len(other.args):
        return False
    named = [{word.arg: word.value for word in call.keywords} for call in (one, other)]
    if named[0].keys() != named[1].keys():
        return False
    pairs = [*zip(one.args, other.args, strict=True), *((named[0][name], named[1][name]) for name in named[0])]
    return all(_written(left) == _written(right) for left, right in pairs)


def _in_order(call: ast.Call) -> list[str]:
    return [_written(node) for node in [*call.args, *(word.value for word in call.keywords)]]


def _written(node: ast.expr) -> str:
    """An expression without its layout and choice of quotes."""
    try:
        return ast.dump(node)
    except (RecursionError, ValueError):  # ValueError: an integer of more digits than this interpreter writes
        return f"not written: {id(node)}"


_ASSERT = pattern(r"\bassert\b[ \t]*+")
_COMMA = pattern(r"[ \t]*+,[ \t]*+(?=[^\s,])")
_LINE_END = pattern(r"[ \t.;`*$]*+(?:#[^\n]*+)?(?:\n|\Z)")
_LINE_START = pattern(r"^[ \t>*`-]*+(?=\S)", re.MULTILINE)
MAX_READ = 100
"""Assertions, and calls, read in one text, counted from its end."""

_MAX_TRIES = 6
"""How many ends of an expression are tried, longest first: what follows a value is mostly one stray bracket."""


AnySpan = TypeVar("AnySpan", bound="TextSpan")


class TextSpan(msgspec.Struct, frozen=True):
    """A stretch of text, ``text[start:end]``."""

    start: int
    end: int


class Equality(TextSpan, frozen=True):
    """A call and the value it is said to have."""

    function: str
    call: ast.Call
    call_source: str
    value: str
    """Source of the other side; empty where an assertion on a call goes on with what is no value."""
    literal: bool
    """Whether ``value`` is a Python literal; a compound condition has none."""


class CallText(TextSpan, frozen=True):
    """A call of a function, as text."""

    source: str


def find_equalities(parser: Parser, text: str, function: str, *, unread: bool = False) -> list[Equality]:
    """Equalities in the text, the last first.

    First those behind ``assert``; if none of them gives the function a literal, also those that begin with a
    call of the function or with the line of such a call. What stands inside another equality (in a string, or as
    part of a condition) is none of its own.

    Args:
        parser: pays for the reading.
        text: any text.
        function: the one that matters.
        unread: whether an assertion on a call of the function that states no value is one too, without a literal:
            ``assert f(2) == ??``, ``assert f(2) == [2, 5`` and ``assert f(2) raises TypeError``.
    """
    conditional = "=" in text or " is " in text
    if not (conditional or unread):
        return []
    asserted = _outermost(_read_all(parser, text, _asserted(text), function, unread=unread))
    if not conditional or any(equality.literal and equality.function == function for equality in asserted):
        return asserted
    return _outermost([*asserted, *_read_all(parser, text, _mentioned(text, function), function)])


def find_calls(parser: Parser, text: str, function: str) -> list[CallText]:
    """Calls of a function in the text, the last first; calls inside another call's arguments are left out."""
    calls = []
    for start in _calls_of(text, function):
        reach = expression_ends(text, start, start + _window(parser))
        parser.charge(max(0, reach.read_to - start))
        parser.exceeded = parser.exceeded or reach.exceeded
        if len(reach.ends) > 1:
            calls.append(CallText(start, reach.ends[1], text[start : reach.ends[1]]))
    return _outermost(calls)


def read_equality(
    parser: Parser,
    text: str,
    start: int = 0,
    limit: int | None = None,
    function: str | None = None,
    *,
    unread: bool = False,
) -> Equality | None:
    """The equality that begins at ``start``; what follows it is ignored.

    Args:
        parser: pays for the reading.
        text: any text.
        start: offset of the expression, behind the word ``assert``.
        limit: nothing at or behind this offset is read.
        function: where both sides call something, the side that calls this counts as the call.
        unread: see `find_equalities`.
    """
    window = start + _window(parser)
    stop = min(len(text) if limit is None else limit, window)
    reach = expression_ends(text, start, stop)
    parser.charge(max(0, reach.read_to - start))
    if stop == window or reach.exceeded == TOO_DEEP:
        parser.exceeded = parser.exceeded or reach.exceeded
    for end in reversed(reach.ends[-_MAX_TRIES:]):
        source = text[start:end].strip()
        tree = parser.expression(source)
        if not isinstance(tree, Fault):
            found = _equality(tree, source, TextSpan(start, end), function, unread=unread)
            return None if found is None else _with_the_rest(parser, text, found, stop)
        parser.exceeded = parser.exceeded or tree.exceeded
    return None


def _with_the_rest(parser: Parser, text: str, found: Equality, stop: int) -> Equality:
    """The equality with the tuple that its value begins, where one does and nothing follows it on its line."""
    comma, parts = _COMMA.match(text, found.end, stop), [found.value]
    ends_with_value = text[found.start : found.end].rstrip().endswith(found.value)
    if comma is None or not found.literal or not ends_with_value:
        return found
    end = found.end
    while (comma := _COMMA.match(text, end, stop)) is not None:
        reach = expression_ends(text, comma.end(), stop)
        parser.charge(max(0, reach.read_to - comma.end()))
        if not reach.ends:
            return found
        end = reach.ends[-1]
        parts.append(text[comma.end() : end].strip())
    value = f"({', '.join(parts)})"
    tree = parser.expression(value) if _LINE_END.match(text, end, stop) else None
    if not isinstance(tree, ast.Tuple) or not is_literal(tree):
        return found
    message = isinstance(tree.elts[1], ast.Constant) and isinstance(tree.elts[1].value, str)
    if message and _ASSERT.fullmatch(text, max(0, text.rfind("assert", 0, found.start)), found.start):
        return found
    return replace(found, value=value, end=end)


def source_of(source: str, node: ast.expr) -> str:
    """The text of a node, in parentheses where it needs them to stand alone (strings on several lines)."""
    if source.isascii() and "\n" not in source and "\r" not in source:
        return source[node.col_offset : node.end_col_offset]
    text = ast.get_source_segment(source, node) or ""
    return f"({text})" if "\n" in text and isinstance(parse_expression(text), Fault) else text


def _window(parser: Parser) -> int:
    """How many characters one expression may have."""
    return min(MAX_SOURCE_CHARS, 10 * max(0, parser.chars_left))


def _read_all(
    parser: Parser, text: str, spans: Iterable[TextSpan], function: str, *, unread: bool = False
) -> list[Equality]:
    read = (read_equality(parser, text, span.start, span.end, function, unread=unread) for span in spans)
    return [equality for equality in read if equality is not None]


def _outermost(spans: Iterable[AnySpan]) -> list[AnySpan]:
    """The spans that begin inside no other, the last first."""
    kept: list[AnySpan] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept[::-1]


def _asserted(text: str) -> Iterator[TextSpan]:
    """Where the expressions behind the last words ``assert`` may stand, last first."""
    for match in reversed(deque(_ASSERT.finditer(text), maxlen=MAX_READ)):
        # Bold marks around an assertion would read as a power; they bound it instead.
        bold = text.find("**", match.end()) if text.endswith("**", 0, match.start()) else -1
        bounded = bold >= 0 and "\n" not in text[match.end() : bold]
        yield TextSpan(match.end(), bold if bounded else len(text))


def _mentioned(text: str, function: str) -> Iterator[TextSpan]:
    """Where the last calls of a function, and their lines, begin, last first."""
    for start in _calls_of(text, function):
        yield TextSpan(start, len(text))
        line = _LINE_START.match(text, text.rfind("\n", 0, start) + 1)
        if line is not None and line.end() < start:
            yield TextSpan(line.end(), len(text))


def calls_pattern(function: str) -> re.Pattern[str]:
    """What begins a call of the function, and no definition of it."""
    return re.compile(rf"(?<![\w.])(?<!def ){re.escape(function)}[ \t]*+\(")


def _calls_of(text: str, function: str) -> Iterator[int]:
    calls = calls_pattern(function).finditer(text)
    return (match.start() for match in reversed(deque(calls, maxlen=MAX_READ)))


def _equality(
    tree: ast.expr, source: str, span: TextSpan, function: str | None, *, unread: bool
) -> Equality | None:
    match tree:
        case ast.Tuple(elts=[ast.Compare() as inside, ast.Constant(value=str())]):
            tree = inside  # `assert (f(x) == v, "message")`: the message slipped inside the parentheses
    match tree:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            sides = [(left, right), (right, left)]
        case ast.Compare(
            left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None | True | False) as right]
        ):
            sides = [(left, right)]
        case _:
            sides = []
    calls = [(call, value) for call, value in sides if isinstance(call, ast.Call) and not is_literal(call)]
    if not calls:
        return _compound(tree, source, span, function, unread=unread)
    call, value = next((pair for pair in calls if call_named(pair[0]) == function), calls[0])
    return _build(call, source, span, value, literal=call_named(call) is not None and is_literal(value))


def _compound(
    tree: ast.expr, source: str, span: TextSpan, function: str | None, *, unread: bool
) -> Equality | None:
    """A condition about a call that names no one value; with ``unread`` any other expression that calls, too."""
    nodes = list(ast.walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call) and function in {None, call_named(node)}]
    compared = any(isinstance(node, ast.Compare) for node in nodes)
    if not calls or not (compared or unread):
        return None
    found = _build(calls[0], source, span, tree, literal=False)
    return found if compared else replace(found, value="")


def _build(call: ast.Call, source: str, span: TextSpan, value: ast.expr, *, literal: bool) -> Equality:
    return Equality(
        start=span.start,
        end=span.end,
        function=call_named(call) or "",
        call=call,
        call_source=source_of(source, call),
        value=source_of(source, value),
        literal=literal,
    )
